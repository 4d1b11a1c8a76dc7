"""The lines that each commit changed, kept in one file beside the history, so that nobody compares versions again.

The file is derived and append-only: missing, damaged, or of another history, it is written anew.
"""

import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import date
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct, field

from workspaces.history.git_command import Git
from workspaces.history.messages import Origin, parse
from workspaces.house import may_mark
from workspaces.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from workspaces.history.repository import Repository

_PATCHES = (
    *("log", "--reverse", "--first-parent", "-m", "--root", "-p", "-U0", "--no-renames", "--no-color", "--text"),
    *("--no-ext-diff", "--no-textconv", "--format=%x00%H %as%x00%B%x00"),
)
_DEADLINE_S = 300.0
_HUNK = lazy_pattern(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_FRAME = struct.Struct("<II")
"""Length and checksum of the commits that were appended at once."""
_IN_A_FRAME = 500
_NEAR = 64
"""Most commits whose changes are read without git's own program, whose start takes longer than the reading."""


class ReplacedLines(Struct, frozen=True):
    """Lines that were replaced by others; either may be empty."""

    removed: Sequence[str]
    added: Sequence[str]
    removed_at: int = 0
    """Number of the first removed line, from 1; of the line before, if none was removed."""
    added_at: int = 0
    """The same for the added lines."""


class FileChanges(Struct, frozen=True):
    path: PurePosixPath
    is_new: bool
    hunks: list[ReplacedLines] = field(default_factory=list)

    @property
    def may_mark(self) -> bool:
        """Whether it adds or removes a mark `house`."""
        return any(may_mark(line) for hunk in self.hunks for line in (*hunk.removed, *hunk.added))

    def line_before(self, line: int) -> int | None:
        """Return the number that *line*, from 1, had before; `None` for one that was written here.

        A line that only moved within the file, or was indented, was not written here.
        """
        shift = 0
        for hunk in self.hunks:
            if line < hunk.added_at + (not hunk.added):
                break
            if line < hunk.added_at + len(hunk.added):
                return self._place_of(hunk.added[line - hunk.added_at], line - shift)
            shift += len(hunk.added) - len(hunk.removed)
        return line - shift

    def count_differs(self, words: str) -> bool:
        """Return whether the file holds the case-folded *words* more or less often than before."""
        come = sum(line.casefold().count(words) for hunk in self.hunks for line in hunk.added)
        gone = sum(line.casefold().count(words) for hunk in self.hunks for line in hunk.removed)
        return come != gone

    def _place_of(self, text: str, near: int) -> int | None:
        words = text.split()
        removed = ((hunk.removed_at + n, line) for hunk in self.hunks for n, line in enumerate(hunk.removed))
        return min((n for n, line in removed if line.split() == words), key=lambda n: abs(n - near), default=None)


class Patch(Struct, frozen=True):
    """A commit with its changes."""

    commit: str
    day: date
    """In the owner's zone at that time."""
    message: str
    text: str
    """Its difference without context, as git shows it."""

    @property
    def origin(self) -> Origin | None:
        return parse(self.message)[1]

    def files(self) -> Iterator[FileChanges]:
        return _files(self.text.split("\n"))

    def mentions(self, words: str) -> bool:
        """Return whether the case-folded *words* came or went, or stand in its subject or its files' names."""
        if words in self.message.partition("\n")[0].casefold():
            return True
        if words not in self.text.casefold():
            return False
        return any(words in str(file.path).casefold() or file.count_differs(words) for file in self.files())


class LineChanges:
    """The patches of one history, oldest first. Methods raise HistoryUnusableError.

    Where the file cannot be written, they cost time and nothing else.
    """

    def __init__(self, repository: "Repository", git: Git) -> None:
        self._repository = repository
        self._git = git
        self._place = repository.path.with_name(f"{repository.path.name}.lines")
        self._newest = ""
        """The newest commit in the file; empty while that is not known."""

    def until(self, head: str) -> list[Patch]:
        """Return the patches of all commits up to *head*, the newest one."""
        _, fresh = self._extend(head)
        known = self._read() | {patch.commit: patch for patch in fresh}
        if head not in known:  # damaged, or removed meanwhile
            self.forget()
            return self._extend(head)[1]
        return [*known.values()]

    def since(self, commit: str, head: str) -> list[Patch]:
        """Return the patches after *commit*, or all if it is none of this history."""
        start, fresh = self._extend(head)
        if start == commit:
            return fresh
        if (near := self._near(commit, head)) is not None:
            return [*_patches(near)]
        patches = self.until(head)
        place = next((n for n, patch in enumerate(patches, 1) if patch.commit == commit), 0)
        return patches[place:]

    def forget(self) -> None:
        """Delete the file."""
        self._place.unlink(missing_ok=True)
        self._newest = ""

    def _extend(self, head: str) -> tuple[str, list[Patch]]:
        """Append the commits up to *head*; return the newest one before, and the patches of the new ones."""
        if not self._newest or not self._place.exists():
            self._newest = self._newest_kept()
        start = self._newest
        if start == head:
            return start, []
        if (near := self._near(start, head)) is not None:
            self._newest = head if self._append(b"\0".join(near)) else ""
            return start, [*_patches(near)]
        if start and not self._is_before(start, head):
            start = ""
        if not start:
            self.forget()
        told = self._git.fields(*_PATCHES, f"{start}..{head}" if start else head, deadline_s=_DEADLINE_S)
        fresh, is_kept = list[Patch](), True
        with closing(told):
            next(told, b"")
            while fields := [*islice(told, 3 * _IN_A_FRAME)]:
                fresh += _patches(fields)
                is_kept = is_kept and self._append(b"\0".join(fields))
        self._newest = head if is_kept else ""
        return start, fresh

    def _near(self, start: str, head: str) -> list[bytes] | None:
        """Return the fields of the commits after *start*; `None` if they are many, or it is none of this history."""
        return self._repository.told_after(start, head, _NEAR) if start else None

    def _is_before(self, commit: str, head: str) -> bool:
        return self._git.succeeds("merge-base", "--is-ancestor", commit, head, deadline_s=_DEADLINE_S)

    def _append(self, body: bytes) -> bool:
        """Add a frame; return whether the system took it."""
        with suppress(OSError):
            opened = os.open(self._place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            with os.fdopen(opened, "wb", buffering=0) as file:
                file.write(_FRAME.pack(len(body), zlib.crc32(body)) + body)
            return True
        return False

    def _read(self) -> dict[str, Patch]:
        """Return the patches of the file by their commits; two processes may have appended the same ones."""
        return {patch.commit: patch for body in self._kept() for patch in _patches(body.split(b"\0"))}

    def _newest_kept(self) -> str:
        last = next(reversed(self._kept()), None)
        return "" if last is None else [*_patches(last.split(b"\0"))][-1].commit

    def _kept(self) -> list[bytes]:
        try:
            return [*_frames(self._place.read_bytes())]
        except OSError:
            return []


def writers_of(lines: Iterable[int], path: PurePosixPath, patches: Sequence[Patch]) -> dict[str, None]:
    """Return the commits that wrote *lines*, from 1, of the file at *path* as it is after the last of *patches*."""
    wanted, writers = {*lines}, dict[str, None]()
    for patch in reversed(patches):
        if not wanted:
            break
        if path.name not in patch.text and '"b/' not in patch.text:
            continue
        for file in (each for each in patch.files() if each.path == path):
            before = {file.line_before(line) for line in wanted}
            if None in before:
                writers[patch.commit] = None
            wanted = {line for line in before if line is not None}
    return writers


def _patches(fields: Iterable[bytes]) -> Iterator[Patch]:
    rest = iter(fields)
    for head in rest:
        commit, _, day = head.decode().partition(" ")
        message, text = (next(rest, b"").decode(errors="replace").strip("\n") for _ in range(2))
        yield Patch(commit, date.fromisoformat(day), message, text)


def _frames(data: bytes) -> Iterator[bytes]:
    """Yield the commits of each frame; nothing of a damaged file, which is written anew."""
    place, found = 0, list[bytes]()
    while place < len(data):
        if place + _FRAME.size > len(data):
            return
        size, checksum = _FRAME.unpack_from(data, place)
        body = data[place + _FRAME.size :][:size]
        if len(body) < size or zlib.crc32(body) != checksum:
            return
        found.append(body)
        place += _FRAME.size + size
    yield from found


def _files(lines: Sequence[str]) -> Iterator[FileChanges]:
    file: FileChanges | None = None
    is_new, place, begun = False, 0, ""
    while place < len(lines):
        line = lines[place]
        place += 1
        if line.startswith("diff --git "):
            if file is not None:
                yield file
            file, is_new, begun = None, False, line
        elif line.startswith("new file mode"):
            is_new = True
            file = FileChanges(_path(begun[len(begun) // 2 + 6 :]), is_new)  # an empty one has no other header
        elif line.startswith(("--- ", "+++ ")) and (file is None or not file.hunks):
            file = FileChanges(_path(line[4:]), is_new) if line.startswith("+++ ") else file
        elif file is not None and (match := _HUNK.match(line)):
            removed_at, removed, added_at, added = (1 if each is None else int(each) for each in match.groups())
            body = [each for each in lines[place : place + removed + added + 2] if not each.startswith("\\")]
            file.hunks.append(
                ReplacedLines(
                    [each[1:] for each in body[:removed]],
                    [each[1:] for each in body[removed : removed + added]],
                    removed_at,
                    added_at,
                )
            )
            place += removed + added
    if file is not None:
        yield file


def _path(name: str) -> PurePosixPath:
    """Return the path of a header's *name*, which git quotes, or ends with a tab, where it has to."""
    name = name.removesuffix("\t")
    if name.startswith('"'):
        name = name[1:-1].replace('\\"', '"')
    return PurePosixPath(name.partition("/")[2])
