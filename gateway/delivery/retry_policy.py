"""Retry policy for outgoing messages, and the notice on late replies."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

from msgspec import Struct

from adapters.channel import LONGEST_WAIT_S
from gateway.runtime.clock import Clock
from workspaces.backoff import Backoff

RETRIES = Backoff(1.0, 300.0)


class RetryPolicy(Struct, frozen=True):
    """Intervals of delivery; the defaults are our choice unless a source is named."""

    clock: Clock
    zone: tzinfo = UTC
    """The owner's, for the times that replies state."""
    jitter: Callable[[], float] = random.random
    """Returns a number from 0 to 1, so that addresses that failed together do not all retry together."""
    retries: Backoff = RETRIES
    refused_account_s: float = 900.0
    """Delay before a misconfigured account is tried again: somebody has to fix it first."""
    send_timeout_s: float = 60.0
    turn_s: float = 2.0
    """Seconds that one send may block the other chats of its account."""
    unsure_tries: int = 8
    """Uncertain sends in a row after which a part is given up: each of them may have arrived."""
    late_after: timedelta = timedelta(minutes=10)
    """Age from which a reply states when it was written (a promise of the README)."""
    at_once: int = 256

    def retry_s(self, attempts: int) -> float:
        """Return the seconds to wait after *attempts* attempts: doubled each time, between half and all of it."""
        return max(self.retries.first_s, self.retries.delay_s(attempts) * (1 + self.jitter()) / 2)

    def seconds_until(self, moment: datetime | None) -> float:
        """Return the seconds until *moment*; 0 if it is past, there is none, or a clock that was ahead gave it."""
        wait_s = (moment - self.clock.now()).total_seconds() if moment else 0.0
        return wait_s if 0 < wait_s <= LONGEST_WAIT_S else 0.0

    def is_late(self, written_at: datetime, sent_at: datetime) -> bool:
        """Return whether a reply of *written_at* sent at *sent_at* must state its age."""
        return sent_at - written_at > self.late_after

    def late_note(self, written_at: datetime, sent_at: datetime) -> str:
        """Return the opening sentence of a late reply; it names the day unless that is the day of sending."""
        written, sent = written_at.astimezone(self.zone), sent_at.astimezone(self.zone)
        when = f"{written:%H:%M}" if written.date() == sent.date() else f"{written:%H:%M on %Y-%m-%d}"
        return f"(This answer was written at {when} {written:%Z}; it could not be sent earlier.)"
