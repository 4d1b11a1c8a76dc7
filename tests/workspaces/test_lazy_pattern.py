"""Patterns that are compiled when they are first used."""

import re

import pytest

from tests.patterns import sources
from workspaces.lazy_pattern import lazy_pattern


def test_a_pattern_is_compiled_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming it costs nothing; it then reads as the compiled one, and a wrong one is refused by its first use."""
    compiled = []
    compile_now = re.compile

    def note(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        return compile_now(pattern, flags)

    monkeypatch.setattr(re, "compile", note)
    words, wrong = lazy_pattern(r"(?P<word>\w+)s\b", re.IGNORECASE), lazy_pattern("(")
    assert (words.pattern, compiled) == (r"(?P<word>\w+)s\b", [])
    assert [found["word"] for found in words.finditer("Ports and DOGS")] == ["Port", "DOG"]
    assert words.sub("!", "dogs bark") == "! bark"
    assert lazy_pattern(rb"\d").findall(b"a1") == [b"1"]
    with pytest.raises(re.error):
        wrong.search("x")


def test_no_module_compiles_a_pattern_when_it_is_imported() -> None:
    """Compiling all of them took a sixth of a start; adapters are loaded for their platform alone."""
    eager = [
        f"{source.module}: line {node.lineno}"
        for source in sources()
        if not source.module.startswith("adapters.")
        for node in source.calls_at_import("re.compile")
    ]
    assert eager == []
