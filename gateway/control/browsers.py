"""Operator requests about browsers: sign one in, list them, sign them out."""

from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from gateway.control.order import Order
from gateway.errors import StrandlineError

if TYPE_CHECKING:  # the command line creates orders without loading their handlers
    from gateway.admission.sign_in import SignIns


class BrowserRow(Struct, frozen=True):
    session: str
    since: datetime
    until: datetime


class BrowserAnswer(Struct, frozen=True):
    """The requested parts of the result."""

    code: str = ""
    sessions: tuple[BrowserRow, ...] = ()
    outcome: str = ""
    """Description of the action taken."""


class BrowserOrder(Order[BrowserAnswer], frozen=True):
    """A request for a sign-in code, for the list of signed-in browsers, or to sign one out."""

    act: Literal["link", "sessions", "revoke"]
    session: str | None = None
    """The session to sign out; `None` for all."""


class BrowserOperator(Struct, frozen=True):
    """Signs the owner's browsers in and out."""

    sign_ins: "SignIns"
    zone: tzinfo
    """The owner's."""

    async def answer(self, order: BrowserOrder) -> BrowserAnswer:
        """Execute *order*. Raises StrandlineError for an unknown session, and StoreError."""
        match order.act:
            case "link":
                return BrowserAnswer(code=await self.sign_ins.code())
            case "sessions":
                found, zone = await self.sign_ins.sessions(), self.zone
                rows = (BrowserRow(each.id, each.since.astimezone(zone), each.until.astimezone(zone)) for each in found)
                return BrowserAnswer(sessions=tuple(rows))
            case "revoke":
                count = await self.sign_ins.revoke(order.session)
                if order.session is not None and not count:
                    raise StrandlineError(
                        f"no browser {order.session!r} is signed in; strandline web sessions lists them"
                    )
                return BrowserAnswer(outcome=f"{count} signed out")
