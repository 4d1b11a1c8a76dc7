"""Answers as HTML: every word of them is shown, however they are nested."""

import pytest

from gateway.web.markdown_html import to_html


@pytest.mark.parametrize(
    "deep",
    [
        "1. " * 15,
        "1. " * 300,
        "> " * 300 + "<b>",
        *("\n".join("  " * at + "- level" for at in range(n)) for n in (12, 99)),
    ],
)
def test_what_stands_below_text_that_is_nested_deeply_is_shown(deep: str) -> None:
    """The parser drops the rest of an answer at a level that is too deep for it; tags stay text."""
    html = to_html(f"{deep}\n\nlater <b>words</b>")
    assert "later &lt;b&gt;words" in html
    assert html.count("level") == deep.count("level")
    assert "<b>" not in html


def test_lists_are_lists() -> None:
    """As deep as anybody writes them, and what is below them is itself again."""
    html = to_html("- a\n  - b\n    - c\n\n**d**")
    assert html.count("<ul>") == 3
    assert "<strong>d</strong>" in html
