"""Undoing changes of files: in all of them, or in none."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from workspaces.access import Access
from workspaces.errors import EditError
from workspaces.history.turn_changes import FileWriting
from workspaces.revert import reverted_text
from workspaces.workspace import TextFile, Workspace


def present_files(
    workspace: Workspace, access: Access, changes: Sequence[FileWriting]
) -> dict[PurePosixPath, TextFile | None]:
    """Return the files of *changes* as they are now."""
    return {each.path: workspace.present(each.path, access) for each in changes}


def without_changes(
    changes: Sequence[FileWriting], present: Mapping[PurePosixPath, TextFile | None]
) -> list[FileWriting]:
    """Return each file of *changes*, newest first, as it is at *present* and without them; later changes stay.

    Raises EditError for a file in which a change's own lines have changed since.
    """
    now = {path: file.whole if file else None for path, file in present.items()}
    texts = dict(now)
    for each in changes:
        try:
            texts[each.path] = reverted_text(each.before, each.after, texts[each.path])
        except EditError as exc:
            raise EditError(f"{each.path}: {exc}") from exc
    return [FileWriting(path, now[path], text) for path, text in texts.items()]


def undo_files(workspace: Workspace, access: Access, changes: Sequence[FileWriting]) -> None:
    """Revert *changes*, all of them or none. Raises EditError if somebody has changed a file since."""
    present = present_files(workspace, access, changes)
    write_files(workspace, access, without_changes(changes, present), present)


def write_files(
    workspace: Workspace,
    access: Access,
    files: Sequence[FileWriting],
    present: Mapping[PurePosixPath, TextFile | None],
) -> None:
    """Write each of *files* over what is *present*, or remove it."""
    for each in files:
        file = present[each.path]
        if each.after is not None:
            workspace.write(each.path, each.after, access, file)
        elif file is not None:
            workspace.delete(each.path, access, file)
