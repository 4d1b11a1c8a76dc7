"""A lock that hangs on a folder holds for every name of it, and ends with its process."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from workspaces.folder_lock import PATIENCE_S, FolderLockedError, folder_lock, is_locked

LOCK_AND_WAIT = """
import subprocess, sys
from pathlib import Path
from workspaces.folder_lock import folder_lock
with folder_lock(Path(sys.argv[1])):
    child = subprocess.Popen(["sleep", "600"])
    print(child.pid, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_locked_once_by_all_its_names(tmp_path: Path) -> None:
    """A link, a detour and a new name lead to the same lock; nothing is written."""
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    with folder_lock(folder):
        for name in (folder, link, folder / ".." / "folder"):
            assert is_locked(name)
            with pytest.raises(FolderLockedError), folder_lock(name):
                pytest.fail("two have locked it")
        moved = folder.rename(tmp_path / "moved")
        assert is_locked(moved)
        assert list(moved.iterdir()) == []
    assert not is_locked(moved)
    with folder_lock(moved):
        pass


def test_a_killed_process_frees_its_folder_whatever_it_had_begun(tmp_path: Path) -> None:
    """A program that it started lives on and has inherited nothing."""
    other = subprocess.Popen(
        [sys.executable, "-c", LOCK_AND_WAIT, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        child = int(other.stdout.readline())
        try:
            assert is_locked(tmp_path)
            other.kill()
            other.wait()
            assert not is_locked(tmp_path)
        finally:
            os.kill(child, 9)


def test_to_ask_locks_nothing(tmp_path: Path) -> None:
    """Neither a question nor a refusal is left behind, and of what is no folder nobody can say anything."""
    (tmp_path / "file").touch()
    assert not is_locked(tmp_path / "file")
    assert not is_locked(tmp_path / "missing")
    handles = len(list(Path("/proc/self/fd").iterdir()))
    assert not is_locked(tmp_path)
    with folder_lock(tmp_path):
        assert is_locked(tmp_path)
    assert len(list(Path("/proc/self/fd").iterdir())) == handles
    with pytest.raises(NotADirectoryError), folder_lock(tmp_path / "file"):
        pytest.fail("a file was locked")


def test_a_lock_that_is_about_to_go_is_waited_for(tmp_path: Path) -> None:
    """A child of a killed process may hold its lock for a moment; who starts the next one is not turned away."""
    is_held = threading.Event()

    def hold() -> None:
        with folder_lock(tmp_path):
            is_held.set()
            time.sleep(PATIENCE_S / 5)

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    with folder_lock(tmp_path):
        pass
    holder.join()
