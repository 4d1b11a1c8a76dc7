"""Entrance for stored messages to the lanes of their sessions, the gateway's own messages included."""

from collections.abc import Callable
from functools import cache

from adapters.channel import InboundMessage
from gateway.admission.internal_channels import is_inner
from gateway.admission.routing import Envelope, Routes, route
from gateway.stores.ports import Arrivals, Inbox
from gateway.stores.rows import InboxRow

Submit = Callable[[Envelope, InboxRow], None]
"""Passes a stored message on to the lane of its session."""


class Entrance:
    """Passes stored messages on; before there are lanes, they stay in the inbox for the next recovery."""

    def __init__(self, inbox: Inbox, routes: Routes) -> None:
        self._inbox = inbox
        self.routes = routes
        self._lanes: Submit | None = None

    def lead_to(self, lanes: Submit) -> None:
        """Pass messages on to *lanes* from now on."""
        self._lanes = lanes

    async def enter(self, message: InboundMessage) -> bool:
        """Store the gateway's own request to an agent; return whether it was new. Raises StoreError."""
        if not is_inner(message):
            raise ValueError(f"{message.address} is somebody's chat, not the gateway's own")
        row = await self._inbox.append(message)
        if row is not None:
            self.took_in(row)
        return row is not None

    def took_in(self, row: InboxRow, envelope: Envelope | None = None) -> None:
        """Pass on *row*, which was just stored, or put back into the inbox; a shared inbox returns it by itself.

        Such an inbox returns it in order with other gateways' messages. *envelope* is its route, if that is known.
        """
        if not _gives_back(type(self._inbox)):
            self.submit(row, envelope)

    def submit(self, row: InboxRow, envelope: Envelope | None = None) -> None:
        """Pass on *row* in any case."""
        if self._lanes is not None:
            self._lanes(envelope or route(row.message, self.routes), row)


@cache
def _gives_back(inbox: type[Inbox]) -> bool:
    """Return whether *inbox* returns all its messages in order; Python takes long to check a protocol."""
    return issubclass(inbox, Arrivals)
