"""Marks that Telegram's converter would misread: each is shown as a reader expects it."""

import pytest

from adapters.channel import EntityType
from adapters.text import telegram_parts


@pytest.mark.parametrize(
    "written", ["2*3*4", "x**2 + y**2", "a*b*c and d", "$HOME/$USER", "about ~5 or ~6", "costs $5 or $6", "a || b || c"]
)
def test_signs_of_arithmetic_and_shells_stay(written: str) -> None:
    """A product shown as 234 would be another number."""
    (part,) = telegram_parts(written)
    assert part.text == written
    assert part.entities == ()


@pytest.mark.parametrize("written", ["*so*", "**so**", "这是**so**吗", "**so**: yes"])
def test_emphasis_is_still_formatted(written: str) -> None:
    """Also within a sentence without spaces, as Chinese is written."""
    (part,) = telegram_parts(written)
    assert [found.length for found in part.entities] == [2]
    assert "*" not in part.text


@pytest.mark.parametrize("written", [r"\[E = mc^2\]", "$$E = mc^2$$", r"\(E = mc^2\)", "$E = mc^2$"])
def test_every_way_to_write_a_formula_is_shown_in_unicode(written: str) -> None:
    """Two ways were converted and two were left raw."""
    (part,) = telegram_parts(f"Thus {written} holds")
    assert "E = mc²" in part.text
    assert {found.type for found in part.entities} <= {EntityType.CODE, EntityType.PRE}
    assert not set("$\\[]()") & set(part.text)


def test_a_formula_within_code_stays_as_it_was_written() -> None:
    """Somebody asked how to write it."""
    (part,) = telegram_parts(r"write `\(\frac{a}{b}\)`")
    assert part.text == r"write \(\frac{a}{b}\)"


@pytest.mark.parametrize("empty", ["```", "[]()", "> ", "#", "``` \n```"])
def test_empty_markup_is_shown_as_written(empty: str) -> None:
    """Silence would look like a bot that is down."""
    (part,) = telegram_parts(empty)
    assert part.text == empty
