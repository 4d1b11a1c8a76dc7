"""Circuit breaker for an index that did not answer in time, so that not every search waits for it."""

from collections.abc import Callable

from workspaces.memory.client import MemoryUnavailableError

PAUSE_S = 5.0
"""How long a silent index is not asked; the next search tries it again."""


class CircuitBreaker:
    """Records whether an index was silent a moment ago."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = float("-inf")

    def check(self) -> None:
        """Raises MemoryUnavailableError while the circuit is open."""
        if self._clock() < self._until:
            raise MemoryUnavailableError("the index did not answer a moment ago")

    def begin(self) -> None:
        """Note a timeout."""
        self._until = self._clock() + PAUSE_S

    def end(self) -> None:
        """Note an answer."""
        self._until = float("-inf")
