"""This file holds what was written and is not in the history yet: in order, and by one author a step."""

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from workspaces.files import Written
from workspaces.history.messages import Origin
from workspaces.history.tracked_files import kept_text

EDITOR = Origin("editor")
"""Where a change comes from that nobody here made: the owner's editor, or another program of his."""
MOST_STEPS = 500
"""Steps that wait at most while the history cannot be written; the oldest go first, and what stands in the files is
taken in later, as the owner's."""


@dataclass(frozen=True, slots=True)
class Step:
    """Files as one author left them: one commit."""

    origin: Origin | None
    texts: dict[PurePosixPath, bytes | None] = field(default_factory=dict)
    """`None` where no file is, or none that is kept."""


class Pending:
    """Keeps the owner's changes apart from a turn's, and the turns' from each other.

    For each path the steps hold what stood on disk, in order: a step is closed, though its turn goes on, when somebody
    else changes a file that it holds. Its methods may be called on any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[str, Step] = {}
        self._closed: deque[Step] = deque(maxlen=MOST_STEPS)

    def begin(self, turn: str, origin: Origin) -> None:
        """Let what *turn* writes come from *origin*."""
        with self._lock:
            self._turns.setdefault(turn, Step(origin))

    def written(self, turn: str | None, written: Written) -> None:
        """Take in a write of *turn*; without one, of the gateway itself."""
        path = written.path
        with self._lock:
            self._part(path, kept_text(path, written.before), but_for=turn)
            step = self._turns.get(turn) if turn is not None else None
            if step is None:
                self._closed.append(step := Step(None))
            step.texts[path] = kept_text(path, written.after)

    def found(self, texts: Mapping[PurePosixPath, bytes | None], origin: Origin | None) -> None:
        """Take in what stands on disk and is not what the history says; what of it is no turn's is *origin*'s."""
        with self._lock:
            theirs = Step(origin)
            for path, text in texts.items():
                known = self._newest(path)
                if known is None or known.texts[path] != text:
                    self._close_all_with(path)
                    theirs.texts[path] = text
            if theirs.texts:
                self._closed.append(theirs)

    def end(self, turn: str) -> bool:
        """Close what *turn* wrote: it is over, for now. Return whether anything is to be recorded."""
        with self._lock:
            step = self._turns.pop(turn, None)
            if step is not None and step.texts:
                self._closed.append(step)
            return bool(self._closed)

    def end_all(self) -> None:
        """Close everything: no turn runs any more."""
        for turn in list(self._turns):
            self.end(turn)

    def first(self) -> Step | None:
        """Return the closed step that is to be recorded next."""
        with self._lock:
            return self._closed[0] if self._closed else None

    def forget(self, step: Step) -> None:
        """Drop a step that was recorded."""
        with self._lock:
            if self._closed and self._closed[0] is step:
                self._closed.popleft()

    def recorded(self, paths: Iterable[PurePosixPath]) -> None:
        """Drop what is known of *paths*: somebody recorded them as they are on disk."""
        with self._lock:
            for path in paths:
                for step in (*self._closed, *self._turns.values()):
                    step.texts.pop(path, None)

    def clear(self) -> None:
        """Drop everything: all files were recorded as they are on disk."""
        with self._lock:
            self._closed.clear()
            self._turns = {turn: Step(step.origin) for turn, step in self._turns.items()}

    def _part(self, path: PurePosixPath, before: bytes | None, but_for: str | None) -> None:
        """Close what others than the turn *but_for* know of *path*; what nobody here wrote is the owner's."""
        known = self._newest(path)
        if known is None or known.texts[path] != before:
            self._close_all_with(path)
            self._closed.append(Step(EDITOR, {path: before}))
        elif but_for is None or known is not self._turns.get(but_for):
            self._close_all_with(path)

    def _newest(self, path: PurePosixPath) -> Step | None:
        steps = (*self._turns.values(), *reversed(self._closed))
        return next((step for step in steps if path in step.texts), None)

    def _close_all_with(self, path: PurePosixPath) -> None:
        for turn, step in self._turns.items():
            if path in step.texts:
                self._closed.append(step)
                self._turns[turn] = Step(step.origin)
