"""Locks of agents' workspaces: one gateway at a time works in one, whichever homes name it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from gateway.config import Config
from gateway.errors import StoreError, WorkspaceLockedError
from gateway.home import FOLDER_MODE, Home, holder_in
from workspaces.folder_lock import FolderLockedError, folder_lock, is_locked


def workspaces_of(home: Home, config: Config) -> dict[str, Path]:
    """Return the folder of each agent's workspace."""
    return {name: agent.workspace or home.agent(name).workspace for name, agent in config.agents.items()}


@contextmanager
def workspace_locks(home: Home, workspaces: Mapping[str, Path], *, create: bool = False) -> Iterator[None]:
    """Keep the gateways of other homes out of these *workspaces*, by agent, while the block runs.

    Missing folders are created with *create*, else left out. A folder is refused that lies in a locked one, or
    contains one. Raises WorkspaceLockedError and StoreError, before any write but those folders.
    """
    with ExitStack() as stack:
        found = {agent: _create_folder(folder) if create else folder for agent, folder in workspaces.items()}
        there = {agent: folder.resolve() for agent, folder in found.items() if folder.is_dir()}
        for agent, folder in there.items():
            _take(stack, home, agent, folder)
        for folder in there.values():
            _name_holder(stack, home, folder)
        yield


@contextmanager
def agent_lock(home: Home, agent: str) -> Iterator[None]:
    """Keep other gateways of a cluster out of the folder of *agent* while the block runs; not out of a workspace
    elsewhere.

    Raises WorkspaceLockedError, and OSError for a folder that cannot be created or locked.
    """
    root = home.agent(agent).root
    root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(folder_lock(root))
        except FolderLockedError as exc:
            raise _locked_error(agent, home.agent(agent).workspace, root) from exc
        yield


def _take(stack: ExitStack, home: Home, agent: str, workspace: Path) -> None:
    """Lock *workspace*, then look for overlaps: of two that overlap and begin at once, at least one sees the other."""
    try:
        stack.enter_context(folder_lock(workspace))
    except FolderLockedError as exc:
        raise _locked_error(agent, workspace, workspace) from exc
    except OSError as exc:
        raise StoreError(f"the workspace {workspace} of agent {agent} cannot be locked: {exc.strerror}") from exc
    for place in (*_above(home, workspace), *_folders_below(workspace)):
        if is_locked(place):
            raise _locked_error(agent, workspace, place)


def _above(home: Home, workspace: Path) -> Iterator[Path]:
    """Yield the folders that *workspace* lies in, up to the home's own."""
    agents, own = home.agents.resolve(), home.path.resolve()
    for folder in workspace.parents:
        if folder == own:
            return
        yield folder
        if folder == agents:
            return


def _folders_below(workspace: Path) -> Iterator[Path]:
    for top, folders, _ in os.walk(workspace):
        yield from (Path(top, name) for name in folders)


def _create_folder(folder: Path) -> Path:
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as exc:
        raise StoreError(f"the workspace {folder} cannot be created: {exc.strerror}") from exc
    return folder


def _locked_error(agent: str, workspace: Path, place: Path) -> WorkspaceLockedError:
    where = "is"
    if workspace.is_relative_to(place) and workspace != place:
        where = f"lies in {place}, which is"
    elif place != workspace:
        where = f"contains {place}, which is"
    mend = f"stop that one first, or set agents.{agent}.workspace to another folder"
    return WorkspaceLockedError(
        f"the workspace {workspace} of agent {agent} {where} in use by {_holder_of(place)}; {mend}"
    )


# --- the holder's name


def _holder_file(folder: Path) -> Path:
    """Return a file beside the folder, as it is not part of the agent's files."""
    return folder.with_name(f"{folder.name}.holder")


def _holder_of(place: Path) -> str:
    """Return the holder of *place*: the home that contains it, if no other is recorded beside it."""
    if beside := holder_in(_holder_file(place)):
        return beside
    for folder in (place, *place.parents):
        if owner := holder_in(Home(folder).holder_file):
            return f"{owner} of the home {folder}"
    return f"another process (fuser -v {place} names it)"


def _name_holder(stack: ExitStack, home: Home, folder: Path) -> None:
    """Record the holder of *folder*, unless that is its home; if it cannot be written, refusals name no holder."""
    file = _holder_file(folder)
    if folder.is_relative_to(home.path.resolve()):
        _remove(file)  # left by a killed gateway of another home
        return
    with suppress(OSError):
        home.write(file, f"process {os.getpid()} of the home {home.path}")
        stack.callback(_remove, file)


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink(missing_ok=True)
