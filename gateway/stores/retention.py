"""This file says how long a store keeps what is done with."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Retention:
    """How long the store keeps what is done with."""

    dedupe: timedelta = timedelta(days=14)
    """A message that its platform delivers again within this time is recognised."""
    sent: timedelta = timedelta(days=7)
    dead: timedelta = timedelta(days=90)
    decided: timedelta = timedelta(days=90)
    """That a change was approved or refused; its texts are dropped at once."""
    keys: timedelta = timedelta(days=365)
    """Ids of committed turns and keys of notices: none may come again within this time."""
    heard: timedelta = timedelta(days=1)
    """What a group said without asking us."""
    silences: timedelta = timedelta(days=30)
    """That somebody got no answer, since it happened last."""
    spending: timedelta = timedelta(days=400)
    """What a day cost: a year can be looked back on."""
    unsure: int = 1000
    """How many unsure sends are listed; the newest are."""
