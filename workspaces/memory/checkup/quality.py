"""Quality of an entry: how stable, specific, confirmed, recent and used it is, and the score that these give."""

from collections.abc import Sequence
from datetime import date, timedelta

from msgspec import Struct

from workspaces.memory.checkup.noted import Hand, NotedEntry
from workspaces.memory.text.claims import claims_in
from workspaces.memory.text.day_spans import dated
from workspaces.memory.text.facts import facts_in

HALF_LIFE_DAYS = 180
"""Age, since it was written, confirmed or used, at which a note counts as half as recent."""
ENOUGH_FACTS, ENOUGH_DAYS, ENOUGH_USES = 2, 2, 3
"""Facts, further days on which it was said, and uses, from which more make no difference."""
WEIGHTS = {"stable": 0.25, "specific": 0.2, "confirmed": 0.2, "recent": 0.15, "used": 0.2}
"""Shares of the parts in the score; our choice, as nobody has published any."""
OLD = timedelta(days=180)
"""Age from which a vague note that nobody confirmed or used is worth a look."""


class EntryUse(Struct, frozen=True):
    """Uses and repetitions of an entry."""

    days: frozenset[date] = frozenset()
    """Further days on which the same was said or noted."""
    uses: int = 0
    """Turns that searched, read or recalled it."""
    last: date | None = None
    """Day of the latest one."""


class Quality(Struct, frozen=True):
    """The parts of an entry's score, each from 0 to 1."""

    stable: float
    """1: it says how something is; 0: it tells of an event, or of its own day."""
    specific: float
    """Names, numbers, dates and identifiers in it; two are enough."""
    confirmed: float
    """1: its owner wrote or approved it, or it was said on two further days."""
    recent: float
    """Halves in 180 days."""
    used: float
    """Turns that used it; three are enough."""

    @property
    def score(self) -> float:
        """Weighted sum of the parts, from 0 to 1."""
        return sum(weight * float(getattr(self, part)) for part, weight in WEIGHTS.items())


def quality(entry: NotedEntry, use: EntryUse, today: date) -> Quality:
    """Return the quality of *entry* on *today*."""
    last = max((day for day in (entry.since, use.last, *use.days) if day is not None), default=None)
    age = max((today - last).days, 0) if last else HALF_LIFE_DAYS
    is_owners = entry.source.hand is Hand.OWNER
    return Quality(
        stable=_stability(entry.text, entry.since or today),
        specific=min(len(facts_in(entry.text)) / ENOUGH_FACTS, 1.0),
        confirmed=1.0 if is_owners else min(len(use.days) / ENOUGH_DAYS, 1.0),
        recent=0.5 ** (age / HALF_LIFE_DAYS),
        used=min(use.uses / ENOUGH_USES, 1.0),
    )


def _stability(text: str, day: date) -> float:
    claims: Sequence[object] = claims_in(text)
    if dated(text, day) != text or not claims:
        return 0.0
    states = [each.is_state for each in claims_in(text)]
    return sum(states) / len(states) if any(states) else 0.3


def is_weak(entry: NotedEntry, found: Quality, today: date) -> bool:
    """Return whether *entry* is old and vague, and was never confirmed nor used; the owner's own lines never are."""
    is_old = entry.source.day is not None and entry.source.day < today - OLD
    return is_old and found.specific == found.confirmed == found.used == 0.0
