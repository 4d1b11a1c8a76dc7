"""Circuit breaker for an index that did not answer in time, so that not every search waits for it."""

from collections.abc import Callable

from workspaces.backoff import Backoff
from workspaces.memory.client import MemoryUnavailableError

PAUSES = Backoff(0.5, 5.0)
"""How long a silent index is not asked; the next search tries it again. Our choice."""


class CircuitBreaker:
    """Records whether an index was silent a moment ago."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = float("-inf")
        self._failures = 0
        """In a row."""

    def check(self) -> None:
        """Raises MemoryUnavailableError while the circuit is open."""
        if self._clock() < self._until:
            raise MemoryUnavailableError("the index did not answer a moment ago")

    def begin(self) -> None:
        """Note a timeout; several searches that waited for the same answer count once."""
        if self._clock() >= self._until:
            self._until = self._clock() + PAUSES.delay_s(self._failures)
            self._failures += 1

    def retry(self) -> None:
        """Let the next search ask, which may still get no answer."""
        self._until = float("-inf")

    def end(self) -> None:
        """Note an answer."""
        self._until, self._failures = float("-inf"), 0
