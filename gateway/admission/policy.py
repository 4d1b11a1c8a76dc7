"""This file decides who may talk: every message is admitted, or refused with a reason that is counted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from adapters.channel import Address, ChatKind, InboundMessage, Sender, Via


class Reason(StrEnum):
    """Why a message was refused; the code that the ledger counts and `status` shows."""

    NO_POLICY = "no_policy"
    """Nothing is configured for this bot account: no configuration means closed."""
    BOT = "bot"
    ANONYMOUS = "anonymous"
    """The platform does not say who wrote it."""
    STRANGER = "stranger"
    UNPAIRED = "unpaired"
    """A stranger where strangers may ask to be let in; they are told a code, once."""
    DIRECT_CLOSED = "direct_closed"
    GROUP_NOT_ALLOWED = "group_not_allowed"
    PERSON_NOT_ALLOWED = "person_not_allowed"
    """The group lists who may ask, and this person is not among them."""
    NOT_FOR_US = "not_for_us"
    """A group message that neither mentions the bot nor replies to it."""
    NO_TEXT = "no_text"
    RATE = "rate"
    """They write faster than one person may."""
    LOOP_GUARD = "loop_guard"
    """Bots have talked for long enough without a human."""
    AGENT_NOT_ALLOWED = "agent_not_allowed"
    """A program asks for an agent that its token does not open."""


class DirectPolicy(StrEnum):
    """Who may write to a bot account in a direct chat."""

    OWNER = "owner"
    PAIRING = "pairing"
    """The owner, and everybody whom the owner lets in."""
    CLOSED = "closed"
    TOKEN = "token"  # noqa: S105  # a policy's name
    """Whoever holds the account's token, which was checked at the HTTP door; no bot can be set to this."""
    INNER = "inner"
    """What the gateway itself asks of an agent; nothing that comes to the door."""


@dataclass(frozen=True, slots=True)
class GroupPolicy:
    """How an allow-listed group is answered."""

    mention: bool = True
    """Answer only messages that mention the bot or reply to it."""
    people: frozenset[str] = frozenset()
    """Who may ask, beside the owner, each as `<channel>:<numeric id>`; empty: everybody there."""
    bots: bool = False
    """Other bots are answered like people."""
    bot_turns: int = 3
    """How many of their messages in a row, without a human's between them."""
    agents_talk: int = 0
    """How many turns in a row our own agents may answer each other there, without a human's word between them."""
    heard: int = 0
    """How many messages that were not for us are kept as context for the next one that is."""
    may_end: frozenset[str] | None = frozenset()
    """Who may end its conversation, beside the owner, as in `people`; `None`: everybody with an id who may ask."""


@dataclass(frozen=True, slots=True)
class AccountPolicy:
    """Who may talk to one bot account."""

    direct: DirectPolicy
    groups: Mapping[str, GroupPolicy] = field(default_factory=dict)
    """By the platform's numeric chat id; a group that is not here is refused."""
    people: frozenset[str] = frozenset()
    """Guests without a pairing, each as `<channel>:<numeric id>`."""
    agents: frozenset[str] = frozenset()
    """Of a token: the agents that it opens. A program names the one it means where other channels name a thread."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Who may talk at all."""

    owners: frozenset[str]
    """The owner's Persons, each as `<channel>:<numeric id>`."""
    accounts: Mapping[tuple[str, str], AccountPolicy]
    """By channel and account."""

    def is_owner(self, channel: str, sender: Sender) -> bool:
        """Say whether the transport names *sender* as one of the owner's Persons."""
        return bool(sender.id) and not sender.is_bot and f"{channel}:{sender.id}" in self.owners

    def group(self, address: Address) -> GroupPolicy | None:
        """Return how the group at *address* is answered; `None` if it is not allowed."""
        account = self.accounts.get((address.channel, address.account))
        return account.groups.get(address.chat) if account else None

    def may_end(self, address: Address, sender: Sender) -> bool:
        """Say whether *sender* may end the conversation of the group at *address*: the owner, or whom it names."""
        if self.is_owner(address.channel, sender):
            return True
        group = self.group(address)
        if group is None or not sender.id or sender.is_bot:
            return False
        return group.may_end is None or f"{address.channel}:{sender.id}" in group.may_end


@dataclass(frozen=True, slots=True)
class Admitted:
    """The message may go in."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The message goes no further; it costs no model call and is not stored."""

    reason: Reason


def admit(message: InboundMessage, policy: Policy, *, is_guest: bool = False) -> Admitted | Refused:
    """Decide by the transport's own facts whether *message* goes in; *is_guest*: the owner let its sender in.

    Being a guest counts in a direct chat of an account that pairs, and nowhere else.
    """
    account = policy.accounts.get((message.address.channel, message.address.account))
    if account is None:
        return Refused(Reason.NO_POLICY)
    if account.direct is DirectPolicy.INNER:
        return Admitted()
    if message.kind is ChatKind.DIRECT:
        refusal = _direct(message, account, policy, is_guest=is_guest)
    else:
        refusal = _group(message, account, policy)
    if refusal is None and not (message.text.strip() or message.quote or message.attachments):
        refusal = Reason.NO_TEXT
    return Admitted() if refusal is None else Refused(refusal)


def _direct(message: InboundMessage, account: AccountPolicy, policy: Policy, *, is_guest: bool) -> Reason | None:
    if message.sender.is_bot or message.via is Via.AGENT:
        return Reason.BOT
    if account.direct is DirectPolicy.CLOSED:
        return Reason.DIRECT_CLOSED
    if account.direct is DirectPolicy.TOKEN:
        return None if message.address.thread in account.agents else Reason.AGENT_NOT_ALLOWED
    if not message.sender.id:
        return Reason.ANONYMOUS
    pairs = account.direct is DirectPolicy.PAIRING
    is_owner = policy.is_owner(message.address.channel, message.sender)
    if is_owner or _person(message) in account.people or (pairs and is_guest):
        return None
    return Reason.UNPAIRED if pairs else Reason.STRANGER


def _group(message: InboundMessage, account: AccountPolicy, policy: Policy) -> Reason | None:
    group = account.groups.get(message.address.chat)
    if message.via is Via.AGENT:
        return None if group and group.agents_talk else Reason.BOT
    if message.sender.is_bot and not (group and group.bots):
        return Reason.BOT
    if group is None:
        return Reason.GROUP_NOT_ALLOWED
    if group.people and not policy.is_owner(message.address.channel, message.sender):
        if not message.sender.id:
            return Reason.ANONYMOUS
        if _person(message) not in group.people:
            return Reason.PERSON_NOT_ALLOWED
    return Reason.NOT_FOR_US if group.mention and not message.is_for_us else None


def _person(message: InboundMessage) -> str:
    return f"{message.address.channel}:{message.sender.id}"
