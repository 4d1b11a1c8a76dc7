"""Names that Python 3.12 and 3.13 confuse, since they run comprehensions inside the function that holds them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from symtable import SymbolTable, symtable

import pytest

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="Python 3.11 tells these scopes apart; later ones show the fault itself"
)
ROOT = Path(__file__).parent.parent
COMPREHENSIONS = frozenset({"listcomp", "setcomp", "dictcomp", "<listcomp>", "<setcomp>", "<dictcomp>"})


def test_no_comprehension_takes_a_name_that_a_nested_function_has_from_further_out() -> None:
    """There the nested function ends in a NameError, "cannot access free variable"; on Python 3.11 all is well."""
    files = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = [f"{name}: {each}" for name in files.split() for each in confused((ROOT / name).read_text("utf-8"))]
    assert not found


@pytest.mark.parametrize(
    ("outer", "middle", "inner", "found"),
    [
        ("row", "", "row", ["row in middle, line 2"]),
        ("", "row", "row", []),
        ("row", "", "[row for row in ()]", []),
    ],
)
def test_a_confused_name_is_found(outer: str, middle: str, inner: str, found: list[str]) -> None:
    """And none where the function binds the name itself, or where the comprehension is the nested function's own."""
    nested = f"def outer({outer}):\n def middle({middle}):\n  def inner():\n   return {inner}\n"
    assert list(confused(f"{nested}  return [row for row in inner()]\n")) == found


def confused(source: str) -> Iterator[str]:
    """Yield each name of a comprehension in *source* that a function nested beside it reads from further out."""
    tables = [symtable(source, "", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        if table.get_type() == "function":
            own = {each.get_name() for each in table.get_symbols() if each.is_local()}
            nested = [each for each in table.get_children() if each.get_name() not in COMPREHENSIONS]
            read = {each.get_name() for one in nested for each in one.get_symbols() if each.is_free()}
            for name in sorted(read & _taken(table) - own):
                yield f"{name} in {table.get_name()}, line {table.get_lineno()}"


def _taken(table: SymbolTable) -> set[str]:
    """Return the names that comprehensions bind directly in *table*."""
    inlined = [each for each in table.get_children() if each.get_name() in COMPREHENSIONS]
    bound = {each.get_name() for one in inlined for each in one.get_symbols() if each.is_local()}
    return bound.union(*map(_taken, inlined))
