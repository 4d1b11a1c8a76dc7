"""Fuzzing of the splitter: the parts put together are the text, each character formatted as it was."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from adapters.channel import Entity, EntityType
from adapters.formatting.split import split, units
from tests.fuzz.campaign import Target
from tests.fuzz.mutation import mutated, seeds_of

_KNOTS = ("\n", " ", "😀", "e\u0301", "👩\u200d👩\u200d👧", "x" * 50, "\u2028", "\t", "語")
_SHORTEST_LIMIT, _LONGEST_LIMIT = 4, 200


@dataclass(frozen=True, slots=True)
class Formatted:
    """A text with its formatting, and the parts that are asked for."""

    text: str
    entities: tuple[Entity, ...]
    limit: int
    most: int


@st.composite
def _formatted(draw: st.DrawFn) -> Formatted:
    text = draw(mutated([seed.decode() for seed in seeds_of("markdown")], _KNOTS))
    places = [0]
    for sign in text:
        places.append(places[-1] + units(sign))
    entities = []
    for _ in range(draw(st.integers(0, 12))):
        ends = sorted(draw(st.lists(st.sampled_from(places), min_size=2, max_size=2)))
        if ends[0] < ends[1]:
            kind = draw(st.sampled_from((EntityType.BOLD, EntityType.ITALIC, EntityType.CODE)))
            entities.append(Entity(kind, ends[0], ends[1] - ends[0]))
    limit = draw(st.integers(_SHORTEST_LIMIT, _LONGEST_LIMIT))
    return Formatted(text, tuple(entities), limit, draw(st.sampled_from((3, 12, 100))))


def check(given: Formatted) -> None:
    """Raise AssertionError for a part that is too long, and if the parts are not the text with its formatting."""
    parts = list(split(given.text, given.entities, given.limit, given.most))
    assert all(part.text.strip() and units(part.text) <= given.limit for part in parts)
    assert all(len(part.entities) <= given.most for part in parts)
    shown = [sign for part in parts for sign in _signs(part.text, part.entities)]
    written = list(_signs(given.text, given.entities))
    assert [sign for sign, _ in shown] == [sign for sign, _ in written]
    if len(given.entities) <= given.most:
        assert shown == written


def _signs(text: str, entities: Sequence[Entity]) -> Iterator[tuple[str, frozenset[EntityType]]]:
    """Give each character that is no blank, with how it is formatted."""
    offset = 0
    for sign in text:
        if sign.strip():
            yield sign, frozenset(at.type for at in entities if at.offset <= offset < at.offset + at.length)
        offset += units(sign)


TARGET = Target("splitter", _formatted(), check)
