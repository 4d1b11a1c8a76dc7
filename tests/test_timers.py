"""Waits go through the clock, and numbers that a test changes are arguments; the exceptions may only become fewer."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRODUCT = ("adapters", "gateway", "strandline", "workspaces")

SLEEPS = {
    "adapters/telegram/webhook.py": 1,  # adapters do not know the gateway's clock; the interval is an argument
    "gateway/channels/identity.py": 1,  # `init` asks a platform
    "gateway/cli/connect.py": 1,  # a command waits for another process
    "gateway/cli/settings_report.py": 1,  # the same
    "gateway/runtime/crash_report.py": 1,  # the machine's time: it measures whether the loop runs
    "gateway/stores/redis/leases.py": 1,  # the machine's time: a lease runs out by it
    "gateway/turns/presence.py": 2,  # intervals are arguments
    "gateway/web/chat.py": 1,  # drafts of one connection
    "workspaces/memory/watch.py": 2,  # the workspaces do not know the gateway's clock; file events
}
"""Calls of `asyncio.sleep` for a time, past `gateway/runtime/clock.py`."""

PATCHED = {
    "BODY_CAP": 2,
    "OPEN_BYTES": 1,
    "PATIENCE_S": 2,
    "ALIVE_WITHIN_S": 2,
    "JUST_BEGUN_S": 2,
    "FRESH": 1,
    "MOST_ALONE": 1,
    "SEND_TIMEOUT_S": 1,
    "SWEPT_AT_ONCE": 1,
    "TEXT_CAP": 1,
    "_LOCK_TIMEOUT_S": 2,
}
"""Constants of the product that tests overwrite, and how often."""


def test_product_code_waits_by_the_clock() -> None:
    """Every other wait is listed with its reason."""
    found = {
        str(file.relative_to(ROOT)): count
        for folder in PRODUCT
        for file in (ROOT / folder).rglob("*.py")
        if (count := sum(map(_is_sleep, _calls(file))))
    }
    assert found == SLEEPS


def test_tests_overwrite_no_further_constants() -> None:
    """A number that a test must change is an argument, with the constant as its default."""
    names = (name for file in (ROOT / "tests").rglob("*.py") for call in _calls(file) if (name := _patched(call)))
    assert Counter(names) == PATCHED


def _calls(file: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call))


def _is_sleep(call: ast.Call) -> bool:
    """Tell whether *call* waits for a time; `sleep(0)` only lets others run."""
    return ast.unparse(call.func) == "asyncio.sleep" and ast.unparse(call.args[0]) != "0"


def _patched(call: ast.Call) -> str:
    """Return the constant that *call* overwrites in a module; empty if it overwrites none."""
    if ast.unparse(call.func) != "monkeypatch.setattr" or not call.args:
        return ""
    names = [each.value for each in call.args[:2] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if not names or names[0].startswith(("tests.", "bench.")) or ast.unparse(call.args[0]) == "sizes":
        return ""
    found = re.search(r"(?:^|\.)(_?[A-Z][A-Z0-9_]{2,})$", names[0])
    return found[1] if found else ""
