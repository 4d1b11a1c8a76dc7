"""Parts of a formatted text: short enough for a platform, cut where a reader would, with no formatting lost."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.channel import Entity, EntityType
from adapters.formatting.split import MOST_ENTITIES, plain_parts, split, units


@given(st.text(st.sampled_from("ab \n😀é\u200d\ufe0f"), max_size=200), st.integers(min_value=2, max_value=40))
def test_plain_parts_hold_the_whole_text(text: str, limit: int) -> None:
    """Each part fits, is not blank, and only white space may be missing between them."""
    parts = [part.text for part in plain_parts(text, limit)]
    assert all(part.strip() and units(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_a_long_paragraph_is_cut_at_a_space() -> None:
    """No word is torn apart where there is a space."""
    words = "word " * 2_000
    assert all(set(part.text.split()) == {"word"} for part in plain_parts(words, 4096))


def test_a_short_line_above_a_long_one_is_not_sent_alone() -> None:
    """A heading stays with the paragraph below it."""
    first, *_ = plain_parts("Head\n" + "word " * 2_000, 4096)
    assert len(first.text) > 4_000


def test_no_part_has_more_entities_than_telegram_shows() -> None:
    """It drops those beyond the hundredth; all of them arrive, each over its own word."""
    entities = [Entity(EntityType.BOLD, 2 * number, 1) for number in range(450)]
    parts = list(split("b " * 450, entities, 4096))
    assert [len(part.entities) for part in parts] == [100, 100, 100, 100, 50]
    assert all(
        part.text[found.offset : found.offset + found.length] == "b" for part in parts for found in part.entities
    )


def test_formatting_that_is_nested_too_deep_keeps_its_outer_ones() -> None:
    """Of 150 entities around one word the longest stay, and the cutting ends."""
    entities = [Entity(EntityType.ITALIC, 0, 200 - number) for number in range(150)]
    (part,) = split("x" * 200, entities, 4096)
    assert [found.length for found in part.entities] == [200 - number for number in range(MOST_ENTITIES)]


def test_an_accent_is_not_parted_from_its_letter() -> None:
    """Nor a joined emoji from its first half."""
    assert [part.text for part in plain_parts("abce\u0301", 4)] == ["abc", "e\u0301"]
    assert [part.text for part in plain_parts("ab👩\u200d👧", 5)] == ["ab", "👩\u200d👧"]
