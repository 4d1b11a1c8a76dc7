"""Types of the history, and the parser of git's log output."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import PurePosixPath
from typing import NewType

from msgspec import Struct

from workspaces.history.messages import Act, Origin, parse

CommitId = NewType("CommitId", str)
"""40 hex digits. Git's own id for turns that see the whole history, for others one derived from their part."""

LOG_FORMAT = "%H%x00%aI%x00%B"
"""Format read by `read_log`, with `git log -z --raw --no-abbrev --no-renames`."""


class FileChange(Struct, frozen=True):
    path: PurePosixPath
    act: Act
    content: str
    """Git's id of the new content; zeros for a deleted file."""


class Commit(Struct, frozen=True):
    """One step of the history, as far as the reader may see it."""

    id: CommitId
    at: datetime
    """In the owner's zone at that time."""
    subject: str
    origin: Origin | None
    """The turn it came from, or the owner's editor; `None` for changes found at startup, and in a partial view."""
    changes: tuple[FileChange, ...]


class FileDiff(Struct, frozen=True):
    """Difference of one file between two revisions."""

    path: PurePosixPath
    added: int
    """Number of added lines."""
    removed: int
    text: str
    """A unified diff with three lines of context, its two header lines included."""


class Diff(Struct, frozen=True):
    """Differences between two revisions, sorted by path."""

    files: tuple[FileDiff, ...]
    omitted: int
    """Number of further files that differ."""


def read_log(fields: Iterable[bytes]) -> Iterator[Commit]:
    """Yield the commits of a log whose NUL-separated *fields* are in `LOG_FORMAT`, each with its raw changes."""
    rest = iter(fields)
    head = next(rest, b"")
    while head:
        at, message = next(rest), next(rest)
        changes = []
        following = next(rest, b"")
        while following.lstrip(b"\n").startswith(b":"):
            changes.append(_change(following.decode(), next(rest)))
            following = next(rest, b"")
        subject, origin = parse(message.decode(errors="replace"))
        when = datetime.fromisoformat(at.decode())
        yield Commit(CommitId(head.decode()), when, subject, origin, tuple(changes))
        head = following


def _change(raw: str, path: bytes) -> FileChange:
    _, _, _, content, status = raw.split()
    act = Act.DELETE if status == "D" else Act.WRITE
    return FileChange(PurePosixPath(path.decode(errors="surrogateescape")), act, content)
