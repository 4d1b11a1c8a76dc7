"""Undoing the changes of one turn: in all of its files, or in none."""

from collections.abc import Iterable

from workspaces.access import Access
from workspaces.errors import EditError
from workspaces.history.turn_changes import FileWriting
from workspaces.revert import reverted_text
from workspaces.workspace import Workspace


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
