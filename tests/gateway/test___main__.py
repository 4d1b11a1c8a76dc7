import gc
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from gateway.__main__ import GARBAGE, main
from gateway.home import Home
from tests.fakes.patience import PATIENCE_S

PROGRAM = [sys.executable, "-m", "gateway"]
pytestmark = pytest.mark.usefixtures("real_start")
ENVIRON = {"PATH": os.environ["PATH"], "TZ": "Europe/Berlin"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def call(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a person would, to its end."""
    argv = [*PROGRAM, *words, "--home", str(home.path)]
    return subprocess.run(argv, env=ENVIRON, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@contextmanager
def up(home: Home) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the real gateway; give the process, once it has said so, and its address."""
    argv = [*PROGRAM, "up", "--home", str(home.path)]
    with subprocess.Popen(argv, env=ENVIRON, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+$", first)
            assert found is not None, first
            yield process, found[0]
        finally:
            process.kill()


def test_a_fresh_machine_is_two_commands_from_an_answer(home: Home) -> None:
    """`up` makes the home and prints its address; a chat is answered and found again; SIGTERM ends it with 0."""
    with up(home) as (process, address):
        assert httpx.get(f"{address}/healthz", trust_env=False, timeout=PATIENCE_S).json() == {"alive": True}
        said = call(home, "chat", "--message", "remember that the staging database moved to port 5433")
        assert (said.returncode, said.stderr) == (0, "")
        assert "memory/" in said.stdout
        found = json.loads(call(home, "memory", "search", "staging database port", "--json").stdout)
        assert "5433" in found["hits"][0]["snippet"]
        assert httpx.get(f"{address}/readyz", trust_env=False, timeout=PATIENCE_S).status_code == 200
        assert json.loads(call(home, "status", "--json").stdout)["running"]
        assert call(home, "up").returncode == 3
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    assert home.control() is None


def test_a_killed_gateway_leaves_a_home_that_works(home: Home) -> None:
    """kill -9 leaves an announcement and no lock; the next command answers by itself."""
    with up(home) as (process, _):
        process.kill()
        process.wait(PATIENCE_S)
    assert home.control() is not None
    answered = call(home, "chat", "--message", "hello", "--json")
    assert (answered.returncode, answered.stderr) == (0, "")
    assert json.loads(answered.stdout)["agent"] == "main"
    state = json.loads(call(home, "status", "--json").stdout)
    assert (state["running"], state["time_zone"]) == (False, "Europe/Berlin")


def test_the_program_looks_for_garbage_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """From its first import on; Python's own thresholds are lower."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    monkeypatch.setattr(sys, "argv", ["strandline", "--version"])
    try:
        with pytest.raises(SystemExit):
            main()
        assert gc.get_threshold() == GARBAGE > (700, 10, 10)
    finally:
        gc.set_threshold(*before)
