"""The search for keys that is made after each test finds those that are there."""

import base64
import subprocess
from pathlib import Path

import pytest

from tests.leak_search import CONFIG, KEYS, leaks_in_homes

KEY = KEYS[0].encode()


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a home that the search after this test leaves out."""
    folder = tmp_path_factory.mktemp("home")
    (folder / CONFIG).write_bytes(KEY)
    return folder


@pytest.mark.parametrize("content", [KEY, b"\0" * 100_000 + KEY, base64.b64encode(b"u:" + KEY)])
def test_a_key_in_a_file_is_found(home: Path, content: bytes) -> None:
    """Plain, behind other bytes, and in base64; the configuration is exempt."""
    assert leaks_in_homes(home) == []
    (home / "state.db").write_bytes(content)
    assert any(leak.startswith("state.db") for leak in leaks_in_homes(home))


def test_a_key_in_a_version_is_found(home: Path) -> None:
    """Objects of git are compressed: they are searched unpacked."""
    git_dir = home / "history.git"
    subprocess.run(["git", "init", "-q", "--bare", str(git_dir)], check=True)
    assert leaks_in_homes(home) == []
    subprocess.run(["git", "--git-dir", str(git_dir), "hash-object", "-w", "--stdin"], input=KEY * 50, check=True)
    assert any("history.git" in leak for leak in leaks_in_homes(home))
