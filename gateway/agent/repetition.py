"""The part of an answer that repeats neither a note that its model was shown nor a message of the conversation.

Only that part may become a note later: messages do so by themselves.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from sys import intern

from msgspec import Struct

from gateway.agent.authorship import own_words
from gateway.agent.entries import ResultEntry, TurnNoteEntry, UserEntry
from gateway.agent.models.port import ModelRequest
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.dates import mentions
from workspaces.memory.text.dialogue import is_question
from workspaces.memory.text.facts import Fact, FactKind, facts_in, sentences
from workspaces.memory.text.tokens import STOP_WORDS, query_terms, terms

_READ_BY = frozenset({"memory_search", "memory_get", "search_history", "search_memory", "read_file"})
"""Tools whose results are notes or conversations."""
_SOURCES = 2
"""Lines that one sentence may repeat."""
_FACTS_SHARE, _WORDS_SHARE = 0.5, 0.8
"""Share of its words that a sentence shares with them, if they hold all its facts, or if it has none. Our choice."""
_MOST_PLACES = 200
"""Lines from which on a word tells nothing about which of them a sentence repeats; looking at all takes minutes."""
_TEXTS_KEPT, _RESULTS_KEPT = 1_000, 50
"""Of each kind: a conversation's next request holds nearly all texts of the one before."""
_WORD = lazy_pattern(r"\w+")
_BEGINNING = 4
"""Letters in which forms of a word agree."""
_UNSPACED = "\u0e00"
"""From here on, words may have no spaces between them."""
_ANY = ("",)
"""The beginning of every word."""
_FULL_HOUR = ":00"
"""Of "9:00"; a note may say "at 9"."""


class _ComparedLine(Struct, frozen=True):
    """A line that requests show, as it is compared with answers."""

    text: str
    beginnings: tuple[str, ...]
    """How its words begin, each once; `_ANY` where they may have no spaces between them."""
    day: date | None
    """That it consists of: beside the text of a note that was found."""


def own_part(answer: str, request: ModelRequest) -> str | None:
    """Return the part of *answer* that goes beyond the notes and messages in *request*; `None` if that is all of it.

    Empty if some of it repeats these and the rest states no fact.
    """
    said = sentences(answer)
    shown = _ShownNotes(_alike(_shown_lines(request), _beginnings(answer)))
    own = [each for each in said if not shown.hold(_plain(each))]
    if len(own) == len(said):
        return None
    return "\n".join(own) if any(map(_facts, map(_plain, own))) else ""


def _alike(lines: Iterable[_ComparedLine], begun: tuple[str, ...]) -> Iterable[_ComparedLine]:
    """Return *lines* in which a word begins as one of *begun*: of a long conversation few, and only they are read."""
    if begun is _ANY:
        return lines
    wanted = frozenset(begun + _ANY)
    return (line for line in lines if not wanted.isdisjoint(line.beginnings))


def _beginnings(text: str) -> tuple[str, ...]:
    """Return how the words of *text* begin, each once; `_ANY` where words may have no spaces between them."""
    if max(text, default="") >= _UNSPACED:
        return _ANY
    words = _WORD.findall(text.casefold())
    return tuple({intern(word[:_BEGINNING]) for word in words if word not in STOP_WORDS})


