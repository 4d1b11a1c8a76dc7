"""Everyday words in ten languages: the names that notes in another language may have for a query's things.

The table (`everyday_words.txt`) has some 430 things of a household's and a small firm's life. A word that names several
things in its language leads to all of them; which of the other languages' words count is left to the notes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from workspaces.memory.text.languages import ENGLISH, language_of, language_told, small_terms
from workspaces.memory.text.tokens import query_terms, terms

LANGUAGES = (
    ENGLISH,
    "German",
    "French",
    "Spanish",
    "Italian",
    "Portuguese",
    "Dutch",
    "Polish",
    "Russian",
    "Ukrainian",
)
"""In the order of the table's columns."""
_LONGEST = 3
"""Words of the longest phrase."""

_ASKING = """
what which who whom whose where when why how much many wer wen wem was wo wann warum wie welche welcher welches wieviel
viele qui que quoi où quand pourquoi comment combien quel quelle quién qué dónde cuándo cómo cuánto cuánta cuántos cuál
chi che cosa dove quando perché come quanto quanta quale quem onde porque como qual wat waar wanneer waarom hoe hoeveel
welk welke kto co gdzie kiedy dlaczego jak ile który кто что где когда почему как сколько какой хто що де коли чому як
скільки який
"""
"""Words that ask, which no answer holds."""

Phrase = tuple[str, ...]
"""Search terms that stand for one thing together."""


class Things(Struct, frozen=True):
    """A query, as far as it names things of the table."""

    language: str
    """In which it names them."""
    named: Sequence[frozenset[int]]
    """For each word or phrase, the rows of the things that it may mean."""
    others: Sequence[str]
    """Search terms of its other words: names, numbers, and others that the table lacks."""

    def phrases(self, language: str) -> list[frozenset[Phrase]]:
        """Return for each thing its phrases in *language*."""
        column = LANGUAGES.index(language)
        return [frozenset(phrase for row in rows for phrase in _table()[row][column]) for rows in self.named]


def things_in(query: str) -> Things | None:
    """Return the things that *query* names, in its language or, where none can be told, that of most of its words.

    It is English if it has English small words and names a thing in English.
    """
    told = language_of(query)
    found = query_terms(query)
    if told is not None and told != ENGLISH:
        found = [term for term in terms(query) if term not in small_terms(told)]
    known = {column: _named(found, column) for column in range(len(LANGUAGES))}
    most = Counter({column: len(named) for column, (named, _) in known.items()})
    told = language_told(query) if most[0] else told
    column = LANGUAGES.index(told) if told in LANGUAGES else max(most, key=lambda each: (most[each], -each))
    named, others = known[column]
    small = small_terms(LANGUAGES[column]) | frozenset(terms(_ASKING))
    others = [each for each in others if each not in small and len(each) > 1]
    return Things(LANGUAGES[column], named, others) if named else None


def own_small_terms(language: str) -> frozenset[str]:
    """Return the search terms of the small words of *language*, but for those that English has too."""
    return small_terms(language) - (frozenset() if language == ENGLISH else small_terms(ENGLISH))


def _named(found: Sequence[str], column: int) -> tuple[list[frozenset[int]], list[str]]:
    """Return the things that *found* names by the words of a *column*, the longest phrases first, and the rest."""
    named, others, at = list[frozenset[int]](), list[str](), 0
    while at < len(found):
        sizes = range(min(_LONGEST, len(found) - at), 0, -1)
        size = next((size for size in sizes if tuple(found[at : at + size]) in _rows(column)), 0)
        if size:
            parts = [tuple(found[at : at + size]), *((each,) for each in found[at : at + size])]
            named.append(frozenset(row for part in parts for row in _rows(column).get(part, ())))
        else:
            others.append(found[at])
        at += max(size, 1)
    return named, others


@cache
def _table() -> tuple[tuple[tuple[Phrase, ...], ...], ...]:
    """Return the phrases of each thing in each language."""
    lines = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    return tuple(
        tuple(tuple(tuple(terms(phrase.replace("+", " "))) for phrase in cell.split()) for cell in line.split("|"))
        for line in lines
        if not line.startswith("#")
    )


@cache
def _rows(column: int) -> Mapping[Phrase, frozenset[int]]:
    """Return the things that each phrase of a *column* names."""
    rows: dict[Phrase, set[int]] = {}
    for row, cells in enumerate(_table()):
        for phrase in cells[column]:
            rows.setdefault(phrase, set()).add(row)
    return {phrase: frozenset(each) for phrase, each in rows.items()}
