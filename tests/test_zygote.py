"""A program that a test has forked must not be told from one that it has started."""

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import zygote
from tests.fakes.patience import PATIENCE_S
from tests.zygote import FORKED, ROOT, Zygote, forked_programs, started_programs

FACTS = [sys.executable, "-m", "tests.fakes.process_facts"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs are forked on Linux alone")


@pytest.fixture(scope="module")
def forking() -> Iterator[list[int | None]]:
    """Fork from the first program on, which the zygote does for them all; gives the ids of those forked."""
    pids: list[int | None] = []
    usual = Zygote.fork

    def fork(by: Zygote, order: zygote.Order, streams: list[int]) -> int | None:
        deadline = time.monotonic() + PATIENCE_S
        pid = usual(by, order, streams)
        while pid is None and by.fits(order["environ"]) and time.monotonic() < deadline:
            time.sleep(0.01)
            pid = usual(by, order, streams)
        pids.append(pid)
        return pid

    with pytest.MonkeyPatch.context() as patch, forked_programs():
        patch.setattr(zygote, "PRELOADED", ())
        patch.setattr(Zygote, "fork", fork)
        yield pids


@pytest.fixture
def forked(forking: list[int | None]) -> list[int | None]:
    """The ids of the programs that this test has forked."""
    forking.clear()
    return forking


def facts(status: int = 0, **options: Any) -> dict[str, Any]:
    """Return what a program says of itself, and the test of it."""
    ended = subprocess.run(
        [*FACTS, "zwei Wörter", str(status)], input="a line\n", capture_output=True, text=True, check=False, **options
    )
    return {"status": ended.returncode, "stderr": ended.stderr, **json.loads(ended.stdout)}


@pytest.mark.parametrize(
    "options",
    [
        {"cwd": ROOT, "env": {**os.environ}},
        {"cwd": "/", "env": {"PYTHONPATH": str(ROOT), "TZ": "Asia/Tokyo", "WORD": "schön"}},
        {"cwd": ROOT, "start_new_session": True, "env": {**os.environ, "PYTHONUNBUFFERED": "1"}},
        {"cwd": ROOT, "env": {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}},
    ],
    ids=["plain", "another folder and environment", "a session of its own", "nothing set"],
)
def test_a_forked_program_is_like_one_that_was_started(options: dict[str, Any], forked: list[int | None]) -> None:
    """Arguments, environment, folder, parent, session, open files, signals, streams and status are the same."""
    with started_programs():
        started = facts(3, **options)
    assert facts(3, **options) == started
    assert started["status"] == 3
    assert len(forked) == 1
    assert forked[0] is not None


def test_a_text_that_may_be_forked_is_run_as_the_main_module(forked: list[int | None]) -> None:
    """It has the arguments and the path of one that was started, and names of its own that take nobody else's place."""
    text = "import sys\ndef main(): sys.exit(3)\n_end = None\nprint(sys.argv, sys.path, __name__)\nmain()"
    command = [sys.executable, "-c", FORKED + text, "word"]
    with started_programs():
        started = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == (started.stdout, started.stderr, 3)
    assert len(forked) == 1
    assert forked[0] is not None


async def test_a_forked_program_is_killed_and_awaited(forked: list[int | None]) -> None:
    """Its id is the one that signals reach, and its end is noticed with the signal that caused it."""
    process = await asyncio.create_subprocess_exec(*FACTS, "0", cwd=ROOT, stdin=asyncio.subprocess.PIPE)
    assert forked == [process.pid]
    process.send_signal(signal.SIGKILL)
    async with asyncio.timeout(PATIENCE_S):
        assert await process.wait() == -signal.SIGKILL


def test_a_forked_program_has_the_tests_terminal(forked: list[int | None]) -> None:
    """It sees a terminal where it is given one."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen([*FACTS, "0"], cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs)
        os.write(ours, b"a line\n")
        said = b""
        while b"aside" not in said:
            said += os.read(ours, 10_000)
        assert process.wait(PATIENCE_S) == 0
    finally:
        os.close(ours)
        os.close(theirs)
    assert forked == [process.pid]
    lines = [line for line in said.decode().splitlines() if line.startswith("{")]
    assert [each[4] for each in json.loads(lines[0])["streams"]] == [True] * 3


def test_orphans_of_a_forked_program_are_not_the_tests(forked: list[int | None], tmp_path: Path) -> None:
    """Only the program itself is adopted: its own children go to the system when it ends, as a started one's do."""
    assert facts(0, cwd=ROOT)["status"] == 0
    assert None not in forked
    script = "import os, time; p = os.fork(); print(p, flush=True) if p else (os.close(1), time.sleep(60))"
    child = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    try:
        assert f"PPid:\t{os.getpid()}\n" not in Path(f"/proc/{int(child.stdout)}/status").read_text("utf-8")
    finally:
        os.kill(int(child.stdout), signal.SIGKILL)


STARTS_ANOTHER = """
import os, subprocess, sys
from tests import zygote
if "forks" in sys.argv:
    subprocess.Popen._execute_child = zygote.START = None
    zygote.fork_own_programs()
words = [sys.executable, "-m", "tests.fakes.process_facts", "0"]
print(subprocess.run(words, input=b"a line", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode(), end="")
print(os.getpid())
"""


def test_what_a_forked_program_starts_is_forked_too(forked: list[int | None]) -> None:
    """That one is its child, and like one that was started."""
    said = []
    for word in ("starts", "forks"):
        command = [sys.executable, "-c", FORKED + STARTS_ANOTHER, word]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        child, pid = ended.stdout.splitlines()
        said.append(json.loads(child))
        assert said[-1].pop("parent") == int(pid)
    assert said[0] == said[1]
    assert None not in forked


def test_a_killed_program_leaves_nobody_who_would_fork_for_it(forked: list[int | None]) -> None:
    """Its output ends with it, as nobody else holds it."""
    text = "import time\nfrom tests.zygote import fork_own_programs\nfork_own_programs([1])\nprint(1, flush=True)\n"
    command = [sys.executable, "-c", f"{FORKED}{text}time.sleep(60)"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        process.kill()
        assert process.stdout.read() == b""
        deadline = time.monotonic() + PATIENCE_S
        while _lives(process.pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert forked == [process.pid]


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    members = [each for each in Path("/proc").glob("[0-9]*/stat") if _group(each) == group]
    return bool(members)


def _group(stat: Path) -> int:
    """Return the group of a process that has not ended, 0 of one that has."""
    try:
        state, _, group = stat.read_text("utf-8").rpartition(")")[2].split()[:3]
    except OSError:
        return 0
    return 0 if state == "Z" else int(group)


@pytest.mark.parametrize(
    "options",
    [
        {"preexec_fn": lambda: None},
        {"close_fds": False},
        {"env": {**os.environ, "PYTHONHASHSEED": "7"}},
        {"env": {**os.environ, "PYTHONWARNINGS": "error"}},
        {"umask": 0o77},
    ],
    ids=["a function", "open files", "seed", "warnings", "mask"],
)
def test_an_unusual_program_is_started(options: dict[str, Any], forked: list[int | None]) -> None:
    """Whatever an interpreter takes up when it starts is not forked."""
    assert facts(0, cwd=ROOT, **options)["said"] == "a line\n"
    assert [pid for pid in forked if pid is not None] == []


def test_a_copy_of_the_program_is_started(forked: list[int | None], tmp_path: Path) -> None:
    """A folder with a `gateway` of its own gets that one and not ours."""
    (tmp_path / "gateway").mkdir()
    (tmp_path / "gateway" / "__init__.py").touch()
    (tmp_path / "gateway" / "__main__.py").write_text("print('another')\n")
    said = subprocess.run([sys.executable, "-m", "gateway"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout == "another\n"
    assert forked == []


def test_a_program_is_started_while_nobody_can_fork_it(
    forked: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its zygote a test starts its programs itself."""
    assert facts(0, cwd=ROOT)["status"] == 0
    monkeypatch.setattr(Zygote, "fork", lambda *_: None)
    assert facts(4, cwd=ROOT)["status"] == 4
