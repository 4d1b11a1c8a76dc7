import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Set
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CODE = [file for room in ("adapters", "gateway", "strandline", "workspaces") for file in (ROOT / room).rglob("*.py")]


def test_the_rooms_import_only_whom_they_may() -> None:
    """The contracts of pyproject.toml: who may import whom, and which file may load what is heavy."""
    program = Path(sys.executable).parent / "lint-imports"
    checked = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


PLANTED = {
    "gateway/admission/routing.py": "import gateway.cluster.membership",
    "gateway/runtime/lanes.py": "import gateway.cluster.membership",
    "gateway/commands/status.py": "import aiogram",
    "gateway/sessions/flush.py": "import openai",
    "gateway/control/remote.py": "import httpx",
    "gateway/delivery/sender.py": "import gateway.inbound.receive",
    "gateway/turns/turn.py": "import gateway.stores.redis.store",
    "adapters/telegram/send.py": "import adapters.discord.send",
    "adapters/text.py": "import workspaces.access",
    "workspaces/access.py": "import workspaces.files",
    "workspaces/memory/client.py": "import workspaces.memory.search",
    "workspaces/notes.py": "import numpy",
    "gateway/errors.py": "import strandline.testing.patience",
}
"""Imports that no room may have, by the file to plant each in."""


def test_each_import_that_is_not_allowed_breaks_a_contract(tmp_path: Path) -> None:
    """Every planted line is named as the fault of a contract: no file is outside of all of them."""
    for room in ("adapters", "gateway", "strandline", "workspaces"):
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, line in PLANTED.items():
        file = tmp_path / name
        file.write_text(f"{file.read_text('utf-8')}\n{line}\n", "utf-8")
    program = Path(sys.executable).parent / "lint-imports"
    checked = subprocess.run([program, "--no-cache"], cwd=tmp_path, capture_output=True, text=True, check=False)
    _, _, broken = checked.stdout.partition("Broken contracts")
    unseen = [f"{_module(name)} -> {line.split()[1]}" for name, line in PLANTED.items()]
    assert [each for each in unseen if each not in broken] == []


