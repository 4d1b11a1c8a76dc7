"""Admission policy: every message is admitted, or refused with a reason that is counted."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from adapters.channel import Address, ChatKind, InboundMessage, Sender, Via


class RefusalReason(StrEnum):
    """The reason for a refusal; the code that the ledger counts and `status` shows."""

    NO_POLICY = "no_policy"
    """Nothing is configured for this bot account: without configuration it is closed."""
    BOT = "bot"
    ANONYMOUS = "anonymous"
    """The platform does not name the sender."""
    STRANGER = "stranger"
    UNPAIRED = "unpaired"
    """A stranger at an account with pairing; they get a code, once."""
    UNCLAIMED = "unclaimed"
    """The account has no owner yet; only the code that its terminal showed counts."""
    DIRECT_CLOSED = "direct_closed"
    GROUP_NOT_ALLOWED = "group_not_allowed"
    PERSON_NOT_ALLOWED = "person_not_allowed"
    """The group lists its permitted people, and the sender is not among them."""
    NOT_FOR_US = "not_for_us"
    """A group message that neither mentions the bot nor replies to it."""
    NO_TEXT = "no_text"
    RATE = "rate"
    """The sender exceeds the rate of one person."""
    LOOP_GUARD = "loop_guard"
    """Bots exceeded their turns without a human's message."""
    AGENT_NOT_ALLOWED = "agent_not_allowed"
    """An API client requests an agent that its token does not allow."""


class DirectPolicy(StrEnum):
    """The people who may write to a bot account in a direct chat."""

    OWNER = "owner"
    PAIRING = "pairing"
    """The owner, and everybody whom the owner admits."""
    CLOSED = "closed"
    CLAIM = "claim"
    """Nobody: the account has no owner yet, and waits for the code that its terminal showed."""
    TOKEN = "token"  # noqa: S105  # a policy's name
    """Holders of the account's token, which was checked by the HTTP server; not available for bots."""
    INNER = "inner"
    """The gateway's own requests to an agent; never a platform's."""


class GroupPolicy(Struct, frozen=True):
    """Rules for answering in an allow-listed group."""

    mention: bool = True
    """Answer only messages that mention the bot or reply to it."""
    people: frozenset[str] = frozenset()
    """Permitted people, besides the owner, each as `<channel>:<numeric id>`; empty: everybody there."""
    bots: bool = False
    """Whether other bots are answered like people."""
    bot_turns: int = 3
    """Most turns in a row with other bots, without a human's message between them."""
    agents_talk: int = 0
    """Most turns in a row between our own agents there, without a human's message between them."""
    heard: int = 0
    """Most messages not addressed to us that are kept as context for the next one that is."""
    may_end: frozenset[str] | None = frozenset()
    """People who may end its conversation, besides the owner, as in `people`.

    `None`: everybody with an id who may ask.
    """


class AccountPolicy(Struct, frozen=True):
    """The people who may talk to one bot account."""

    direct: DirectPolicy
    groups: Mapping[str, GroupPolicy] = field(default_factory=dict)
    """By the platform's numeric chat id; other groups are refused."""
    people: frozenset[str] = frozenset()
    """Guests without a pairing, each as `<channel>:<numeric id>`."""
    agents: frozenset[str] = frozenset()
    """The agents that a token allows. A client names its agent in place of a thread."""


class Policy(Struct, frozen=True):
    """Admission rules of all accounts."""

    owners: frozenset[str]
    """The owner's Persons, each as `<channel>:<numeric id>`."""
    accounts: Mapping[tuple[str, str], AccountPolicy]
    """By channel and account."""

    def is_owner(self, channel: str, sender: Sender) -> bool:
        """Return whether the transport identifies *sender* as one of the owner's Persons."""
        return bool(sender.id) and not sender.is_bot and f"{channel}:{sender.id}" in self.owners

    def group(self, address: Address) -> GroupPolicy | None:
        """Return the policy of the group at *address*; `None` if it is not allowed."""
        account = self.accounts.get((address.channel, address.account))
        return account.groups.get(address.chat) if account else None

    def may_end(self, address: Address, sender: Sender) -> bool:
        """Return whether *sender* may end the conversation of the group at *address*: the owner, or people whom it
        names."""
        if self.is_owner(address.channel, sender):
            return True
        group = self.group(address)
        if group is None or not sender.id or sender.is_bot:
            return False
        return group.may_end is None or f"{address.channel}:{sender.id}" in group.may_end


class Admitted(Struct, frozen=True):
    """The message is admitted."""


class Refused(Struct, frozen=True):
    """The message is refused; it costs no model call and is not stored."""

    reason: RefusalReason


def admit(message: InboundMessage, policy: Policy, *, is_guest: bool = False) -> Admitted | Refused:
    """Decide by the transport's own facts whether *message* is admitted; *is_guest*: the owner admitted its sender.

    Being a guest counts only in a direct chat of an account with pairing.
    """
    account = policy.accounts.get((message.address.channel, message.address.account))
    if account is None:
        return Refused(RefusalReason.NO_POLICY)
    if account.direct is DirectPolicy.INNER:
        return Admitted()
    if message.kind is ChatKind.DIRECT:
        refusal = _direct(message, account, policy, is_guest=is_guest)
    else:
        refusal = _group(message, account, policy)
    if refusal is None and not (message.text.strip() or message.quote or message.attachments):
        refusal = RefusalReason.NO_TEXT
    return Admitted() if refusal is None else Refused(refusal)


_SHUT = {DirectPolicy.CLOSED: RefusalReason.DIRECT_CLOSED, DirectPolicy.CLAIM: RefusalReason.UNCLAIMED}
"""Policies that admit nobody, not even the owner."""


def _direct(message: InboundMessage, account: AccountPolicy, policy: Policy, *, is_guest: bool) -> RefusalReason | None:
    if message.sender.is_bot or message.via is Via.AGENT:
        return RefusalReason.BOT
    if account.direct in _SHUT:
        return _SHUT[account.direct]
    if account.direct is DirectPolicy.TOKEN:
        return None if message.address.thread in account.agents else RefusalReason.AGENT_NOT_ALLOWED
    if not message.sender.id:
        return RefusalReason.ANONYMOUS
    pairs = account.direct is DirectPolicy.PAIRING
    is_owner = policy.is_owner(message.address.channel, message.sender)
    if is_owner or _person(message) in account.people or (pairs and is_guest):
        return None
    return RefusalReason.UNPAIRED if pairs else RefusalReason.STRANGER


def _group(message: InboundMessage, account: AccountPolicy, policy: Policy) -> RefusalReason | None:
    group = account.groups.get(message.address.chat)
    if message.via is Via.AGENT:
        return None if group and group.agents_talk else RefusalReason.BOT
    if message.sender.is_bot and not (group and group.bots):
        return RefusalReason.BOT
    if group is None:
        return RefusalReason.GROUP_NOT_ALLOWED
    if group.people and not policy.is_owner(message.address.channel, message.sender):
        if not message.sender.id:
            return RefusalReason.ANONYMOUS
        if _person(message) not in group.people:
            return RefusalReason.PERSON_NOT_ALLOWED
    return RefusalReason.NOT_FOR_US if group.mention and not message.is_for_us else None


def _person(message: InboundMessage) -> str:
    return f"{message.address.channel}:{message.sender.id}"
