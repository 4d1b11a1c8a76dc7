"""Translation of a query word by word into the other languages of the notes, as far as these hold its words.

Only the word counts of the searched scopes are asked, so that no other audience's words or languages show.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain

from msgspec import Struct

from workspaces.access import Scope
from workspaces.memory.index.rarity import Rarity
from workspaces.memory.text.everyday_words import LANGUAGES, Phrase, Things, own_small_terms, things_in
from workspaces.memory.text.languages import language_of, language_told
from workspaces.memory.text.sparse import term_number

_SPOKEN = 6
"""Small words of a language in the notes from which on they are written in it; names and loans have a few."""
_SAID = 0.5
"""Least share of a query's things and other words that the notes hold in a language."""
MOST = 2
"""Languages that are searched in; each takes as long as the search itself."""


class Translated(Struct, frozen=True):
    """A query in another language: search terms, in no order."""

    language: str
    text: str
    share: float
    """Of the query's things and other words, as far as the notes hold them in this language."""

    def may_say(self, line: str) -> bool:
        """Tell whether *line* may be in its language: another one's words can look like its own."""
        return language_of(line) in {self.language, None}


class Translation(Struct, frozen=True):
    """Translates queries by the words of the searched scopes."""

    words: Rarity

    def queries(self, query: str, scopes: frozenset[Scope] | None) -> list[Translated]:
        """Return *query* in at most two other languages, the one with most of its things first."""
        spoken = self._spoken(scopes)
        things = None if spoken <= {language_told(query)} else things_in(query)
        if things is None:
            return []
        others = [language for language in LANGUAGES if language in spoken and language != things.language]
        held = self._held(things, others, scopes)
        rest = [term for term in things.others if term in held]
        said = [self._said(things, language, held, rest) for language in others]
        return sorted((each for each in said if each.share >= _SAID), key=lambda each: -each.share)[:MOST]

    def _said(self, things: Things, language: str, held: frozenset[str], rest: Sequence[str]) -> Translated:
        names = [_names(phrases, held) for phrases in things.phrases(language)]
        known = sum(map(bool, names))
        share = (known + len(rest)) / (len(names) + len(things.others)) if known else 0.0
        return Translated(language, " ".join([*chain.from_iterable(names), *rest]), share)

    def _held(self, things: Things, languages: Sequence[str], scopes: frozenset[Scope] | None) -> frozenset[str]:
        """Return the terms that the notes hold, of those for *things* in *languages* and of the query's other words."""
        phrases = (phrase for each in languages for names in things.phrases(each) for phrase in names)
        return self._known(frozenset([*things.others, *(term for phrase in phrases for term in phrase)]), scopes)

    def _spoken(self, scopes: frozenset[Scope] | None) -> set[str]:
        """Return the languages that the notes are written in."""
        small = _small_numbers()
        counts = self.words.counts(sorted(frozenset().union(*small.values())), scopes)
        known = {number for number, entries in counts.items() if entries}
        return {language for language, numbers in small.items() if len(numbers & known) >= _SPOKEN}

    def _known(self, some: frozenset[str], scopes: frozenset[Scope] | None) -> frozenset[str]:
        numbers = {term: term_number(term) for term in some}
        counts = self.words.counts(sorted(set(numbers.values())), scopes)
        return frozenset(term for term, number in numbers.items() if counts.get(number))


@cache
def _small_numbers() -> Mapping[str, frozenset[int]]:
    """Return the numbers of the small words of each language."""
    return {language: frozenset(map(term_number, own_small_terms(language))) for language in LANGUAGES}


def _names(phrases: frozenset[Phrase], held: frozenset[str]) -> list[str]:
    """Return the terms of those *phrases* that are *held* as a whole."""
    return sorted({term for phrase in phrases if held.issuperset(phrase) for term in phrase})
