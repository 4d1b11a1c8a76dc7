"""Accesses of turns for the tests of this package."""

from workspaces.access import PRIVATE, Access, AgentId, Grant, Scope, SessionType

AGENT = AgentId("main")
GROUP_CHAT = Scope("shared:telegram.home.-100")
OTHER_CHAT = Scope("shared:discord.home.7")
OWN = "memory/shared/telegram.home.-100"
OTHER = "memory/shared/discord.home.7"


def turn(session_type: SessionType, *grants: Grant) -> Access:
    """Return the access of a turn of *session_type*; guests and groups talk in `GROUP_CHAT`."""
    shared = session_type in {SessionType.GUEST, SessionType.GROUP}
    return Access(
        agent=AGENT,
        session_type=session_type,
        scope=GROUP_CHAT if shared else PRIVATE,
        principal="telegram:1",
        depth=int(session_type is SessionType.SUBAGENT),
        grants=frozenset(grants),
    )


MAIN = turn(SessionType.MAIN)
GUEST = turn(SessionType.GUEST)
GROUP = turn(SessionType.GROUP)
SUBAGENT = turn(SessionType.SUBAGENT)
CRON = turn(SessionType.CRON)
PRIVATE_CRON = turn(SessionType.CRON, Grant.PRIVATE_JOB)
HEARTBEAT = turn(SessionType.HEARTBEAT)
FULL_HEARTBEAT = turn(SessionType.HEARTBEAT, Grant.FULL_HEARTBEAT)
GROUP_WITH_USER = turn(SessionType.GROUP, Grant.USER_FILE_IN_GROUPS)
