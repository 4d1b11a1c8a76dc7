"""Wire types for admission, shared by the commands and the gateway."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from gateway.admission.explanation import Explanation
from gateway.control.order import Order


class Applicant(Struct, frozen=True):
    """A person who asks to be paired."""

    code: str
    person: str
    name: str
    """Their display name."""
    account: str
    """Bot account of the requested direct chats, as `<channel>.<account>`."""
    asked_at: datetime
    expires_at: datetime


class GuestRow(Struct, frozen=True):
    person: str
    name: str
    account: str
    since: datetime


class PairAnswer(Struct, frozen=True):
    """The requested pairing requests or guests, and the action taken."""

    waiting: tuple[Applicant, ...] = ()
    guests: tuple[GuestRow, ...] = ()
    outcome: str = ""
    """Description of the action taken."""


class PairOrder(Order[PairAnswer], frozen=True):
    """A request to list pairing requests and guests, or a decision about one of them."""

    act: Literal["list", "people", "approve", "refuse", "revoke"]
    what: str | None = None
    """The code to approve or refuse; to revoke, the person as `<channel>:<numeric id>`."""


class ClaimRow(Struct, frozen=True):
    """An account without an owner."""

    account: str
    """As `<channel>.<account>`."""
    code: str = ""
    """A new code for it; empty if it was not asked for."""


class ClaimAnswer(Struct, frozen=True):
    """The accounts without an owner."""

    accounts: tuple[ClaimRow, ...] = ()


class ClaimOrder(Order[ClaimAnswer], frozen=True):
    """A request for new codes for accounts without an owner."""

    account: str | None = None
    """As `<channel>.<account>`; `None`: all of them."""
    if_none: bool = False
    """Make codes only for accounts without a valid one."""


class AskingGroup(Struct, frozen=True):
    """A group in which the bot is not allowed to answer."""

    place: str
    """As `<channel>.<account>.<chat>`."""
    name: str
    is_refused: bool
    """It stays closed, and the owner is asked no more."""


class GroupAnswer(Struct, frozen=True):
    """The groups that ask, and the action taken."""

    asking: tuple[AskingGroup, ...] = ()
    outcome: str = ""


class GroupOrder(Order[GroupAnswer], frozen=True):
    """A request for the groups that the bot was added to, or a decision about one of them."""

    act: Literal["list", "allow", "refuse"]
    place: str = ""


class RouteOrder(Order[Explanation], frozen=True):
    """A hypothetical message whose route is requested."""

    channel: str
    account: str
    chat: str | None = None
    """Id of a group; `None` is a direct chat with *person*."""
    thread: str | None = None
    person: str | None = None
    """The platform's numeric id of the sender; `None`: the platform does not say."""
    space: str | None = None
    roles: tuple[str, ...] = ()
    mention: bool = False
    """The message mentions the bot or replies to it."""


class SilenceRow(Struct, frozen=True):
    """A sender whose messages got no answer."""

    at: datetime
    """Time of the latest one."""
    address: str
    person: str
    reason: str
    """A code of docs/reasons.md."""
    times: int
    told: str
    """The reason as text."""
    mend: str
    """The remedy, if it should have been answered."""


class SilencesAnswer(Struct, frozen=True):
    """The unanswered messages, latest first."""

    silences: tuple[SilenceRow, ...] = ()


class SilencesOrder(Order[SilencesAnswer], frozen=True):
    """A request for unanswered messages."""

    chat: str | None = None
    """Only in this chat."""
    limit: int = 20


class AccountRow(Struct, frozen=True):
    """The people who may write to a bot account in a direct chat."""

    account: str
    """As `<channel>.<account>`."""
    direct: str
    """A value of `DirectPolicy`."""
    people: tuple[str, ...]
    """Guests without a pairing."""


class GroupRow(Struct, frozen=True):
    """A group whose messages are answered, with its rules."""

    account: str
    chat: str
    agent: str
    mention: bool
    """Only messages that mention the bot or reply to it are answered."""
    people: tuple[str, ...]
    """The people who are answered; empty: everybody there."""
    bots: bool
    heard: int
    may_end: tuple[str, ...] | None
    """People who may end its conversation besides the owner; `None`: everybody."""


class RoomsAnswer(Struct, frozen=True):
    """The bot accounts and the groups that the configuration allows."""

    accounts: tuple[AccountRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """Names that people and groups chose, by person and by `<channel>.<account>.<chat>`."""


class RoomsOrder(Order[RoomsAnswer], frozen=True):
    """A request for the bot accounts and their groups."""
