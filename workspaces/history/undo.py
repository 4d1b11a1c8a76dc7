"""Undoing the changes of one turn: in all of its files, or in none."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from workspaces.access import Access
from workspaces.errors import EditError
from workspaces.revert import reverted_text
from workspaces.workspace import Workspace

FAR_BACK = 2_000
"""Changes of notes searched for a turn: months of talk. Our choice."""
NEAR = 20
"""A turn has several changes if others wrote in between; they are at most this far apart. Our choice."""


@dataclass(frozen=True, slots=True)
class FileWriting:
    """One file of notes, before and after a change."""

    path: PurePosixPath
    before: str | None
    """The whole text; `None` for no file."""
    after: str | None


@dataclass(frozen=True, slots=True)
class TurnChanges:
    mark: str
    """Reference for undoing it."""
    files: tuple[FileWriting, ...]
    """Newest change first; a file may occur more than once. Empty if the turn wrote no notes."""
    is_undone: bool
    turn: str | None = None
    others: tuple[PurePosixPath, ...] = ()
    """Other files that it wrote."""


def undo_files(workspace: Workspace, access: Access, files: Iterable[FileWriting]) -> None:
    """Revert the changes of *files*, all of them or none. Raises EditError if somebody has changed one since."""
    changes = list(files)
    present = {file.path: workspace.present(file.path, access) for file in changes}
    texts = {path: file.whole if file else None for path, file in present.items()}
    for each in changes:
        try:
            texts[each.path] = reverted_text(each.before, each.after, texts[each.path])
        except EditError as exc:
            raise EditError(f"{each.path}: {exc}") from exc
    for path, text in texts.items():
        file = present[path]
        if text is not None:
            workspace.write(path, text, access, file)
        elif file is not None:
            workspace.delete(path, access, file)
