"""Inputs made of a corpus: seeds that are cut, spliced, repeated and mixed with what readers stumble over."""

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, AnyStr

from hypothesis import strategies as st

CORPUS = Path(__file__).with_name("corpus")
MOST_CHANGES = 8
_LONGEST_RUN = 400
"""Characters or bytes that one change takes out or copies."""
_REPEATS = (1, 1, 1, 2, 3, 30, 300)

Json = Any
Steps = tuple[str | int, ...]

ODD_VALUES: Sequence[Json] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 10**30, 0.5, 1e308, "", " ", "0", "-1", "x" * 5_000),
    *(2, 3, 7, 100, "😀😀@strand_bot", "\ud800 @strand_bot", "2026-03-01T11:00:00Z", "12", "hello"),
    *("\ud800", "\x00", "\u202e", "😀", "1" * 400, "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"),
    *([], {}, [None], [[]], {"": None}, {"id": 1}, [{}] * 3, "private", "supergroup", "channel"),
)
"""What no platform sends, and what only its future may."""


def seeds_of(name: str) -> list[bytes]:
    """Return the contents of the corpus called *name*, in a steady order."""
    return [file.read_bytes() for file in sorted((CORPUS / name).iterdir())]


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[AnyStr], knots: Sequence[AnyStr]) -> AnyStr:
    """Give one of *seeds* with some changes: *knots* put in, once or often, stretches taken out, copied, spliced in."""
    content = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, MOST_CHANGES))):
        at = draw(st.integers(0, len(content)))
        match draw(st.integers(0, 4)):
            case 0 | 1:
                piece = draw(st.sampled_from(knots)) * draw(st.sampled_from(_REPEATS))
                content = content[:at] + piece + content[at:]
            case 2:
                content = content[:at] + content[at + draw(st.integers(1, _LONGEST_RUN)) :]
            case 3:
                begin = draw(st.integers(0, len(content)))
                content = content[:at] + content[begin : begin + draw(st.integers(1, _LONGEST_RUN))] + content[at:]
            case _:
                other = draw(st.sampled_from(seeds))
                content = content[:at] + other[draw(st.integers(0, len(other))) :]
    return content


@st.composite
def mutated_json(draw: st.DrawFn, seeds: Sequence[str]) -> Json:
    """Give one of *seeds*, JSON texts, with some of its values replaced by odd ones, left out, or put elsewhere."""
    document = json.loads(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, MOST_CHANGES))):
        places = list(_places(document))
        if not places:
            break
        place = draw(st.sampled_from(places))
        match draw(st.integers(0, 3)):
            case 0:
                _take_out(document, place)
            case 1:
                _put(document, place, deepcopy(_at(document, draw(st.sampled_from(places)))))
            case _:
                _put(document, place, deepcopy(draw(st.sampled_from(ODD_VALUES))))
    return document


def _places(value: Json, above: Steps = ()) -> Iterator[Steps]:
    """Give the way to each value below *value*."""
    inside: Iterator[tuple[str | int, Json]] = iter(())
    if isinstance(value, dict):
        inside = iter(value.items())
    elif isinstance(value, list):
        inside = iter(enumerate(value))
    for step, part in inside:
        yield (*above, step)
        yield from _places(part, (*above, step))


def _at(document: Json, place: Steps) -> Json:
    for step in place:
        document = document[step]
    return document


def _put(document: Json, place: Steps, value: Json) -> None:
    _at(document, place[:-1])[place[-1]] = value


def _take_out(document: Json, place: Steps) -> None:
    del _at(document, place[:-1])[place[-1]]
