"""The home of an agent with a history, and queries to git itself about its content."""

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from tests.workspaces.turns import AGENT
from workspaces.files import Folder
from workspaces.history import History, Origin
from workspaces.workspace import Workspace

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
ORIGIN = Origin("main", "m-1", "t-1")


class Clock:
    """Tells a time that is a minute later at every look."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


class Home:
    """An agent's folder with its workspace, opened anew for each one, and its history."""

    def __init__(self, root: Path) -> None:
        (root / "workspace").mkdir(parents=True, exist_ok=True)
        self.root = root
        self.git_dir = root / "history.git"
        self.clock = Clock()
        self.workspace = Workspace(Folder(root / "workspace"), AGENT)

    def open(self) -> History:
        return History.open(self.git_dir, self.workspace, self.clock)

    def put(self, path: str, text: str | bytes) -> PurePosixPath:
        """Write a file as the owner's editor does."""
        place = self.root / "workspace" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return PurePosixPath(path)

    def remove(self, path: str) -> PurePosixPath:
        (self.root / "workspace" / path).unlink()
        return PurePosixPath(path)

    def texts(self) -> dict[str, bytes]:
        place = self.root / "workspace"
        return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}

    def git(self, *arguments: str, git_dir: Path | None = None) -> str:
        """Ask git's own program."""
        git = shutil.which("git")
        assert git is not None
        command = [git, "--git-dir", str(git_dir or self.git_dir), *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode()

    def commits(self) -> list[str]:
        """Return the subjects of all commits, oldest first."""
        return self.git("log", "--reverse", "--format=%s", "main").splitlines()

    def tree(self) -> set[str]:
        """Return the names that the newest commit holds."""
        return set(filter(None, self.git("ls-tree", "-r", "-z", "--name-only", "main").split("\0")))

    def is_sound(self) -> bool:
        """Say whether git finds nothing to complain of."""
        self.git("fsck", "--full", "--strict")
        return True


def every_object(git_dir: Path) -> str:
    """Return the contents of all objects, also of those that nothing leads to any more, as git's program tells."""
    git = shutil.which("git")
    assert git is not None
    command = [git, "--git-dir", str(git_dir), "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode(errors="replace")
