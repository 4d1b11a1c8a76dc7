"""This file decides who may talk: every message is admitted, or refused with a reason that is counted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from adapters.channel import ChatKind, InboundMessage, Sender


class Reason(StrEnum):
    """Why a message was refused; the code that the ledger counts and `status` shows."""

    NO_POLICY = "no_policy"
    """Nothing is configured for this bot account: no configuration means closed."""
    BOT = "bot"
    ANONYMOUS = "anonymous"
    """The platform does not say who wrote it."""
    STRANGER = "stranger"
    DIRECT_CLOSED = "direct_closed"
    GROUP_NOT_ALLOWED = "group_not_allowed"
    NOT_FOR_US = "not_for_us"
    """A group message that neither mentions the bot nor replies to it."""
    NO_TEXT = "no_text"


class DirectPolicy(StrEnum):
    """Who may write to a bot account in a direct chat."""

    OWNER = "owner"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class GroupPolicy:
    """How an allow-listed group is answered."""

    mention: bool = True
    """Answer only messages that mention the bot or reply to it."""


@dataclass(frozen=True, slots=True)
class AccountPolicy:
    """Who may talk to one bot account."""

    direct: DirectPolicy
    groups: Mapping[str, GroupPolicy] = field(default_factory=dict)
    """By the platform's numeric chat id; a group that is not here is refused."""


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


@dataclass(frozen=True, slots=True)
class Admitted:
    """The message may go in."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The message goes no further; it costs no model call and is not stored."""

    reason: Reason


def admit(message: InboundMessage, policy: Policy) -> Admitted | Refused:
    """Decide by the transport's own facts whether *message* goes in."""
    account = policy.accounts.get((message.address.channel, message.address.account))
    if account is None:
        return Refused(Reason.NO_POLICY)
    if message.sender.is_bot:
        return Refused(Reason.BOT)
    refusal = _direct(message, account, policy) if message.kind is ChatKind.DIRECT else _group(message, account)
    if refusal is None and not message.text.strip() and message.quote is None:
        refusal = Reason.NO_TEXT
    return Admitted() if refusal is None else Refused(refusal)


def _direct(message: InboundMessage, account: AccountPolicy, policy: Policy) -> Reason | None:
    if account.direct is DirectPolicy.CLOSED:
        return Reason.DIRECT_CLOSED
    if not message.sender.id:
        return Reason.ANONYMOUS
    return None if policy.is_owner(message.address.channel, message.sender) else Reason.STRANGER


def _group(message: InboundMessage, account: AccountPolicy) -> Reason | None:
    group = account.groups.get(message.address.chat)
    if group is None:
        return Reason.GROUP_NOT_ALLOWED
    if group.mention and not message.is_for_us:
        return Reason.NOT_FOR_US
    return None
