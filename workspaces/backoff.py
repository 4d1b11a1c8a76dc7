"""Exponential backoff."""

from msgspec import Struct

_MOST_DOUBLINGS = 30


class Backoff(Struct, frozen=True):
    """Delays between the attempts of one operation: doubled after each failure in a row, up to the longest."""

    first_s: float
    longest_s: float

    def delay_s(self, earlier: int) -> float:
        """Return the seconds to wait after a failure that follows *earlier* others; callers multiply it by jitter."""
        return min(self.longest_s, self.first_s * 2.0 ** min(earlier, _MOST_DOUBLINGS))
