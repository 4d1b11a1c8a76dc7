"""What `.ci/run` says at its end of tests that failed, and which it runs once more."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKEFILE = f"""
test:
\t@PYTHONDONTWRITEBYTECODE= PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -p xdist -n 1 $(ARGS)
check bench-check bench-check site oracles:
\t@:
"""
ALWAYS = "def test_{0}() -> None:\n    raise AssertionError\n"
ONCE = """
from pathlib import Path

def test_{0}() -> None:
    seen = Path("{0}.seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with our `.ci/run`, and programs that it would install otherwise."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_good.py").write_text("def test_good() -> None:\n    pass\n")
    (tmp_path / "bin").mkdir()
    for name in ("redis-server", "chromium", "npm"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def plant(project: Path, *bodies: str) -> None:
    for number, body in enumerate(bodies):
        (project / f"test_{number}.py").write_text(body.format(number))


def ends(project: Path) -> tuple[int, list[str]]:
    """Return the exit status and the last lines."""
    path = os.pathsep.join([str(project / "bin"), *os.get_exec_path()])
    run = subprocess.run(
        [".ci/run"],
        check=False,
        cwd=project,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")} | {"PATH": path},
        stdout=-1,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return run.returncode, run.stdout.splitlines()


def test_a_test_that_fails_is_run_again_alone_and_named_in_the_last_line(project: Path) -> None:
    """Beside it one that failed only beside others; the names come after all that others print."""
    plant(project, ALWAYS, ONCE)
    status, lines = ends(project)
    assert status != 0
    assert lines[-1] == "FAILED test_0.py::test_0"
    assert "FAILED test_1.py::test_1" not in lines


def test_tests_that_pass_alone_are_named_and_hold_nothing_up(project: Path) -> None:
    """They are known for what they are, below the numbers of the whole run; the next run says nothing of them."""
    plant(project, ONCE, ONCE)
    status, lines = ends(project)
    assert status == 0
    assert lines[-3].startswith("===")
    assert "2 failed, 1 passed" in lines[-3]
    assert sorted(lines[-2:]) == [f"FAILED BESIDE OTHERS, PASSED ALONE: test_{n}.py::test_{n}" for n in range(2)]
    assert "3 passed" in ends(project)[1][-1]


def test_more_than_five_are_not_tried_again(project: Path) -> None:
    """So much is no accident of the machine's."""
    plant(project, *[ONCE] * 6)
    status, lines = ends(project)
    assert status != 0
    assert sorted(lines[-6:]) == [f"FAILED test_{n}.py::test_{n}" for n in range(6)]


@pytest.mark.parametrize(
    "body", ["import nothing_of_this_name\n", "import os\n\ndef test_0():\n    os.kill(os.getppid(), 9)\n"]
)
def test_a_run_that_did_not_come_to_its_end_fails(project: Path, body: str) -> None:
    """A file that cannot be read, a run that was killed: not every test was run."""
    plant(project, body)
    status, lines = ends(project)
    assert status != 0
    assert not any("--last-failed" in line for line in lines)
