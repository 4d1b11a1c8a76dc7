"""This file remembers that an index did not answer in time, so that not every search has to find it out by waiting."""

from collections.abc import Callable

from workspaces.memory.client import MemoryUnavailableError

PAUSE_S = 5.0
"""How long an index that was silent is not asked; the search after that tries it again."""


class Outage:
    """Whether an index was silent a moment ago."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = float("-inf")

    def check(self) -> None:
        """Raises MemoryUnavailableError while the index is not to be asked."""
        if self._clock() < self._until:
            raise MemoryUnavailableError("the index did not answer a moment ago")

    def begin(self) -> None:
        """Note that it was silent just now."""
        self._until = self._clock() + PAUSE_S

    def end(self) -> None:
        """Note that it answered."""
        self._until = float("-inf")
