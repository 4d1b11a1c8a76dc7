"""Notices to the owner, in their own chat, of pairing requests: one notice for many."""

from collections.abc import Awaitable, Callable, Collection

from msgspec import Struct

from adapters.channel import Address, Button, InboundMessage
from gateway.admission.pairing import CODE_LIFE, describe_visitor, format_code
from gateway.admission.routing import Routes, route
from gateway.delivery.owner_notices import Notices
from gateway.stores.admission import PairingRequest
from gateway.stores.ports import Store
from workspaces.access import AgentId

TOLD = "pairing_told"
"""Counted for a request with a notice of its own."""
HELD_BACK = "pairing_held_back"
"""Counted for a request included only in a notice of further ones."""


class PairingNotice(Struct, frozen=True):
    """A notice of a request."""

    key: str
    """Its key, used once."""
    said: str
    buttons: tuple[Button, ...]
    is_for_one: bool
    """It concerns this request alone."""


class PairingNotices(Struct, frozen=True):
    """Sends a notice for a single waiting request; one notice for all others together, once an hour."""

    store: Store
    notices: Notices
    routes: Routes
    owner: Callable[[AgentId], Awaitable[Address | None]]
    """Returns the owner's direct chat with an agent, or the best there is."""

    async def __call__(self, message: InboundMessage, request: PairingRequest) -> None:
        """Notify the owner of *request*, which *message* caused. Raises StoreError."""
        ring = ring_for(request, await self.store.pairings.waiting())
        there = await self.owner(route(message, self.routes).key.agent)
        await self.notices.tell(ring.key, ring.said, there, ring.buttons)
        if ring.is_for_one:
            await self.store.count(TOLD)
        else:
            await self.store.count(HELD_BACK)

    async def recover(self) -> None:
        """Notify the owner of waiting requests whose notice a crash prevented. Raises StoreError.

        A notice that was sent has its key, and is not sent again.
        """
        waiting = await self.store.pairings.waiting()
        for number, request in enumerate(waiting):
            ring = ring_for(request, waiting[:number])
            await self.notices.tell(ring.key, ring.said, buttons=ring.buttons)


def ring_for(request: PairingRequest, waiting: Collection[PairingRequest]) -> PairingNotice:
    """Return the notice of *request*, given the others *waiting*; pure.

    A flood of strangers causes two notices an hour, unless the owner decides about the waiting ones.
    """
    visitor, code = request.visitor, format_code(request.code)
    if any(each.code != request.code for each in waiting):
        hour = int(request.asked_at.timestamp() // CODE_LIFE.total_seconds())
        listed = (Button("Who waits", "/pair"),)
        return PairingNotice(f"pairing-more:{hour}", "More pairing requests wait; `/pair` lists them.", listed, False)
    said = (
        f"{describe_visitor(visitor)} asks to be let in at {visitor.channel}.{visitor.account}. Their code is "
        f"`{code}`, valid for one hour. People choose their own names: approve only somebody who gave you this code."
    )
    buttons = Button("Approve", f"/pair approve {code}"), Button("Refuse", f"/pair refuse {code}")
    return PairingNotice(
        f"pairing:{visitor.person}:{visitor.account}:{request.asked_at.isoformat()}", said, buttons, True
    )
