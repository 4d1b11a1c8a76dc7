"""The regular expressions of the product, each with the methods by which the code uses it."""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from workspaces.lazy_pattern import LazyPattern

ROOT = Path(__file__).parent.parent
FOLDERS = ("adapters", "gateway", "workspaces")
USES = frozenset({"match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"})

Pattern = re.Pattern[str] | re.Pattern[bytes]
Text = TypeVar("Text", str, bytes)


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern of the product and how it reads."""

    name: str
    """Module and variable, or module, function and the first letters of the pattern."""
    pattern: Pattern
    uses: frozenset[str]

    def reading(self) -> Iterator[Callable[[str], object]]:
        """Yield what the code does with a text, once for each way."""
        if isinstance(self.pattern.pattern, bytes):
            of_bytes: re.Pattern[bytes] = self.pattern
            yield from ((lambda text, read=read: read(text.encode())) for read in _ways(of_bytes, self.uses))
        else:
            of_text: re.Pattern[str] = self.pattern
            yield from _ways(of_text, self.uses)


def _ways(pattern: re.Pattern[Text], uses: frozenset[str]) -> Iterator[Callable[[Text], object]]:
    if "match" in uses:
        yield pattern.match
    if "fullmatch" in uses:
        yield pattern.fullmatch
    if uses - {"match", "fullmatch"}:
        yield lambda text: sum(1 for _ in pattern.finditer(text))


@dataclass(frozen=True)
class Source:
    """A module of the product, read and not yet imported."""

    path: Path

    @cached_property
    def module(self) -> str:
        """Its dotted name."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.path.read_text(encoding="utf-8"))

    def calls_at_import(self, function: str) -> Iterator[ast.Call]:
        """Yield the calls of *function*, such as `re.compile`, outside functions."""
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Call) and ast.unparse(node.func) == function:
                yield node
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                waiting += ast.iter_child_nodes(node)

    @cached_property
    def uses(self) -> Mapping[str, frozenset[str]]:
        """By a variable's name: the methods of patterns that the module calls, or hands on, of it."""
        found = defaultdict(set)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and node.attr in USES and isinstance(node.value, ast.Name):
                found[node.value.id].add(node.attr)
        return {name: frozenset(methods) for name, methods in found.items()}


@cache
def sources() -> list[Source]:
    """Return the modules that name the standard library's `re`, or patterns that are compiled late."""
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return [
        Source(path)
        for path in paths
        if re.search(r"^import re$|import lazy_pattern$", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def of_modules() -> Iterator[Found]:
    """Yield the patterns that stand in modules' variables."""
    known = sources()
    for source in known:
        for name, value in vars(importlib.import_module(source.module)).items():
            if isinstance(value, re.Pattern | LazyPattern) and name in _assigned(source.tree):
                users = (each for each in known if name in each.uses and _knows(each, name, source))
                uses = frozenset[str]().union(*(each.uses[name] for each in users))
                yield Found(f"{source.module}.{name}", cast("Pattern", value), uses or USES)


def _knows(other: Source, name: str, source: Source) -> bool:
    return other.module == source.module or any(
        isinstance(node, ast.ImportFrom) and node.module == source.module and name in {each.name for each in node.names}
        for node in other.tree.body
    )


def _assigned(tree: ast.Module) -> set[str]:
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def of_calls() -> Iterator[Found]:
    """Yield the patterns that stand in functions, as constants."""
    for source, place, call in _calls():
        if written := _written(call):
            yield Found(f"{source.module}.{place}: {written}", re.compile(written, _flags(call)), _uses_of(call))


def made() -> set[str]:
    """Return where patterns are made of what is known only at run time: module and function."""
    return {f"{source.module}.{place}" for source, place, call in _calls() if _written(call) is None}


def _written(call: ast.Call) -> str | None:
    pattern = call.args[0]
    return pattern.value if isinstance(pattern, ast.Constant) and isinstance(pattern.value, str) else None


def _calls() -> Iterator[tuple[Source, str, ast.Call]]:
    """Yield the calls of `re`'s functions inside functions, with the function's name."""
    for source in sources():
        for function in ast.walk(source.tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and _is_of_re(node.func):
                        yield source, function.name, node


def _is_of_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr in USES | {"compile"}
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )


def _uses_of(call: ast.Call) -> frozenset[str]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return frozenset({name}) & USES or USES


def _flags(call: ast.Call) -> Any:
    written = [*(each.value for each in call.keywords if each.arg == "flags"), *call.args[1:]]
    names = {node.attr for each in written for node in ast.walk(each) if isinstance(node, ast.Attribute)}
    flags = re.NOFLAG
    for name in names & set(re.RegexFlag.__members__):
        flags |= re.RegexFlag[name]
    return flags
