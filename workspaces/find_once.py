"""Search for the only occurrence of a passage in a text; a refusal names the lines concerned."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest

from workspaces.errors import EditError

_SHOWN_MATCHES = 10
_SHOWN_CHARS = 200
_COMPARED_LINES = 2_000
"""Most lines whose characters are counted for the nearest one: each costs up to 0.1 ms."""
_LIKELY = 20
"""Lines of these whose characters are compared in order too: a hostile one costs up to 10 ms."""
_NEAR = 0.6
"""Similarity from which a line is shown (difflib's own default)."""


def only_place(text: str, passage: str, name: str) -> int:
    """Return the position of *passage* in *text*, the content of the file called *name*.

    Raises EditError unless it occurs once: with the nearest lines if it is missing, with every match's line if there
    are several (overlapping ones too).
    """
    if not passage:
        raise EditError(f"{name}: the old text is empty")
    places = list(_occurrences(text, passage))
    if not places:
        told = f"not found: the old text does not occur in {name}; read the file and copy the passage exactly"
        near = _nearest(text, passage)
        raise EditError(told + _excerpt("; the nearest:", text, near), _lines(text, near))
    if len(places) > 1:
        lines = [text.count("\n", 0, place) for place in places[:_SHOWN_MATCHES]]
        more = "\n…" if len(places) > _SHOWN_MATCHES else ""
        told = f"ambiguous: the old text occurs {len(places)} times in {name}; give more of it"
        raise EditError(_excerpt(told, text, lines) + more, _lines(text, lines))
    return places[0]


def _occurrences(text: str, passage: str) -> Iterator[int]:
    at = text.find(passage)
    while at >= 0:
        yield at
        at = text.find(passage, at + 1)


def _nearest(text: str, passage: str) -> list[int]:
    """Return the numbers, from 0, of the lines most similar to the longest line of *passage*."""
    wanted = max(passage.split("\n"), key=len).strip()[:_SHOWN_CHARS]
    lines = [line.strip()[:_SHOWN_CHARS] for line in text.split("\n")[:_COMPARED_LINES]]
    quick = difflib.SequenceMatcher(None, b=wanted)

    def likeness(line: str) -> float:
        quick.set_seq1(line)
        return quick.quick_ratio()

    likely = nlargest(_LIKELY, dict.fromkeys(lines), likeness)
    found = difflib.get_close_matches(wanted, likely, n=2, cutoff=_NEAR)
    return sorted(lines.index(line) for line in found)


def _lines(text: str, numbers: Iterable[int]) -> list[str]:
    lines = text.split("\n")
    return [lines[number] for number in numbers]


def _excerpt(lead: str, text: str, numbers: Sequence[int]) -> str:
    pairs = zip(numbers, _lines(text, numbers), strict=True)
    shown = [f"\nline {number + 1}: {line.strip()[:_SHOWN_CHARS]}" for number, line in pairs]
    return "".join([lead, *shown]) if shown else ""
