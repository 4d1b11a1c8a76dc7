"""This file is `/whoami`: how a chat is seen from here, and what may be seen in it."""

from gateway.commands.command import Call, Command, Who
from workspaces.access import SessionType

_SEEN = {
    SessionType.MAIN: "Here I see all that I know: every file, all notes, all conversations. Nobody else reads here.",
    SessionType.GUEST: "Here I see my general instructions and the notes of this chat, and nothing of my owner's.",
    SessionType.GROUP: "Here I see my general instructions and the notes of this group, and nothing of my owner's. "
    "Everybody in the group reads along.",
}


def whoami_commands() -> list[Command]:
    """Return `/whoami`."""
    return [Command("whoami", "", "says who you are to me, and what I may see in this chat", Who.ANYONE, True, _whoami)]


async def _whoami(call: Call) -> str:
    access = call.access
    owner = ", my owner" if call.asker.is_owner else ""
    return (
        f"You are `{access.principal}`{owner}. I am the agent `{access.agent}`, and to me this is a "
        f"`{access.session_type}` chat. {_SEEN[access.session_type]}"
    )
