"""Losses of the state that a start found, kept in the state itself until the owner has been told."""

from datetime import datetime, timedelta

from msgspec import Struct

from gateway.stores.ports import Store
from gateway.stores.remembered import Moment, remember, remembered

KEY = "state_loss"
"""Of the store: the latest loss."""
SHOWN_FOR = timedelta(days=7)
"""How long it is named to the owner. Our choice."""


class StateLoss(Struct, frozen=True, array_like=True):
    """A loss of state that a start found."""

    at: Moment
    said: str
    """The loss, its place and the remedy, in words."""


async def keep_loss(store: Store, loss: StateLoss) -> None:
    """Keep *loss* for the owner. Raises StoreError."""
    await remember(store, KEY, loss)


async def latest_loss(store: Store, now: datetime) -> StateLoss | None:
    """Return the latest loss; `None` if there was none, or it is long ago. Raises StoreError."""
    loss = await remembered(store, KEY, StateLoss)
    return loss if loss is not None and now - loss.at < SHOWN_FOR else None
