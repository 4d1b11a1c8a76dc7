import contextlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import HomeLockedError, StoreError
from gateway.home import ControlFile, Home

CONTROL = ControlFile("http://127.0.0.1:8123", "canary-token", os.getpid())

OWN_AND_WAIT = """
import sys
from pathlib import Path
from gateway.home import Home
with Home(Path(sys.argv[1])).lock("a test"):
    print("locked", flush=True)
    sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def own_from_another_process(home: Home) -> subprocess.Popen[str]:
    other = subprocess.Popen(
        [sys.executable, "-c", OWN_AND_WAIT, str(home.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "locked\n"
    return other


def test_everything_lies_where_the_design_says(tmp_path: Path) -> None:
    """The paths are promises: operators back them up and other programs read them."""
    home, agent = Home(tmp_path), Home(tmp_path).agent("main")
    relative = [
        str(path.relative_to(tmp_path))
        for path in (home.config_file, home.state_db, home.control_file, agent.workspace, agent.history)
    ]
    assert relative == [
        "config.toml",
        "state.db",
        "run/control.json",
        "agents/main/workspace",
        "agents/main/history.git",
    ]
    assert [agent.sessions.name, agent.archive.name, agent.index.name] == ["sessions", "archive", "index"]


def test_a_home_is_closed_to_other_users(tmp_path: Path) -> None:
    """Folders are 0700 and files 0600, whatever the umask is."""
    home = Home(tmp_path / "deep" / "home")
    before = os.umask(0)
    try:
        home.create()
        home.write(home.config_file, "[owner]\n")
        with home.lock("a test"), home.announced(CONTROL):
            assert mode(home.control_file) == 0o600
            assert mode(home.path / "run" / "holder") == 0o600
    finally:
        os.umask(before)
    assert [mode(path) for path in (home.path, home.agents, home.config_file)] == [0o700, 0o700, 0o600]


def test_a_home_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    """A file in the way is one sentence."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be created: Not a directory"):
        Home(tmp_path / "file" / "home").create()


def test_a_second_owner_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    """The refusal names the process and its address, and leaves what the owner announced."""
    home = Home(tmp_path)
    with own_from_another_process(home) as other:
        home.write(home.control_file, json.dumps({"address": "http://127.0.0.1:8123", "token": "t", "pid": other.pid}))
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        refused = rf"process {other.pid} \(a test\) at http://127\.0\.0\.1:8123"
        with pytest.raises(HomeLockedError, match=refused), home.lock("another"):
            pytest.fail("both own the home")
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
        other.communicate("")


def test_what_a_killed_gateway_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    """kill -9 frees the lock and leaves control.json: whoever owns the home next removes it."""
    home = Home(tmp_path)
    with own_from_another_process(home) as other:
        home.write(home.control_file, json.dumps({"address": "http://127.0.0.1:1", "token": "t", "pid": other.pid}))
        other.kill()
    assert home.control() is not None
    with home.lock("a test"):
        assert home.control() is None


def test_control_is_announced_only_while_it_is_true(tmp_path: Path) -> None:
    """The file appears whole and goes with the block, a failing one too."""
    home = Home(tmp_path)
    with contextlib.suppress(RuntimeError), home.lock("a test"), home.announced(CONTROL):
        assert home.control() == CONTROL
        raise RuntimeError("stop")
    assert home.control() is None
    assert not list((tmp_path / "run").glob("*holder*"))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"address": "x"}', '{"address": 1, "token": 2, "pid": "x"}'])
def test_a_broken_control_file_is_no_control_file(tmp_path: Path, text: str) -> None:
    """Whatever stands in it, a command goes on as if there were none."""
    home = Home(tmp_path)
    home.create()
    home.write(home.control_file, text)
    assert home.control() is None


def test_the_token_is_not_shown(tmp_path: Path) -> None:
    """A control file in a log or a traceback keeps its secret."""
    assert "canary" not in repr(CONTROL)
