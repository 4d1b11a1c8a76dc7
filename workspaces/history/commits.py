"""This file names what a history consists of, and reads it from git's own words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import NewType

from workspaces.history.messages import Act, Origin, parse

CommitId = NewType("CommitId", str)
"""40 hex digits. For whoever sees the whole history git's own id, for others one made of what they see."""

LOG_FORMAT = "%H%x00%aI%x00%B"
"""What `read_log` reads, with `git log -z --raw --no-abbrev --no-renames`."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a commit did to one file."""

    path: PurePosixPath
    act: Act
    content: str
    """Git's id of the new content; zeros where the file was deleted."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One step of the history, as far as whoever asked may see it."""

    id: CommitId
    at: datetime
    """In the owner's zone of that time."""
    subject: str
    origin: Origin | None
    """The turn it came from, or the owner's editor; `None` for what was found at a start, and for who sees a part."""
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """How one file differs between two revisions."""

    path: PurePosixPath
    added: int
    """Lines that only the newer one has."""
    removed: int
    text: str
    """A unified diff with three lines of context, its two header lines included."""


@dataclass(frozen=True, slots=True)
class Diff:
    """How the files differ between two revisions, in order of path."""

    files: tuple[FileDiff, ...]
    omitted: int
    """How many more files differ."""


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
