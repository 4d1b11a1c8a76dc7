"""This file answers what the owner asks at the command line about browsers: let one in, list them, sign them out."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from gateway.errors import StrandlineError

if TYPE_CHECKING:  # the command line makes orders without loading what answers them
    from gateway.admission.sign_in import SignIns


@dataclass(frozen=True, slots=True)
class BrowserOrder:
    """A code for a browser, a list of those that are signed in, or an end of one of them."""

    act: Literal["link", "sessions", "revoke"]
    session: str | None = None
    """Whom to sign out; `None` is everybody."""


@dataclass(frozen=True, slots=True)
class BrowserRow:
    """A browser that is signed in."""

    session: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class BrowserAnswer:
    """As far as it was asked for."""

    code: str = ""
    sessions: tuple[BrowserRow, ...] = ()
    outcome: str = ""
    """What was done, in words."""


async def answer_browsers(sign_ins: "SignIns", order: BrowserOrder) -> BrowserAnswer:
    """Do what *order* asks. Raises StrandlineError for a session that is not there, and StoreError."""
    match order.act:
        case "link":
            return BrowserAnswer(code=await sign_ins.code())
        case "sessions":
            rows = [BrowserRow(each.id, each.since, each.until) for each in await sign_ins.sessions()]
            return BrowserAnswer(sessions=tuple(rows))
        case "revoke":
            count = await sign_ins.revoke(order.session)
            if order.session is not None and not count:
                raise StrandlineError(f"no browser {order.session!r} is signed in; strandline web sessions lists them")
            return BrowserAnswer(outcome=f"{count} signed out")
