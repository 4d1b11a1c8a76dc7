"""Losses of the state that a start found, kept in the state itself until the owner has been told."""

import json
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from pydantic import AwareDatetime

from gateway.stores.ports import Store
from gateway.stores.remembered import remembered

KEY = "state_loss"
"""Of the store: the latest loss."""
SHOWN_FOR = timedelta(days=7)
"""How long it is named to the owner. Our choice."""


class StateLoss(Struct, frozen=True):
    """A loss of state that a start found."""

    at: datetime
    said: str
    """The loss, its place and the remedy, in words."""


async def keep_loss(store: Store, loss: StateLoss) -> None:
    """Keep *loss* for the owner. Raises StoreError."""
    await store.put(KEY, json.dumps([loss.at.astimezone(UTC).isoformat(), loss.said]))


async def latest_loss(store: Store, now: datetime) -> StateLoss | None:
    """Return the latest loss; `None` if there was none, or it is long ago. Raises StoreError."""
    if not (kept := await remembered(store, KEY, tuple[AwareDatetime, str])):
        return None
    loss = StateLoss(*kept)
    return loss if now - loss.at < SHOWN_FOR else None
