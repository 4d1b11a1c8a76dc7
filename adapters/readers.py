"""This file keeps who reads a chat of the owner's now: a terminal, a page; any number of them, and none at times."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

R = TypeVar("R")


class Readers(Generic[R]):
    """Those who are attached; whoever comes wakes what waits to be read."""

    def __init__(self) -> None:
        self._present: list[R] = []
        self._wakes: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._present)

    def __iter__(self) -> Iterator[R]:
        """Give those who are there at the beginning: they may go meanwhile."""
        return iter(tuple(self._present))

    @contextmanager
    def attached(self, reader: R) -> Iterator[None]:
        """Count *reader* among them until the block ends, or until it is dropped."""
        self._present.append(reader)
        for wake in self._wakes:
            wake()
        try:
            yield
        finally:
            self.drop(reader)

    def drop(self, reader: R) -> None:
        """Part from *reader*, if it is still there."""
        if reader in self._present:
            self._present.remove(reader)

    def clear(self) -> None:
        """Part from all."""
        self._present.clear()

    def on_coming(self, wake: Callable[[], None]) -> None:
        """Call *wake* whenever somebody attaches, once they are there."""
        self._wakes.append(wake)
