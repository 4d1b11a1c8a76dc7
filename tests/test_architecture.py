import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CODE = [file for room in ("adapters", "gateway", "workspaces") for file in (ROOT / room).rglob("*.py")]


def test_the_rooms_import_only_whom_they_may() -> None:
    """The contracts of pyproject.toml: who may import whom, and which file may load what is heavy."""
    program = Path(sys.executable).parent / "lint-imports"
    checked = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("name", ["environ", "getenv"])
def test_only_the_entrance_reads_the_environment(name: str) -> None:
    """Everybody else is handed a snapshot."""
    readers = {str(file.relative_to(ROOT)) for file in CODE if f"os.{name}" in file.read_text("utf-8")}
    assert readers <= {"gateway/__main__.py"}


def test_no_room_has_a_name_that_hides_its_idea() -> None:
    """`utils` and its kin say that the noun is not found yet."""
    hiding = {"utils", "helpers", "common", "core", "manager", "service", "misc"}
    assert not [file for file in CODE if hiding & {file.stem, *file.relative_to(ROOT).parts}]


def test_every_file_says_what_it_is_for() -> None:
    """A module's docstring is one sentence about the file."""
    mute = [str(f.relative_to(ROOT)) for f in CODE if f.stat().st_size and not f.read_text("utf-8").startswith('"""')]
    assert mute == []


def test_access_is_made_in_two_files() -> None:
    """A turn's access comes from its message; the owner's own, without a turn, from `owner_access`."""
    makers = {
        str(file.relative_to(ROOT))
        for file in CODE
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Access"
    }
    assert makers == {"gateway/admission/routing.py", "workspaces/access.py"}
