"""Removal of a passage from every version of every file, so that no byte of it stays in the repository."""

import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct

from workspaces.errors import EditError, HistoryUnusableError
from workspaces.files import Folder
from workspaces.history.git_command import Git
from workspaces.history.tracked_files import tracked_content
from workspaces.redact import Redaction

if TYPE_CHECKING:
    from workspaces.history.repository import Repository

_DEADLINE_S = 300.0
_NAMED = 5


class Purged(Struct, frozen=True):
    versions: int
    """File contents with the passage."""
    commits: int
    """Rewritten commits, which have new ids: those with the passage, and all after them."""
    exports: int
    """Deleted bundles: they contained the history."""
    set_aside: tuple[str, ...]
    """Names of damaged histories set aside earlier, which are not rewritten."""


def purge(repository: "Repository", git: Git, folder: Folder, redaction: Redaction) -> Purged:
    """Rewrite the history without the passage, drop unreachable objects, and verify that nothing is left.

    Idempotent, also after a crash. Raises EditError while a file still contains the passage, which would bring it back,
    and HistoryUnusableError; the caller holds the lock.
    """
    if standing := files_holding(folder, redaction):
        named = ", ".join(map(str, standing[:_NAMED]))
        raise EditError(f"the passage is still in {named}; remove it there first")
    versions, commits = repository.rewrite(_on_bytes(redaction.out_of))
    _drop_half_made(repository)
    git.run("reflog", "expire", "--expire=now", "--all", deadline_s=_DEADLINE_S)
    git.run("gc", "--quiet", "--prune=now", deadline_s=_DEADLINE_S)
    git.run("commit-graph", "write", "--reachable", "--changed-paths", deadline_s=_DEADLINE_S)
    if left := repository.holding(lambda data: redaction.is_in(data.decode(errors="replace"))):
        raise HistoryUnusableError(
            f"the passage is still in {left:,} objects of {repository.path}: it is part of a file's name, or of "
            "something that was made there by hand (a worktree, a detached HEAD, a .keep file)"
        )
    return Purged(versions, commits, _drop_exports(repository.path), _set_aside(repository.path))


def files_holding(folder: Folder, redaction: Redaction) -> list[PurePosixPath]:
    """Return the files with history that contain the passage now."""
    texts = ((found.path, tracked_content(folder, found.path)) for found in folder.walk())
    return sorted(path for path, data in texts if data is not None and redaction.is_in(data.decode()))


def _on_bytes(change: Callable[[str], str]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        try:
            return change(data.decode()).encode()
        except UnicodeDecodeError:  # not a text of ours
            return data

    return changed


def _drop_half_made(repository: "Repository") -> None:
    """Remove the remains of an interrupted new repository, and the references that keep objects alive in git."""
    shutil.rmtree(repository.beside(".new").path, ignore_errors=True)
    (repository.path / "index").unlink(missing_ok=True)  # a repository without a working tree needs none


def _drop_exports(path: Path) -> int:
    """Remove the bundles and the remains of an interrupted one; return their number."""
    bundles = list(path.with_name("bundles").glob("*.bundle*"))
    for bundle in bundles:
        bundle.unlink(missing_ok=True)
    return len(bundles)


def _set_aside(path: Path) -> tuple[str, ...]:
    return tuple(sorted(each.name for each in path.parent.glob(f"{path.name}.damaged-*")))
