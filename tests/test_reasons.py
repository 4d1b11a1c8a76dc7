"""Every reason code that the program can count is explained in docs/reasons.md, and no other."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path

import pytest

from adapters.discord.parse import IgnoredEvent as IgnoredByDiscord
from adapters.telegram.parse import IgnoredUpdate as IgnoredByTelegram
from gateway.admission.policy import RefusalReason as ToRefuse
from gateway.agent.budget import CostCause
from gateway.agent.write_policy import ApprovalReason as ToAsk
from gateway.inbound.edits import Void
from gateway.stores.quarantine import KINDS
from workspaces.history.repair import RepairReason

ROOT = Path(__file__).parent.parent
CODE = re.compile(r"[a-z][a-z_]*(\.[a-z_]+)?")
COUNTERS = {"count", "_count", "_tell", "drop"}
"""What the functions are called that take a reason code."""


@cache
def sources() -> Mapping[Path, ast.Module]:
    """Return all source files; they are read by the process that runs these tests, not while tests are collected."""
    rooms = ("adapters", "gateway", "workspaces")
    return {file: ast.parse(file.read_text("utf-8")) for room in rooms for file in (ROOT / room).rglob("*.py")}


def codes_in_code() -> set[str]:
    """Return every code; a way to count that is new here fails with its words."""
    found: set[str] = set()
    for tree in sources().values():
        constants = constants_of(tree)
        for given in reasons_given(tree):
            found |= set(meant(given, constants))
    return found


def reasons_given(tree: ast.AST) -> Iterator[ast.expr]:
    """Give what is handed on as a reason: the first argument of who counts, and `reason=` of who hands it on."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if name in COUNTERS and call.args and not (isinstance(call.func, ast.Attribute) and is_of_text(call)):
            yield call.args[-1 if name == "drop" else 0]
        is_partial = name == "partial" or name.startswith("_")
        yield from (each.value for each in call.keywords if each.arg == "reason" and is_partial)


def is_of_text(call: ast.Call) -> bool:
    """Say whether it looks like `str.count`: what is counted is no code."""
    given = call.args[0]
    return isinstance(given, ast.Constant) and not CODE.fullmatch(str(given.value))


def meant(given: ast.expr, constants: Mapping[str, str]) -> Iterable[str]:
    """Return the codes that *given* may stand for."""
    match given:
        case ast.Constant(value=str(code)):
            return [code]
        case ast.Name(id=name) if name.isupper():
            return [constants[name]] if CODE.fullmatch(constants.get(name, "")) else []
        case ast.JoinedStr():
            pattern = ast.unparse(given).strip("f'\"")
            for name in ("FAILED", "DROPPED"):
                pattern = pattern.replace(f"{{{name}}}", constants.get(name, ""))
            return composed()[pattern]
        case ast.Attribute():
            return composed().get(ast.unparse(given), [])
        case ast.Name(id="found"):
            return [*IgnoredByTelegram, *IgnoredByDiscord]
        case _:
            return []


def constants_of(tree: ast.Module) -> dict[str, str]:
    """Return the texts that a file, or one that it imports from, gives names in capitals."""
    found = dict(own_constants(tree))
    for line in tree.body:
        if isinstance(line, ast.ImportFrom) and line.module:
            source = sources().get(ROOT / (line.module.replace(".", "/") + ".py"))
            theirs = own_constants(source) if source else {}
            found |= {name.asname or name.name: theirs[name.name] for name in line.names if name.name in theirs}
    return found


def own_constants(tree: ast.Module) -> dict[str, str]:
    return {
        target.id: line.value.value
        for line in tree.body
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
        for target in line.targets
        if isinstance(target, ast.Name)
    }


def subclasses(*names: str) -> set[str]:
    """Return the names of these classes and of all that derive from them."""
    bases = {
        node.name: {getattr(base, "id", "") for base in node.bases}
        for tree in sources().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = set(names)
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


def limits() -> set[str]:
    """Return the reasons with which a turn ends early."""
    calls = (node for tree in sources().values() for node in ast.walk(tree) if isinstance(node, ast.Call))
    raised = (call.args[0] for call in calls if getattr(call.func, "id", "") == "TurnLimitError")
    return {str(reason.value) for reason in raised if isinstance(reason, ast.Constant)}


def prefixed(prefix: str, reasons: Iterable[str | StrEnum]) -> list[str]:
    return [f"{prefix}.{reason}" for reason in reasons]


ENDED_AT_ONCE = {"HouseError", "BudgetError", "ModelFloodError", "WrittenCallError"}
"""Errors of models after which a turn ends by a limit: to try again later would not help, or cost as much again."""


@cache
def composed() -> Mapping[str, Iterable[str]]:
    """Return what a code that is put together may be; an expression that is new needs a line here."""
    return {
        "refused.{decision.reason}": prefixed("refused", ToRefuse),
        "revoked.{refusal.reason}": prefixed("revoked", set(ToRefuse) - {ToRefuse.RATE, ToRefuse.LOOP_GUARD}),
        "approval_asked.{proposal.reason}": prefixed("approval_asked", ToAsk),
        "limit.{exc.reason}": prefixed("limit", limits()),
        "postponed.{type(exc).__name__}": prefixed(
            "postponed", subclasses("ModelError", "StoreError", "WorkspaceUnusableError") - ENDED_AT_ONCE
        ),
        "budget.{exc.cause}": prefixed("budget", CostCause),
        "hook_failed.{hook.source}": ["hook_failed.<source>"],
        "hook_dropped.{hook.source}": ["hook_dropped.<source>"],
        "repair.reason": list(RepairReason),
        "void.value": list(Void),
        "aside.reason": tuple(KINDS),
        "current.why_halted": ["interrupted", "stopped"],
    }


def documented() -> list[str]:
    """Return the codes of the tables."""
    text = (ROOT / "docs" / "reasons.md").read_text("utf-8")
    return re.findall(r"^\| `([^`]+)` \| .{3,} \| .{3,} \|$", text, re.MULTILINE)


def test_every_reason_code_is_explained_and_no_other() -> None:
    """Each once, with what it means and what to do."""
    codes = documented()
    assert len(codes) == len(set(codes))
    assert set(codes) == codes_in_code()


@pytest.mark.parametrize(
    "line", ["store.count('new_code')", "self._count(f'refused.{decision.reason}')", "partial(f, x, reason='new_code')"]
)
def test_a_new_way_to_count_is_found(line: str) -> None:
    """The test above sees literals, texts that are put together, and reasons that are handed on."""
    (given,) = reasons_given(ast.parse(line))
    assert set(meant(given, {})) in ({"new_code"}, set(prefixed("refused", ToRefuse)))