class _ShownNotes:
    """Lines that a request shows, by their words."""

    def __init__(self, lines: Iterable[_ComparedLine]) -> None:
        told = {line.text: line for line in lines}
        self._lines = list(told)
        self._days = [line.day for line in told.values() if line.day]
        """Of the notes found, beside their texts."""
        self._places = defaultdict[str, list[int]](list)
        for place, text in enumerate(told):
            for word in _words(text):
                self._places[word].append(place)

    def hold(self, sentence: str) -> bool:
        """Tell whether *sentence* repeats a line, or two."""
        words = _stems(sentence)
        sources = list(self._nearest(words))
        held = frozenset(word for line in sources for word in _words(line))
        share = len(words & held) / max(len(words), 1)
        if share < _FACTS_SHARE:
            return False
        facts = _facts(sentence)
        if not facts:
            return share >= _WORDS_SHARE
        return all(_stems(each.value) <= held or self._names_day(each, sources) for each in facts)

    def _names_day(self, fact: Fact, sources: Iterable[str]) -> bool:
        """Tell whether *fact* names a day of *sources*, or of any note found, in whatever form."""
        if fact.kind is not FactKind.DATE:
            return False
        named = [each for _, _, each in mentions(fact.value)]
        return any(
            f"{day:%A}" in fact.value or any(each.day and each.covers(day) for each in named)
            for day in (*self._days, *_days(sources))
        )

    def _nearest(self, words: frozenset[str]) -> Iterator[str]:
        """Yield the line with most of *words*, then the one with most of the rest."""
        for _ in range(_SOURCES):
            found = (self._places.get(word, ()) for word in words)
            counts = Counter(place for places in found if len(places) <= _MOST_PLACES for place in places)
            if not counts:
                return
            [(place, _)] = counts.most_common(1)
            words -= _words(self._lines[place])
            yield self._lines[place]


def _shown_lines(request: ModelRequest) -> Iterator[_ComparedLine]:
    """Yield the lines of the workspace, of memories, of notes and of messages that *request* holds."""
    yield from _lines(request.stable)
    for entry in request.entries:
        if isinstance(entry, UserEntry):
            yield from _statements(own_words(entry))
        elif isinstance(entry, TurnNoteEntry):
            yield from _lines(entry.text)
        elif isinstance(entry, ResultEntry) and entry.name in _READ_BY and not entry.is_error:
            yield from _found_lines(entry.text)


@lru_cache(_TEXTS_KEPT)
def _statements(message: str) -> Sequence[_ComparedLine]:
    return [_line(each) for each in sentences(message) if not is_question(each)]


@lru_cache(_RESULTS_KEPT)
def _found_lines(result: str) -> Sequence[_ComparedLine]:
    return [line for text in _texts_of(result) for line in _lines(text)]


@lru_cache(_TEXTS_KEPT)
def _lines(text: str) -> Sequence[_ComparedLine]:
    return [_line(each) for each in text.splitlines() if each.strip()]


def _line(text: str) -> _ComparedLine:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    return _ComparedLine(text, _beginnings(text), day)


def _texts_of(result: str) -> Iterator[str]:
    """Yield the texts in the JSON *result* of a search, or that itself if it is none: it may be shortened."""
    try:
        yield from _strings(json.loads(result))
    except (ValueError, RecursionError):
        yield result.replace("\\n", "\n")


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (text for each in value.values() for text in _strings(each))
        case list():
            yield from (text for each in value for text in _strings(each))


@lru_cache(_TEXTS_KEPT)
def _words(line: str) -> frozenset[str]:
    return frozenset(terms(line.replace(_FULL_HOUR, "")))


def _stems(text: str) -> frozenset[str]:
    """Return the stems of *text*, in small letters: "Your WiFi" is "wifi"."""
    return frozenset(query_terms(text.casefold()))


def _facts(sentence: str) -> list[Fact]:
    return [fact for fact in facts_in(sentence) if fact.kind is not FactKind.DECISION]


def _days(lines: Iterable[str]) -> Iterator[date]:
    """Yield the whole dates that *lines* name."""
    for _, _, named in (each for line in lines for each in mentions(line)):
        if named.year and named.month and named.day and named.exists:
            yield date(named.year, named.month, named.day)


def _plain(sentence: str) -> str:
    """Return *sentence* without the places of notes that it names, such as `MEMORY.md#L3`."""
    return " ".join(word for word in sentence.replace(_FULL_HOUR, "").split() if "#L" not in word and ".md" not in word)
