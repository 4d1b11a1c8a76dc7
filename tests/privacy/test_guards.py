"""Each guard of privacy is held by a test: taken away in a copy of the code, a test fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.privacy.guards import GUARDS, Guard

ROOT = Path(__file__).parents[2]
NAMES = [f"{guard.file}: {guard.what}" for guard in GUARDS]
FOLDERS = ("adapters", "gateway", "strandline", "workspaces", "tests", "docs")


@pytest.mark.parametrize("guard", GUARDS, ids=NAMES)
def test_a_guard_is_where_the_list_says(guard: Guard) -> None:
    """Whoever moves or rewrites the line moves the entry of tests/privacy/guards.py too."""
    times = (ROOT / guard.file).read_text("utf-8").count(guard.line)
    assert times == 1, f"{guard.file} holds this {times} times, so that {guard.what}:\n{guard.line}"


def test_the_guards_are_shown_to_whoever_asks() -> None:
    """docs/privacy-tests.md has a row for each, with the test that fails without it."""
    told = (ROOT / "docs" / "privacy-tests.md").read_text("utf-8")
    rows = [f"| `{guard.file}` | {guard.what} | `{guard.test}` |" for guard in GUARDS]
    assert [row for row in rows if row not in told] == []


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the program and its tests."""
    folder = tmp_path_factory.mktemp("copy")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.nightly
@pytest.mark.parametrize("guard", GUARDS, ids=NAMES)
def test_a_test_fails_without_the_guard(guard: Guard, copy: Path) -> None:
    """With the guard the test passes, without it, it fails: an error in the copy itself is neither."""
    assert outcome(copy, guard.test) == 0
    file = copy / guard.file
    whole = file.read_text("utf-8")
    file.write_text(whole.replace(guard.line, guard.without), "utf-8")
    try:
        assert outcome(copy, guard.test) == 1
    finally:
        file.write_text(whole, "utf-8")


def outcome(copy: Path, test: str) -> int:
    """Run *test* in *copy* and return pytest's exit status."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=no", test]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, check=False, cwd=copy, env=environment, capture_output=True, timeout=800).returncode
