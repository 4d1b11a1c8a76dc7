"""A run that crashes or freezes leaves its stacks; one that is killed or stopped leaves nothing."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from gateway.runtime.crash_report import EARLIER, has_crashed
from tests.fakes.patience import PATIENCE_S

RUN = """
import asyncio, os, re, sys
from pathlib import Path
from gateway.runtime import crash_report
crash_report.FROZEN_S, crash_report.STEP_S = 0.5, 0.1

def freezes(): re.match(r"(a+)+$", "a" * 60 + "!")

async def main(path, what):
    async with crash_report.reporting(path):
        await asyncio.sleep(0)
        print("ready", flush=True)
        await asyncio.sleep(0.01)
        eval(what)
        await asyncio.sleep(0.5)
        print(path.stat().st_size, flush=True)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crash-report"


def begun(path: Path, what: str) -> "subprocess.Popen[str]":
    """Start a process that does *what* while it is reported on."""
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(path), what], cwd=root, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert "ready\n" in process.stdout
    return process


def test_a_crash_is_reported_with_its_stack(path: Path) -> None:
    """A fatal signal of the process's own making names the function that raised it."""
    with begun(path, "os.abort()") as process:
        assert process.wait() < 0
    assert has_crashed(path)
    assert "Fatal Python error: Aborted" in path.read_text()
    assert "in main" in path.read_text()


def test_a_freeze_that_a_kill_ends_is_reported(path: Path) -> None:
    """A pattern that holds the interpreter cannot keep the report from being written."""
    with begun(path, "freezes()") as process:
        until = time.monotonic() + PATIENCE_S
        while not has_crashed(path) and time.monotonic() < until:
            time.sleep(0.05)
        process.kill()
    assert "in freezes" in path.read_text()


@pytest.mark.parametrize("what", ["os.kill(os.getpid(), 9)", "None"])
def test_a_kill_or_an_orderly_stop_leaves_no_report(path: Path, what: str) -> None:
    """Neither says anything about the work in progress."""
    with begun(path, what) as process:
        process.wait()
    assert not has_crashed(path)


def test_a_freeze_that_ended_is_no_crash(path: Path) -> None:
    """Once the event loop runs again, the report is taken back."""
    with begun(path, "__import__('time').sleep(1)") as process:
        assert process.stdout is not None
        last = process.stdout.read()
    assert "the event loop was frozen" in last
    assert last.endswith("0\n")
    assert not has_crashed(path)


def test_the_report_of_an_earlier_run_stays_beside_the_next(path: Path) -> None:
    """The next start moves it away, and says where to."""
    with begun(path, "os.abort()") as process:
        process.wait()
    with begun(path, "None") as process:
        process.wait()
    assert not has_crashed(path)
    assert "Aborted" in path.with_name(path.name + EARLIER).read_text()


def test_a_report_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """On a full or a read-only disk the gateway runs without one, and says so."""
    root = Path(__file__).parents[3]
    body = RUN.replace("print(path.stat().st_size, flush=True)", "print('done')")
    command = [sys.executable, "-c", body, str(tmp_path / "absent" / "report"), "None"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert "crashes cannot be reported" in ended.stdout
    assert ended.stdout.endswith("done\n")
