"""Changes not yet in the history: in order, with one author per step."""

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from msgspec import Struct, field, structs

from workspaces.files import Written
from workspaces.history.messages import EDITOR_SESSION, Origin
from workspaces.history.tracked_files import tracked_text

EDITOR = Origin(EDITOR_SESSION)
"""Origin of changes from outside: the owner's editor, or another program of the owner's."""
MOST_STEPS = 500
"""Most steps waiting while the history cannot be written; the oldest are dropped, and the files' content is recorded
later, as the owner's.
"""


class Step(Struct, frozen=True):
    """Files as one author left them: one commit."""

    origin: Origin | None
    texts: dict[PurePosixPath, bytes | None] = field(default_factory=dict)
    """`None` for a missing file, or one without history."""


class Pending:
    """Separates the owner's changes from the turns', and the turns' from each other.

    For each path the steps hold the content on disk, in order: a step is closed, though its turn goes on, when another
    author changes a file in it. The methods may be called on any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[str, Step] = {}
        self._closed: deque[Step] = deque(maxlen=MOST_STEPS)

    def begin(self, turn: str, origin: Origin) -> None:
        """Attribute writes of *turn* to *origin*."""
        with self._lock:
            self._turns.setdefault(turn, Step(origin))

    def written(self, turn: str | None, written: Written, *, others: bool | None = None) -> None:
        """Record a write of *turn*; without one, of the gateway itself.

        *others*: the turn has read others' words. What it wrote before that stays a step of its own.
        """
        path = written.path
        with self._lock:
            self._part(path, tracked_text(path, written.before), but_for=turn)
            step = self._turns.get(turn) if turn is not None else None
            if step is None:
                self._closed.append(step := Step(None))
            elif turn is not None and step.origin is not None and step.origin.others is not others:
                self._closed.extend([step] if step.texts else [])
                step = self._turns[turn] = Step(structs.replace(step.origin, others=others))
            step.texts[path] = tracked_text(path, written.after)

    def found(self, texts: Mapping[PurePosixPath, bytes | None], origin: Origin | None) -> None:
        """Record content on disk that differs from the history; attribute changes by no turn to *origin*."""
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
        """Close the step of *turn*: it is over, for now. Return whether there is anything to commit."""
        with self._lock:
            step = self._turns.pop(turn, None)
            if step is not None and step.texts:
                self._closed.append(step)
            return bool(self._closed)

    def end_all(self) -> None:
        """Close everything: no turn runs any more."""
        for turn in list(self._turns):
            self.end(turn)

    def has_others(self) -> bool:
        """Tell whether a change is not yet in the history that was made after others' words were read."""
        with self._lock:
            steps = (*self._turns.values(), *self._closed)
            return any(step.texts and step.origin is not None and step.origin.others for step in steps)

    def first(self) -> Step | None:
        """Return the next closed step to commit."""
        with self._lock:
            return self._closed[0] if self._closed else None

    def forget(self, step: Step) -> None:
        """Drop a committed step."""
        with self._lock:
            if self._closed and self._closed[0] is step:
                self._closed.popleft()

    def recorded(self, paths: Iterable[PurePosixPath]) -> None:
        """Drop the state of *paths*: they were committed as they are on disk."""
        with self._lock:
            for path in paths:
                for step in (*self._closed, *self._turns.values()):
                    step.texts.pop(path, None)

    def clear(self) -> None:
        """Drop everything: all files were committed as they are on disk."""
        with self._lock:
            self._closed.clear()
            self._turns = {turn: Step(step.origin) for turn, step in self._turns.items()}

    def _part(self, path: PurePosixPath, before: bytes | None, but_for: str | None) -> None:
        """Close the steps of others than the turn *but_for* with *path*; unattributed changes are the owner's."""
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
