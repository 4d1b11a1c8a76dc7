"""A workspace stays within its quotas, and each audience is told of its own alone."""

from pathlib import Path, PurePosixPath

import pytest

from tests.workspaces.turns import AGENT, GROUP, MAIN, OTHER, OWN
from workspaces.errors import TooLargeError, WorkspaceError
from workspaces.files import FileCaps, Folder
from workspaces.usage import COUNT_EVERY_S, Quotas, StorageUsage
from workspaces.workspace import Workspace

SMALL = Quotas(1, 5, 1, 3)
HALF = "x" * 524_288


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return Workspace(Folder(home, FileCaps(quotas=SMALL)), AGENT)


def put(home: Path, path: str, size: int) -> None:
    """Put a file there behind the gateway's back."""
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_bytes(b"x" * size)


def test_what_would_pass_the_quota_is_refused_with_the_settings_name(workspace: Workspace, home: Path) -> None:
    """Bytes and files are counted apart; nothing is written, and nothing that does not grow is refused."""
    file = workspace.write("a.md", HALF, MAIN, None)
    workspace.write("b.md", HALF[:-10], MAIN, None)
    for attempt in (
        lambda: workspace.write("c.md", "more than ten", MAIN, None),
        lambda: workspace.write("a.md", HALF + "more than ten", MAIN, file),
        lambda: workspace.append("b.md", "- more than ten\n", "", MAIN),
    ):
        with pytest.raises(TooLargeError, match=r"limit here is 1 MB.* workspace_mb in \[limits\]"):
            attempt()
    assert sorted(path.name for path in home.iterdir() if path.suffix == ".md") == ["a.md", "b.md"]
    file = workspace.write("a.md", "small", MAIN, file)
    for name in "cde":
        workspace.append(f"{name}.md", "- x\n", "", MAIN)
    with pytest.raises(TooLargeError, match=r"limit here is 5 files.* workspace_files in \[limits\]"):
        workspace.write("f.md", "", MAIN, None)
    workspace.write("a.md", "still fine", MAIN, file)
    workspace.delete("b.md", MAIN, workspace.read("b.md", MAIN))
    workspace.write("f.md", "now", MAIN, None)


def test_a_full_workspace_shows_in_no_other_chat(workspace: Workspace, home: Path) -> None:
    """However much private notes or another group's hold, a group's own quota alone decides what it may write."""
    for number in range(9):
        put(home, f"memory/{number}.md", 600_000)
        put(home, f"{OTHER}/{number}.md", 600_000)
    for name in "abc":
        workspace.append(f"{OWN}/{name}.md", "- x\n", "", GROUP)
    with pytest.raises(TooLargeError, match=r"limit here is 3 files.*shared_files"):
        workspace.append(f"{OWN}/d.md", "- x\n", "", GROUP)
    with pytest.raises(TooLargeError, match="workspace_files"):
        workspace.write("new.md", "x", MAIN, None)


def test_room_that_the_owner_made_is_found_before_anything_is_refused(home: Path) -> None:
    """A refusal rests on a count of a moment ago; what others add is found in time, without a walk a write."""
    now, walks = 0.0, 0
    folder = Folder(home)

    def walk() -> object:
        nonlocal walks
        walks += 1
        return folder.walk()

    usage = StorageUsage(walk, SMALL, lambda: now)  # type: ignore[arg-type]
    note = PurePosixPath("note.md")
    for _ in range(1_000):
        usage.refuse_over(note, 10, present=None)
    assert walks == 1
    put(home, "big.md", 1_048_576)
    usage.refuse_over(note, 10, present=None)
    now = COUNT_EVERY_S
    with pytest.raises(TooLargeError):
        usage.refuse_over(note, 10, present=None)
    (home / "big.md").unlink()
    now += 2
    usage.refuse_over(note, 10, present=None)
    assert walks == 3


def test_what_is_counted_is_what_is_there(workspace: Workspace, home: Path) -> None:
    """After any writes the count kept in step is the one that a walk gives."""
    file = workspace.write("a.md", "one", MAIN, None)
    workspace.append("a.md", "- two\n", "", MAIN)
    workspace.append(f"{OWN}/a.md", "- two\n", "# day\n", GROUP)
    file = workspace.write("b.md", "three", MAIN, None)
    workspace.write("b.md", "3", MAIN, file)
    workspace.delete("a.md", MAIN, workspace.read("a.md", MAIN))
    with pytest.raises(WorkspaceError):
        workspace.write("b.md", "four", MAIN, file)
    kept = workspace.folder.usage
    counted = StorageUsage(workspace.folder.walk, SMALL)
    counted._count(0)
    assert (+kept._bytes, +kept._files) == (+counted._bytes, +counted._files)
