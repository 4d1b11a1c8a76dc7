"""Retention of finished rows in a store."""

from datetime import timedelta

from msgspec import Struct


class Retention(Struct, frozen=True):
    """How long the store keeps finished rows."""

    dedupe: timedelta = timedelta(days=14)
    """A message that its platform delivers again within this time is recognised as a duplicate."""
    sent: timedelta = timedelta(days=7)
    dead: timedelta = timedelta(days=90)
    decided: timedelta = timedelta(days=90)
    """Approved or refused changes; their texts are dropped at once."""
    keys: timedelta = timedelta(days=365)
    """Ids of committed turns and keys of notices: none may recur within this time."""
    heard: timedelta = timedelta(days=1)
    """Messages of groups that were not addressed to us."""
    silences: timedelta = timedelta(days=30)
    """Ledger lines of unanswered messages, since the latest one."""
    spending: timedelta = timedelta(days=400)
    """Daily costs: a year's history."""
    unsure: int = 1000
    """Most unsure sends listed; the newest are kept."""
