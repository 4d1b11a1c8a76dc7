"""Current readers of an owner's chat, such as a terminal or a page; any number of them, or none."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

R = TypeVar("R")


class Readers(Generic[R]):
    """The attached readers; a new one wakes waiting messages."""

    def __init__(self) -> None:
        self._present: list[R] = []
        self._wakes: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._present)

    def __iter__(self) -> Iterator[R]:
        """Iterate over the readers present at the start: they may leave meanwhile."""
        return iter(tuple(self._present))

    @contextmanager
    def attached(self, reader: R) -> Iterator[None]:
        """Keep *reader* attached until the block ends, or until it is dropped."""
        self._present.append(reader)
        for wake in self._wakes:
            wake()
        try:
            yield
        finally:
            self.drop(reader)

    def drop(self, reader: R) -> None:
        """Drop *reader*, if it is still attached."""
        if reader in self._present:
            self._present.remove(reader)

    def clear(self) -> None:
        """Drop all readers."""
        self._present.clear()

    def on_coming(self, wake: Callable[[], None]) -> None:
        """Call *wake* whenever a reader has attached."""
        self._wakes.append(wake)
