"""Routing of messages: to an agent and a session, with the access of its turn.

Route and `Access` are computed from the stored message each time they are needed, and never stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

from msgspec import Struct, structs

from adapters.channel import Address, ChatKind, InboundMessage
from gateway.admission.internal_channels import PRIVATE_JOB, is_inner, kind_of
from gateway.admission.policy import Policy
from gateway.settings.section import ChannelName, PersonId, PlatformId
from workspaces.access import PRIVATE, Access, AgentId, Grant, Scope, SessionType

NARROWEST_FIRST = ("thread", "chat", "person", "role", "space", "account", "channel")
"""Of two matching rules, the one with the first of these fields that only one of them has; else the file's first."""
_AS_READ = ("channel", "account", "space", "role", "chat", "thread", "person")


UNASKED = frozenset({SessionType.HEARTBEAT, SessionType.CRON, SessionType.SUBAGENT})
"""Sessions without a person."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A rule that routes matching messages to an agent. A field that is `None` matches everything."""

    agent: AgentId
    channel: ChannelName | None = None
    account: str | None = None
    chat: str | None = None
    thread: str | None = None
    person: PersonId | None = None
    """The sender, as `<channel>:<numeric id>`."""
    space: PlatformId | None = None
    """The space that contains the chat: a Discord server."""
    role: PlatformId | None = None
    """A role of the sender in that space."""

    def matches(self, message: InboundMessage) -> bool:
        """Return whether every given field matches *message*."""
        if self.role is not None and self.role not in message.sender.roles:
            return False
        return all(wanted is None or wanted == actual for wanted, actual in self._pairs(message))

    def specificity(self) -> tuple[bool, ...]:
        """Return a key that grows with the rule's specificity, as `NARROWEST_FIRST` defines it."""
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


class SessionKey(Struct, frozen=True):
    """The identity of a conversation: its agent, and its name among that agent's conversations."""

    agent: AgentId
    name: str
    """`main`, `guest:<address>`, `group:<address>`, `heartbeat`, `cron:<job>`, or `subagent:<task>`."""

    def __str__(self) -> str:
        return f"{self.agent}/{self.name}"


@dataclass(frozen=True, slots=True)
class Routes:
    bindings: Sequence[Binding]
    default: AgentId
    """The agent for messages that no binding matches."""
    policy: Policy
    user_file_in_groups: bool = False
    full_heartbeats: frozenset[AgentId] = frozenset()
    """The agents whose heartbeat has the access of main."""
    _places: dict[tuple[str | None, ...], list[int]] = field(default_factory=dict, init=False, compare=False)
    """The places of the bindings for a channel, account and chat: each agent has some, and a message few."""

    def __post_init__(self) -> None:
        for place, binding in enumerate(self.bindings):
            self._places.setdefault((binding.channel, binding.account, binding.chat), []).append(place)

    def matching(self, message: InboundMessage) -> list[Binding]:
        """Return the bindings that match *message*, in their order."""
        at = message.address
        wanted = product((at.channel, None), (at.account, None), (at.chat, None))
        found = (self.bindings[place] for place in sorted(p for key in wanted for p in self._places.get(key, ())))
        return [binding for binding in found if binding.matches(message)]


class Envelope(Struct, frozen=True):
    """A message with its destination, for one attempt at its turn."""

    key: SessionKey
    access: Access
    rule: str
    """Description of the matching binding."""


def route(message: InboundMessage, routes: Routes) -> Envelope:
    """Return the destination of *message* and the access of its turn."""
    if is_inner(message):
        return _inner(message.address, routes)
    best = max(routes.matching(message), key=Binding.specificity, default=None)
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
    """Route the gateway's own request to an agent: its access depends on its address alone, never on a text."""
    agent = AgentId(address.account)
    session_type, name = kind_of(address)
    key = SessionKey(agent, name)
    grants = set[Grant]()
    if session_type is SessionType.HEARTBEAT and agent in routes.full_heartbeats:
        grants.add(Grant.FULL_HEARTBEAT)
    if session_type is SessionType.CRON and address.thread == PRIVATE_JOB:
        grants.add(Grant.PRIVATE_JOB)
    cause = f"{address.channel}:{address.chat}"
    access = structs.replace(session_access(key), principal=cause, grants=frozenset(grants))
    return Envelope(key, structs.replace(access, depth=int(session_type is SessionType.SUBAGENT)), "its own")


def is_session(name: str) -> bool:
    """Return whether *name* is a valid session name."""
    return name.partition(":")[0] in list(SessionType)


def is_unasked(key: SessionKey) -> bool:
    """Return whether the session *key* has no person: it then has no rests, days or notes of its own."""
    return SessionType(key.name.partition(":")[0]) in UNASKED


def session_access(key: SessionKey) -> Access:
    """Return the gateway's own access for the session *key* between two turns: that of the session's turns."""
    kind, _, address = key.name.partition(":")
    session_type = SessionType(kind)
    is_chat = session_type in {SessionType.GUEST, SessionType.GROUP}
    scope = Scope(f"shared:{address}") if is_chat else PRIVATE
    return Access(key.agent, session_type, scope, "strandline:session", depth=0, grants=frozenset())


def session_of(access: Access) -> SessionKey:
    if access.session_type in UNASKED:
        return SessionKey(access.agent, access.principal.partition(":")[2])
    return SessionKey(access.agent, _name(access.session_type, access.scope.removeprefix("shared:")))


def principal(message: InboundMessage) -> str:
    """Return the sender of *message*, as `<channel>:<numeric id>`, or `<channel>:anonymous`."""
    return f"{message.address.channel}:{message.sender.id or 'anonymous'}"


def _session_type(message: InboundMessage, policy: Policy) -> SessionType:
    if message.kind is not ChatKind.DIRECT:
        return SessionType.GROUP
    if policy.is_owner(message.address.channel, message.sender):
        return SessionType.MAIN
    return SessionType.GUEST


def _name(session_type: SessionType, address: Address | str) -> str:
    return "main" if session_type is SessionType.MAIN else f"{session_type}:{address}"
