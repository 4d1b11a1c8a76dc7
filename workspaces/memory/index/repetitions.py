"""Repetitions among search results: the same statement twice, one message in two files, an order and its note."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import chain
from typing import Protocol, TypeVar

from msgspec import Struct, structs

from workspaces.memory.entry import Entry
from workspaces.memory.index.order import MatchingEntry
from workspaces.memory.text.dialogue import LineKind, read_line
from workspaces.memory.text.tokens import terms

SAID_KEPT = 1_000
"""Texts whose words are cached, some 2 kB each: parsing one takes 60 µs. Thirty searches read as many."""
DUPLICATE = 0.8
"""Share of common terms from which two entries count as duplicates."""


class RankedResult(Protocol):
    """A result with an entry."""

    @property
    def entry(self) -> Entry: ...


T = TypeVar("T", bound=RankedResult)


def without_near_duplicates(found: Iterable[T]) -> Iterator[T]:
    """Yield *found* in order, without repetitions of better ones.

    A repetition has nearly the same words and the same numbers and identifiers: "paid 50" does not repeat "paid 70",
    and the same habit noted on ten days is returned once. Time of day does not count; but a message that stands in
    the day's notes and in its conversation, in part or whole, is one. A line without a day repeats none with one: it
    holds now, and by its place in its file.
    """
    by_figures: dict[tuple[frozenset[str], bool], list[_DialogueTurn]] = {}
    by_moment: dict[tuple[date | None, str], list[_DialogueTurn]] = {}
    for each in found:
        said = _dialogue_turn(each.entry.text)
        holds_now = each.entry.date is None
        alike = by_figures.setdefault((said.figures, holds_now), [])
        same = by_moment.setdefault((each.entry.date, said.moment), []) if said.moment else []
        if not any(
            said.is_order or not known.is_order  # its note follows, and is to stay
            for known in chain(
                (known for known in alike if _overlap(said.words, known.words) >= DUPLICATE),
                (known for known in same if said.words <= known.words or known.words <= said.words),
            )
        ):
            alike.append(said)
            if holds_now:
                by_figures.setdefault((said.figures, False), []).append(said)
            same.append(said)
            yield each


def shown_once(found: Iterable[MatchingEntry]) -> Iterator[MatchingEntry]:
    """Yield *found*, best first, without those that show the same lines as a better one of another file.

    Of two lines that are shown together, one file may give the first, with the second behind it, and another the
    second. A line without a day repeats none with one.
    """
    shown: dict[frozenset[tuple[str, bool]], str] = {}
    for each in found:
        parts = [part for part in (each.before, each.entry, each.after) if part is not None]
        lines = frozenset((read_line(part.text).text, part.date is None) for part in parts)
        if shown.setdefault(lines, each.entry.path) == each.entry.path:
            yield each


NOTED = 0.7
"""Share of a note's terms from which an order to remember them is the same."""


def without_noted_orders(found: Sequence[MatchingEntry]) -> list[MatchingEntry]:
    """Return *found*, best first, without orders to remember something that a note among them holds.

    The note ranks as the better of the two: a question may name the day of the order, which the note lacks.
    """
    said = [_dialogue_turn(each.entry.text) for each in found]
    kept: dict[int, MatchingEntry] = {}
    for place, turn in enumerate(said):
        notes = (at for at, note in enumerate(said) if turn.is_order and not note.is_order and _is_noted(turn, note))
        stands = next(notes, place)
        kept.setdefault(stands, structs.replace(found[stands], rank=found[place].rank, subject=found[place].subject))
    return list(kept.values())


def _is_noted(order: "_DialogueTurn", note: "_DialogueTurn") -> bool:
    said = note.words - (note.figures - order.figures)  # without the date beside "tomorrow"
    return bool(said) and order.figures <= note.figures and len(order.words & said) >= NOTED * len(said)


class _DialogueTurn(Struct, frozen=True):
    words: frozenset[str]
    figures: frozenset[str]
    moment: str
    """Speaker and time; empty without a time."""
    is_order: bool


@lru_cache(SAID_KEPT)
def _dialogue_turn(text: str) -> _DialogueTurn:
    line = read_line(text)
    words = frozenset(terms(line.text))
    moment = f"{line.speaker} {line.time}" if line.time else ""
    figures = frozenset(word for word in words if not word.isalpha() and any(map(str.isdigit, word)))
    return _DialogueTurn(words, figures, moment, line.written is LineKind.ORDER)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / max(len(one) + len(other) - shared, 1)
