"""Journal of turns that may write after reading others' words, so that a crash does not make their lines anybody's."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import structs

from workspaces.errors import WorkspaceUnusableError
from workspaces.history.messages import Origin, compose, parse


def exposed_place(history: Path) -> Path:
    """Return the journal's place beside the *history*."""
    return history.with_name(f"{history.name}.exposed")


class ExposedTurns:
    """The turns whose changes may be on disk and not yet in the history; their origins stand in one small file.

    A turn is written down, durably, before its first change after it has read others' words; the file is removed once
    the history has every such change. The methods may be called on any thread.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._open: set[str] = set()
        self._is_written = place.exists()

    def left_over(self) -> Origin | None:
        """Return the origin of changes that a crash kept from being recorded; `None` if no turn was exposed then."""
        with suppress(OSError, UnicodeDecodeError):
            _, origin = parse(self._place.read_text())
            return structs.replace(origin, others=True) if origin is not None else Origin("unknown", others=True)
        return None

    def begin(self, turn: str, origin: Origin) -> None:
        """Write down *turn* before it changes a file. Raises WorkspaceUnusableError if that cannot be made durable."""
        with self._lock:
            if turn in self._open:
                return
            try:
                with os.fdopen(os.open(self._place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                    file.write(compose("exposed", origin))
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as exc:
                raise WorkspaceUnusableError(f"{self._place} cannot be written: {exc.strerror}") from exc
            self._is_written = True
            self._open.add(turn)

    @contextmanager
    def during(self, name: str, origin: Origin) -> Iterator[None]:
        """Write down *name* while the block runs, and for ever if it fails; what a crash of others left there stays."""
        if self.left_over() not in {None, origin}:
            yield
            return
        self.begin(name, origin)
        yield
        self.end(name)
        self.settle(lambda: False)

    def end(self, turn: str) -> None:
        """Record that *turn* writes no more."""
        with self._lock:
            self._open.discard(turn)

    def settle(self, has_unrecorded: Callable[[], bool]) -> None:
        """Remove the file if no exposed turn is open, nor a change of one that *has_unrecorded* tells of."""
        with self._lock:
            if self._is_written and not self._open and not has_unrecorded():
                self._place.unlink(missing_ok=True)
                self._is_written = False
