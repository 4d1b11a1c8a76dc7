"""The files of a home that belong in a backup, and their order.

A history is read before its files: newer files are recorded at the next start, while older ones would look like changes
reverted by the owner.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from msgspec import Struct

from gateway.backup.members import CONFIG, OUTSIDE
from gateway.config import Config
from gateway.home import Home
from workspaces.access import AgentId

_NOT_OF_AN_AGENT = (
    *("index", "incoming", "sessions", "bundles", "workspace.holder", "workspace.lock"),
    *("history.git", "history.git.lock", "history.git.lines", "history.git.origins"),
)
"""Rebuilt, read separately, belonging to a process, or copies of other files."""


class BackupPart(Struct, frozen=True):
    """Files read together."""

    name: str
    """Name of the folder or file in the backup."""
    root: Path
    without: frozenset[Path] = frozenset()
    lock: Callable[[], AbstractContextManager[None]] = nullcontext
    """Held while it is read."""

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield each folder and regular file by its name in the backup, folders first; links are left out."""
        if self.root in self.without or not self.root.exists():
            return
        if self.root.is_file():
            yield self.name, self.root
            return
        for top, folders, files in os.walk(self.root):
            here = Path(top)
            folders[:] = sorted(name for name in folders if here / name not in self.without)
            prefix = Path(self.name) / here.relative_to(self.root)
            yield prefix.as_posix(), here
            yield from (
                ((prefix / name).as_posix(), here / name)
                for name in sorted(files)
                if here / name not in self.without and _is_regular(here / name)
            )


def parts_of(home: Home, config: Config) -> list[BackupPart]:
    """Return the parts of *home* that belong in a backup, except for the state and the transcripts."""
    secrets = frozenset(source.file for source in config.secret_sources() if source.file is not None)
    agents = sorted(path for path in _folders(home.agents))
    removed = frozenset(path / "index" for path in _folders(home.removed))
    return [
        BackupPart(CONFIG, home.config_file),
        *(_history(path) for path in agents),
        BackupPart("hooks", home.hooks, secrets),
        BackupPart("removed", home.removed, secrets | removed),
        *(
            BackupPart(f"agents/{path.name}", path, secrets | {path / name for name in _NOT_OF_AN_AGENT})
            for path in agents
        ),
        *(BackupPart(f"{OUTSIDE}/{agent}", path, secrets) for agent, path in outside_workspaces(home, config).items()),
    ]


def outside_workspaces(home: Home, config: Config) -> dict[str, Path]:
    """Return the workspaces that the configuration places outside of the home's agents."""
    named = {agent: settings.workspace for agent, settings in config.agents.items()}
    places = {agent: Path(os.path.normpath(path)) for agent, path in named.items() if path is not None}
    return {agent: path for agent, path in places.items() if home.agents not in path.parents}


def _history(agent: Path) -> BackupPart:
    path = agent / "history.git"
    return BackupPart(f"agents/{agent.name}/history.git", path, lock=partial(_locked, path, AgentId(agent.name)))


def _locked(path: Path, agent: AgentId) -> AbstractContextManager[None]:
    from workspaces.history.repository import Repository

    return Repository(path, agent).locked() if path.exists() else nullcontext()


def _folders(place: Path) -> list[Path]:
    return [path for path in place.iterdir() if path.is_dir() and not path.is_symlink()] if place.is_dir() else []


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:  # a temporary file that was renamed or deleted since its folder was listed
        return False
