"""Citations of lines."""

from datetime import date

import pytest

from workspaces.citations import CitedLines, cited_lines


@pytest.mark.parametrize(
    ("text", "path", "lines", "day"),
    [
        ("MEMORY.md#L3", "MEMORY.md", range(3, 4), None),
        ("MEMORY.md#L3-L5", "MEMORY.md", range(3, 6), None),
        (" memory/a#b.md#L3-L3@2026-03-01 ", "memory/a#b.md", range(3, 4), date(2026, 3, 1)),
    ],
)
def test_a_citation_names_lines(text: str, path: str, lines: range, day: date | None) -> None:
    """It is written as it was read, with both ends."""
    cited = cited_lines(text)
    assert cited == CitedLines(path, lines, day)
    assert cited_lines(str(cited)) == cited


@pytest.mark.parametrize("text", ["", "MEMORY.md", "#L3", "MEMORY.md#3", "a.md#L3-5", "a.md#L3@2026-02-30"])
def test_other_texts_are_none(text: str) -> None:
    """A path without lines, other anchors, a day that does not exist."""
    assert cited_lines(text) is None
