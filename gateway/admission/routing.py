"""This file decides where a message goes: which agent, which session, and what its turn may see.

Route and `Access` are computed from the stored message each time they are needed; neither is ever stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.channel import Address, ChatKind, InboundMessage
from gateway.admission.internal_channels import PRIVATE_JOB, is_inner, kind_of
from gateway.admission.policy import Policy
from workspaces.access import PRIVATE, Access, AgentId, Grant, Scope, SessionType

NARROWEST_FIRST = ("thread", "chat", "person", "role", "space", "account", "channel")
"""Of two rules that fit, the one with the first of these that only one of them names; else the file's first."""
_AS_READ = ("channel", "account", "space", "role", "chat", "thread", "person")


UNASKED = frozenset({SessionType.HEARTBEAT, SessionType.CRON, SessionType.SUBAGENT})
"""Sessions in which no person speaks."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A rule: messages like this go to that agent. A field that is `None` matches everything."""

    agent: AgentId
    channel: str | None = None
    account: str | None = None
    chat: str | None = None
    thread: str | None = None
    person: str | None = None
    """Who sends, as `<channel>:<numeric id>`."""
    space: str | None = None
    """What the chat belongs to: a Discord server."""
    role: str | None = None
    """One that the sender has where the chat belongs."""

    def matches(self, message: InboundMessage) -> bool:
        """Say whether every given field fits *message*."""
        if self.role is not None and self.role not in message.sender.roles:
            return False
        return all(wanted is None or wanted == actual for wanted, actual in self._pairs(message))

    def specificity(self) -> tuple[bool, ...]:
        """Return a key that grows with how narrow the rule is, as `NARROWEST_FIRST` says."""
        return tuple(getattr(self, name) is not None for name in NARROWEST_FIRST)

    def __str__(self) -> str:
        given = [f"{name}={getattr(self, name)}" for name in _AS_READ if getattr(self, name) is not None]
        return f"{' '.join(given) or 'everything'} → {self.agent}"

    def _pairs(self, message: InboundMessage) -> tuple[tuple[str | None, str | None], ...]:
        address = message.address
        return (
            (self.channel, address.channel),
            (self.account, address.account),
            (self.chat, address.chat),
            (self.thread, address.thread),
            (self.person, principal(message)),
            (self.space, message.space),
        )


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The identity of a conversation: its agent, and its name among that agent's conversations."""

    agent: AgentId
    name: str
    """`main`, `guest:<address>`, `group:<address>`, `heartbeat`, `cron:<job>`, or `subagent:<task>`."""

    def __str__(self) -> str:
        return f"{self.agent}/{self.name}"


@dataclass(frozen=True, slots=True)
class Routes:
    """What the configuration says about routing."""

    bindings: Sequence[Binding]
    default: AgentId
    """Who answers when no binding matches."""
    policy: Policy
    user_file_in_groups: bool = False
    full_heartbeats: frozenset[AgentId] = frozenset()
    """The agents whose heartbeat sees what main sees."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message with its destination, for one try at its turn."""

    key: SessionKey
    access: Access
    rule: str
    """The binding that matched, in words."""


def route(message: InboundMessage, routes: Routes) -> Envelope:
    """Return where *message* goes and what its turn may see."""
    if is_inner(message):
        return _inner(message.address, routes)
    matching = [binding for binding in routes.bindings if binding.matches(message)]
    best = max(matching, key=Binding.specificity, default=None)
    agent = best.agent if best else routes.default
    session_type = _session_type(message, routes.policy)
    access = Access(
        agent=agent,
        session_type=session_type,
        scope=PRIVATE if session_type is SessionType.MAIN else Scope(f"shared:{message.address}"),
        principal=principal(message),
        depth=0,
        grants=frozenset({Grant.USER_FILE_IN_GROUPS}) if routes.user_file_in_groups else frozenset(),
    )
    return Envelope(SessionKey(agent, _name(session_type, message.address)), access, str(best) if best else "default")


def _inner(address: Address, routes: Routes) -> Envelope:
    """Route what the gateway itself asks of an agent: what it may see hangs on its address alone, never on a text."""
    agent = AgentId(address.account)
    session_type, name = kind_of(address)
    key = SessionKey(agent, name)
    grants = set[Grant]()
    if session_type is SessionType.HEARTBEAT and agent in routes.full_heartbeats:
        grants.add(Grant.FULL_HEARTBEAT)
    if session_type is SessionType.CRON and address.thread == PRIVATE_JOB:
        grants.add(Grant.PRIVATE_JOB)
    cause = f"{address.channel}:{address.chat}"
    access = replace(session_access(key), principal=cause, grants=frozenset(grants))
    return Envelope(key, replace(access, depth=int(session_type is SessionType.SUBAGENT)), "its own")


def is_session(name: str) -> bool:
    """Say whether a session may be called *name*."""
    return name.partition(":")[0] in list(SessionType)


def is_unasked(key: SessionKey) -> bool:
    """Say whether no person speaks in the session *key*: it has no rests, no days and no notes of its own."""
    return SessionType(key.name.partition(":")[0]) in UNASKED


def session_access(key: SessionKey) -> Access:
    """Return what the gateway itself may do for the session *key* between two turns: what its own turns may."""
    kind, _, address = key.name.partition(":")
    session_type = SessionType(kind)
    is_chat = session_type in {SessionType.GUEST, SessionType.GROUP}
    scope = Scope(f"shared:{address}") if is_chat else PRIVATE
    return Access(key.agent, session_type, scope, "strandline:session", depth=0, grants=frozenset())


def session_of(access: Access) -> SessionKey:
    """Return the session that a turn with *access* belongs to."""
    if access.session_type in UNASKED:
        return SessionKey(access.agent, access.principal.partition(":")[2])
    return SessionKey(access.agent, _name(access.session_type, access.scope.removeprefix("shared:")))


def principal(message: InboundMessage) -> str:
    """Return who sent *message*, as `<channel>:<numeric id>`, or `<channel>:anonymous`."""
    return f"{message.address.channel}:{message.sender.id or 'anonymous'}"


def _session_type(message: InboundMessage, policy: Policy) -> SessionType:
    if message.kind is not ChatKind.DIRECT:
        return SessionType.GROUP
    if policy.is_owner(message.address.channel, message.sender):
        return SessionType.MAIN
    return SessionType.GUEST


def _name(session_type: SessionType, address: Address | str) -> str:
    return "main" if session_type is SessionType.MAIN else f"{session_type}:{address}"
