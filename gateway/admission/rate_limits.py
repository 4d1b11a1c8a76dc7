"""Limits on the rate of senders and on conversations between bots: both in memory, both bounded."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from gateway.runtime.bounded_dict import BoundedDict

PEOPLE_KNOWN = 10_000
"""Buckets, and chats with talking bots, that are remembered; the least recently used is evicted, with a full bucket."""


class _Bucket(Struct):
    tokens: float
    filled_at: datetime
    is_told: bool = False


class Rates:
    """A token bucket per person: a message takes one token, and tokens refill evenly."""

    def __init__(self, a_minute: float, burst: int, now: Callable[[], datetime]) -> None:
        """*burst* messages are admitted at once, then *a_minute*."""
        self._a_minute, self._burst, self._now = a_minute, burst, now
        self._buckets: BoundedDict[str, _Bucket] = BoundedDict(PEOPLE_KNOWN)

    def take(self, person: str, at: datetime | None = None) -> bool:
        """Return whether *person* may write now, or might have *at* a past time; if so, take one token.

        Past times need a bucket of their own, as they are not ordered with current ones.
        """
        bucket = self._refilled_bucket(person, at)
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def should_tell(self, person: str, at: datetime | None = None) -> bool:
        """Return, once until the bucket is full again, whether to tell *person* to slow down."""
        bucket = self._refilled_bucket(person, at)
        was_told, bucket.is_told = bucket.is_told, True
        return not was_told

    def _refilled_bucket(self, person: str, at: datetime | None = None) -> _Bucket:
        now = at or self._now()
        bucket = self._buckets[person] = self._buckets.get(person) or _Bucket(self._burst, now)
        passed_s = max(0.0, (now - bucket.filled_at).total_seconds())
        bucket.tokens = min(self._burst, bucket.tokens + passed_s * self._a_minute / 60)
        bucket.filled_at = now
        bucket.is_told = bucket.is_told and bucket.tokens < self._burst
        return bucket


class LoopGuard:
    """Counts, for each chat, the bots' turns since a human's last message."""

    def __init__(self) -> None:
        self._turns: BoundedDict[str, int] = BoundedDict(PEOPLE_KNOWN)

    def human(self, chat: str) -> None:
        """Reset the count after a human's message."""
        self._turns.pop(chat, None)

    def bot(self, chat: str, most: int) -> bool:
        """Return whether a bot may have one more turn, of *most* in a row; if so, count it."""
        turns = self._turns.get(chat, 0)
        if turns >= most:
            return False
        self._turns[chat] = turns + 1
        return True
