"""The event `agent:bootstrap`: files that are about to go into a prompt."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.hooks.event import HookEvent
from workspaces.access import SessionType
from workspaces.bootstrap import BootstrapFile
from workspaces.errors import WorkspaceError
from workspaces.file_slot import Identity
from workspaces.paths import clean_path
from workspaces.prompt_limits import BootstrapRole

_SHAPE = (("name", str), ("text", str), ("part", BootstrapRole), ("identity", Identity | None), ("is_cut", bool))
_MOST_FILES = 50
_MOST_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The files that are about to go into a prompt, whole and in order.

    A handler may add, replace and remove some. Afterwards the turn's access decides again which are shown, by name and
    by the file on disk that a text was read from: a text that a handler supplies itself is its own, a file is not.
    """

    agent: str
    session_type: SessionType
    files: tuple[BootstrapFile, ...]
    read: Callable[[str], BootstrapFile | None]
    """Reads another file of the workspace, within the turn's access; `None` for an absent or forbidden one."""


def _checked_files(before: Bootstrap, after: object) -> Bootstrap:
    if not isinstance(after, Bootstrap):
        raise ValueError(f"returned {type(after).__name__}, not Bootstrap")
    if (after.agent, after.session_type, after.read) != (before.agent, before.session_type, before.read):
        raise ValueError("changed more than the files")
    files: object = after.files  # a handler's author may not use a type checker
    if not isinstance(files, tuple) or len(files) > _MOST_FILES:
        raise ValueError(f"files is a tuple of at most {_MOST_FILES}")
    names = [_checked_name(file) for file in files]
    if len(set(names)) < len(names):
        raise ValueError("two files have the same name; replace the first one")
    return after


def _checked_name(file: object) -> str:
    if not isinstance(file, BootstrapFile):
        raise ValueError(f"files holds {type(file).__name__}, not BootstrapFile")
    for name, kind in _SHAPE:
        if not isinstance(getattr(file, name), kind):
            raise ValueError(f"a file's {name} is of a wrong type")
    if len(file.text) > _MOST_CHARS:
        raise ValueError(f"a file's text has at most {_MOST_CHARS:,} characters")
    try:
        path = clean_path(file.name)
    except WorkspaceError as exc:
        raise ValueError(str(exc)) from exc
    if str(path) != file.name:
        raise ValueError(f"{file.name!r} is not a plain path")
    return file.name


def no_file(_: str) -> BootstrapFile | None:
    """Read nothing; serves as the reader of a sample."""
    return None


_SAMPLE = Bootstrap("main", SessionType.MAIN, (BootstrapFile("AGENTS.md", "Be brief."),), no_file)

AGENT_BOOTSTRAP: HookEvent[Bootstrap] = HookEvent(
    "agent:bootstrap", _checked_files, decides=False, sample=_SAMPLE, for_programs=False
)
"""Before a prompt is built. A handler that fails changes nothing: the access filter follows in any case."""
