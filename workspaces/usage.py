"""Storage quotas of a workspace, one for each audience's files.

Audiences are counted separately, so that a refusal tells a group nothing about the files that it may not see.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Protocol

from annotated_types import Interval
from msgspec import Struct

from workspaces.access import PRIVATE, Scope, is_attachment, scope_of
from workspaces.errors import TooLargeError

COUNT_EVERY_S = 600.0
"""How long a count is reused: other programs than the gateway add and remove files, too."""
_COUNT_AGAIN_S = 1.0
"""Shortest interval for a new count before a refusal: the owner may just have made room."""
_MB = 1024 * 1024


class Quota(Struct, frozen=True):
    """Quota of an audience's files; the settings are `[limits] <name>_mb` and `<name>_files`."""

    name: str
    mb: int
    files: int


_Megabytes = Annotated[int, Interval(ge=1, le=1_000_000)]


@dataclass(frozen=True)
class Quotas:
    """The quotas of a workspace; the defaults are ours: some hundred years of notes, and a few of a busy group."""

    workspace_mb: _Megabytes = 512
    workspace_files: Annotated[int, Interval(ge=20, le=1_000_000)] = 20_000
    """Quota of all files that belong to no other chat."""
    shared_mb: _Megabytes = 16
    shared_files: Annotated[int, Interval(ge=1, le=1_000_000)] = 1_000
    """Quota of each group's and guest's own notes."""
    attachments_mb: _Megabytes = 512
    attachments_files: Annotated[int, Interval(ge=1, le=5_000)] = 5_000
    """Quota of the files that came with messages, per audience: they leave room for its notes alone."""

    def of(self, pile: "Pile") -> Quota:
        if pile.is_attachments:
            return Quota("attachments", self.attachments_mb, self.attachments_files)
        if pile.scope == PRIVATE:
            return Quota("workspace", self.workspace_mb, self.workspace_files)
        return Quota("shared", self.shared_mb, self.shared_files)


class Pile(Struct, frozen=True):
    """Files counted together."""

    scope: Scope
    is_attachments: bool


def _pile_of(path: PurePosixPath) -> Pile:
    return Pile(scope_of(path), is_attachment(path))


class SizedFile(Protocol):
    """A file found by a walk."""

    @property
    def path(self) -> PurePosixPath: ...

    @property
    def size(self) -> int: ...


class StorageUsage:
    """Storage in use, by audience: recounted at intervals, and updated with every write in between."""

    def __init__(
        self, walk: Callable[[], Iterable[SizedFile]], quotas: Quotas, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._walk = walk
        self._quotas = quotas
        self._clock = clock
        self._counted_at: float | None = None
        self._bytes = Counter[Pile]()
        self._files = Counter[Pile]()

    def refuse_over(self, path: PurePosixPath, size: int, *, present: int | None) -> None:
        """Raise TooLargeError unless the file at *path* may have *size* bytes; *present* is its size now, if it exists.

        A file that does not grow is never refused.
        """
        if present is not None and size <= present:
            return
        more_files, more_bytes = int(present is None), size - (present or 0)
        pile = _pile_of(path)
        quota = self._quotas.of(pile)
        self._count(COUNT_EVERY_S)
        if not self._lacks(pile, more_files, more_bytes):
            return
        self._count(_COUNT_AGAIN_S)
        if lacks := self._lacks(pile, more_files, more_bytes):
            most = f"{quota.files:,} files" if lacks == "files" else f"{quota.mb} MB"
            raise TooLargeError(
                f"{path}: the limit here is {most}; remove something, or raise {quota.name}_{lacks} in [limits] of "
                "config.toml"
            )

    def _lacks(self, pile: Pile, more_files: int, more_bytes: int) -> str:
        """Return the exceeded quota, by the suffix of its setting's name; empty if there is room."""
        quota = self._quotas.of(pile)
        if self._files[pile] + more_files > quota.files:
            return "files"
        return "mb" if self._bytes[pile] + more_bytes > quota.mb * _MB else ""

    def changed(self, path: PurePosixPath, before: int | None, after: int | None) -> None:
        """Record a change of a file's size; `None` is no file."""
        pile = _pile_of(path)
        self._bytes[pile] += (after or 0) - (before or 0)
        self._files[pile] += (after is not None) - (before is not None)

    def _count(self, patience_s: float) -> None:
        now = self._clock()
        if self._counted_at is not None and now - self._counted_at < patience_s:
            return
        self._bytes.clear()
        self._files.clear()
        for found in self._walk():
            self._bytes[_pile_of(found.path)] += found.size
            self._files[_pile_of(found.path)] += 1
        self._counted_at = now
