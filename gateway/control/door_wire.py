"""This file holds what passes between a command and the gateway about who may talk, as both sides know it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class PairOrder:
    """A question about who asks to be let in and who was, or a decision about one of them."""

    act: Literal["list", "people", "approve", "refuse", "revoke"]
    what: str | None = None
    """The code to approve or refuse; to revoke, the person as `<channel>:<numeric id>`."""


@dataclass(frozen=True, slots=True)
class Applicant:
    """Somebody who waits to be let in."""

    code: str
    person: str
    name: str
    """What they call themselves."""
    account: str
    """Whose direct chats they ask for, as `<channel>.<account>`."""
    asked_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class GuestRow:
    """Somebody who was let in."""

    person: str
    name: str
    account: str
    since: datetime


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """Who waits or who was let in, as far as it was asked for, and what was done."""

    waiting: tuple[Applicant, ...] = ()
    guests: tuple[GuestRow, ...] = ()
    outcome: str = ""
    """What was done, in words."""


@dataclass(frozen=True, slots=True)
class RouteOrder:
    """A message that might come: where would it go?"""

    channel: str
    account: str
    chat: str | None = None
    """Of a group; `None` is a direct chat with *person*."""
    thread: str | None = None
    person: str | None = None
    """The platform's numeric id of who writes; `None`: the platform does not say."""
    space: str | None = None
    roles: tuple[str, ...] = ()
    mention: bool = False
    """It mentions the bot or replies to it."""


@dataclass(frozen=True, slots=True)
class SilencesOrder:
    """A question about who got no answer lately."""

    chat: str | None = None
    """Only there."""
    limit: int = 20


@dataclass(frozen=True, slots=True)
class SilenceRow:
    """Somebody who got no answer."""

    at: datetime
    """When it happened last."""
    address: str
    person: str
    reason: str
    """A code of docs/reasons.md."""
    times: int
    told: str
    """All of that in words."""
    mend: str
    """What to do if it should have been answered."""


@dataclass(frozen=True, slots=True)
class SilencesAnswer:
    """Who got no answer, the latest first."""

    silences: tuple[SilenceRow, ...] = ()
