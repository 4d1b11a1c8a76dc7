"""The templates with which a new workspace begins."""

from collections.abc import Iterable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from workspaces.paths import fold

_FOLDER = resources.files("workspaces") / "templates"


def starting_text(name: str) -> str:
    """Return the text with which the file *name* begins in a new workspace."""
    return (_FOLDER / name).read_text("utf-8")


def is_complete(folder: Path) -> bool:
    """Tell whether `Workspace.create` would add no file to *folder*; it is not opened for that."""
    try:
        return not missing_files([each.name for each in folder.iterdir()])
    except OSError:
        return False


def missing_files(names: Iterable[str]) -> list[Traversable]:
    """Return the templates that a folder with files of these *names* lacks."""
    present = {fold(name) for name in names}
    return [
        each
        for each in _templates()
        if fold(each.name) not in present and not (present and each.name == "BOOTSTRAP.md")
    ]


@cache
def _templates() -> list[Traversable]:
    return sorted((each for each in _FOLDER.iterdir() if each.name.endswith(".md")), key=lambda each: each.name)