def test_no_files_import_each_other_in_a_circle() -> None:
    """Imports within functions and for type checkers included; raises CycleError with the circle."""
    modules = {_module(str(file.relative_to(ROOT))): file for file in CODE}
    graph = {name: set(_imported(file, modules.keys())) - {name} for name, file in modules.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(modules)


def _module(name: str) -> str:
    """Return the dotted name of the file *name*."""
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(file: Path, modules: Set[str]) -> Iterator[str]:
    """Give those of *modules* that *file* imports, each by itself or by a name in it."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module in modules:
            yield from ({f"{node.module}.{each.name}" for each in node.names} & modules or {node.module})


def test_a_class_name_occurs_once() -> None:
    """Whoever searches for a class finds one, a leading underscore apart."""
    files: dict[str, list[str]] = {}
    for file in CODE:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                files.setdefault(node.name.lstrip("_"), []).append(str(file.relative_to(ROOT)))
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


@pytest.mark.parametrize("name", ["environ", "getenv"])
def test_only_the_entrance_reads_the_environment(name: str) -> None:
    """Everybody else is handed a snapshot."""
    readers = {str(file.relative_to(ROOT)) for file in CODE if f"os.{name}" in file.read_text("utf-8")}
    assert readers <= {"gateway/__main__.py"}


def test_no_room_has_a_name_that_hides_its_idea() -> None:
    """`utils` and its kin say that the noun is not found yet."""
    hiding = {"utils", "helpers", "common", "core", "manager", "service", "misc"}
    assert not [file for file in CODE if hiding & {file.stem, *file.relative_to(ROOT).parts}]


def test_every_module_says_its_subject_in_a_sentence() -> None:
    """A docstring that names the subject; none begins with "This file"."""
    mute = [str(f.relative_to(ROOT)) for f in CODE if f.stat().st_size and not f.read_text("utf-8").startswith('"""')]
    assert mute == []
    assert [text for text in _docstrings() if text.startswith(("This file", "This module", "This package"))] == []


def test_docstrings_are_plain_english() -> None:
    """Fewer than three in a hundred need the word "what": a noun says it shorter."""
    texts = [*_docstrings()]
    assert len(texts) > 4_000
    wordy = [text for text in texts if re.search(r"\bwhat\b", text, re.IGNORECASE)]
    assert len(wordy) < 0.03 * len(texts), wordy


def _docstrings() -> Iterator[str]:
    """Give those of modules, classes, functions, and of attributes and constants, which stand below their line."""
    for file in CODE:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            for each in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
                if (
                    isinstance(each, ast.Expr)
                    and isinstance(each.value, ast.Constant)
                    and isinstance(each.value.value, str)
                ):
                    yield each.value.value


def test_access_is_made_in_two_files() -> None:
    """A turn's access comes from its message; the owner's own, without a turn, from `owner_access`."""
    makers = {
        str(file.relative_to(ROOT))
        for file in CODE
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Access"
    }
    assert makers == {"gateway/admission/routing.py", "workspaces/access.py"}


FOREIGN = {
    "adapters/discord/connection.py": "limits and warnings of discord.py",
    "adapters/discord/listen.py": "parsers of discord.py that nobody uses here",
    "adapters/telegram/loading.py": "pydantic, while aiogram is loaded",
    "adapters/text.py": "signs of telegramify-markdown",
    "gateway/agent/mcp/link.py": "the stream of an httpx response",
    "gateway/agent/models/wire.py": "the stream of an httpx response",
    "gateway/backup/archive.py": "members of an archive of tarfile",
    "gateway/runtime/http_server.py": "uvicorn, which has no other way to be stopped",
    "gateway/stores/sqlite/schema.py": "the code of an error of sqlite3",
    "gateway/stores/sqlite/unreadable.py": "the reading of texts by sqlite3",
    "gateway/web/markdown_html.py": "links that markdown-it lets through",
    "workspaces/history/repository.py": "settings of pygit2",
    "workspaces/memory/index/embeddings/transformer.py": "options of onnxruntime",
}
"""Files that set attributes of a library's objects, and which: it offers no other way."""


def test_no_object_is_changed_from_outside() -> None:
    """Parts are complete once they are built: nobody assigns an attribute of a collaborator.

    Records that a module keeps for itself may change in it.
    """
    late = {
        f"{file.relative_to(ROOT)}: {ast.unparse(node)}"
        for file in CODE
        if str(file.relative_to(ROOT)) not in FOREIGN
        for node in _late_assignments(ast.parse(file.read_text("utf-8")))
    }
    assert late == set()


def test_every_library_that_is_changed_from_outside_still_is() -> None:
    """The list holds no file that needs no exception any more."""
    assert [name for name in FOREIGN if not [*_late_assignments(ast.parse((ROOT / name).read_text("utf-8")))]] == []


def _late_assignments(module: ast.Module) -> Iterator[ast.Attribute]:
    """Yield the assigned attributes of objects other than `self`, except those of records of the module's own."""
    own = {
        node.target.id
        for kind in ast.walk(module)
        if isinstance(kind, ast.ClassDef)
        for node in kind.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for node in ast.walk(module):
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
            continue
        is_own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
        is_of_record = isinstance(node.value, ast.Name | ast.Subscript) and node.attr in own
        if not (is_own or is_of_record):
            yield node


MOST_FIELDS = 6


def test_a_class_with_behaviour_has_few_collaborators() -> None:
    """A record with methods needs at most six values; the rule for arguments does not see its constructor.

    Properties, and functions that make one, are no behaviour: a record may have as many values as its subject.
    """
    heavy = {
        node.name: len(needed)
        for file in CODE
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and _is_record(node)
        if len(needed := [*_needed(node)]) > MOST_FIELDS and any(map(_is_behaviour, node.body))
    }
    assert heavy == {}


def _is_record(node: ast.ClassDef) -> bool:
    """Tell whether the class is a `Struct`, of which each names its options, or a dataclass."""
    said = [*node.decorator_list, *node.bases, *node.keywords]
    return any(word in ast.unparse(each) for each in said for word in ("dataclass", "Struct", "frozen"))


def _needed(node: ast.ClassDef) -> Iterator[ast.AnnAssign]:
    """Yield the fields without a default."""
    for each in node.body:
        is_marker = isinstance(each, ast.AnnAssign) and ast.unparse(each.annotation).startswith(("ClassVar", "KW_ONLY"))
        if isinstance(each, ast.AnnAssign) and each.value is None and not is_marker:
            yield each


def _is_behaviour(node: ast.stmt) -> bool:
    """Return whether *node*, in a class, is a method that does something."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    makers = {"property", "cached_property", "classmethod", "staticmethod"}
    return not node.name.startswith("__") and not makers & {ast.unparse(each) for each in node.decorator_list}
