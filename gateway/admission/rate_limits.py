"""This file holds back who writes too fast, and bots that talk to each other: both in memory, both bounded."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

PEOPLE_KNOWN = 10_000
"""Buckets, and chats with talking bots, that are remembered; who wrote longest ago is forgotten, with a full bucket."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: datetime
    is_told: bool = False


class Rates:
    """A bucket of tokens for each person: a message takes one, and they come back evenly."""

    def __init__(self, a_minute: float, burst: int, now: Callable[[], datetime]) -> None:
        """*burst* messages go in at once, then *a_minute*."""
        self._a_minute, self._burst, self._now = a_minute, burst, now
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, person: str, at: datetime | None = None) -> bool:
        """Say whether *person* may write now, or might have *at* a time gone by; if so, one token is gone.

        Times gone by need a bucket of their own, as they are in no order with those of now.
        """
        bucket = self._filled(person, at)
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def should_tell(self, person: str, at: datetime | None = None) -> bool:
        """Say, once until the bucket is full again, that *person* be told to slow down."""
        bucket = self._filled(person, at)
        was_told, bucket.is_told = bucket.is_told, True
        return not was_told

    def _filled(self, person: str, at: datetime | None = None) -> _Bucket:
        now = at or self._now()
        bucket = self._buckets.setdefault(person, _Bucket(self._burst, now))
        self._buckets.move_to_end(person)
        while len(self._buckets) > PEOPLE_KNOWN:
            self._buckets.popitem(last=False)
        passed_s = max(0.0, (now - bucket.filled_at).total_seconds())
        bucket.tokens = min(self._burst, bucket.tokens + passed_s * self._a_minute / 60)
        bucket.filled_at = now
        bucket.is_told = bucket.is_told and bucket.tokens < self._burst
        return bucket


class LoopGuard:
    """Counts, for each chat, the turns that bots had since a human last said anything."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, int] = OrderedDict()

    def human(self, chat: str) -> None:
        """Begin anew: somebody is there."""
        self._turns.pop(chat, None)

    def bot(self, chat: str, most: int) -> bool:
        """Say whether a bot may have one more turn, *most* in a row; if so, it counts."""
        turns = self._turns.get(chat, 0)
        if turns >= most:
            return False
        self._turns[chat] = turns + 1
        self._turns.move_to_end(chat)
        while len(self._turns) > PEOPLE_KNOWN:
            self._turns.popitem(last=False)
        return True
