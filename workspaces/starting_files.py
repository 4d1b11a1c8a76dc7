"""The templates with which a new workspace begins."""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from workspaces.paths import fold

_FOLDER = resources.files("workspaces") / "templates"
_FORMS = frozenset({"TOOLS.md", "IDENTITY.md", "USER.md", "MEMORY.md"})
"""Templates that only ask for something: headings, labels, a hint."""
_EARLIER = frozenset(
    {
        *("37b9360fd5307f3d", "e6d7ce446ed85b20", "6cf3cd97807f8f96", "6811ea9d9141216f"),  # AGENTS.md
        "8211ad835341239f",  # the same
        *("33d7bfec7471b09d", "ed4c838d7289942e", "3d224f6d3022e7d1"),  # SOUL.md
        *("b6ff857161d305c8", "3d9a942c4e52990b", "9b95a74f595abe10"),  # TOOLS.md, USER.md, HEARTBEAT.md
    }
)
"""Digests of templates with which older workspaces began."""


@cache
def starting_text(name: str) -> str:
    """Return the text with which the file *name* begins in a new workspace."""
    return (_FOLDER / name).read_text("utf-8")


def is_blank(name: str, text: str) -> bool:
    """Tell whether *text*, of the file *name*, is a form without an entry: each line stands in its template too."""
    return name in _FORMS and _lines(text) <= _lines(starting_text(name))


def is_untouched(name: str, text: str) -> bool:
    """Tell whether *text* is the template of the file *name*, or an earlier one."""
    if name not in {each.name for each in _templates()}:
        return False
    return text == starting_text(name) or hashlib.sha256(text.encode()).hexdigest()[:16] in _EARLIER


def _lines(text: str) -> frozenset[str]:
    return frozenset(line.strip() for line in text.splitlines()) - {""}


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
