"""Spelling of a query: a word that no note holds is read as one that they hold and that is one slip away.

A slip is a letter too many, too few, another one, or two in the wrong order; the first letter is mostly right. Words of
the embedder's vocabulary stay: "stalls" is no slip of "balls". A word that stands in questions and in agents' answers
alone is no word of the notes: whoever asked for the "plumber" is to find the "plumer" that they noted. Only the
searched scopes are asked, so that no other audience's words show.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from workspaces.access import Scope
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.index.embeddings import Vocabulary
from workspaces.memory.index.rarity import Rarity
from workspaces.memory.text.languages import ENGLISH, language_of
from workspaces.memory.text.sparse import term_number
from workspaces.memory.text.tokens import STOP_WORDS, normalised, stem

SHORTEST = 5
"""Letters of a word that is corrected: a shorter one has too many neighbours."""
SHORTEST_ELSEWHERE = 7
"""The same in a query in a language that the vocabulary lacks: a shorter one mostly is a word, as "laube" is."""
LONGEST = 24
"""Letters of a word that is corrected; bounds the work."""
MOST_WORDS = 3
"""Words of a query that are corrected."""
OFTEN = 50
"""Entries from which on a word is known, whatever they are: looking at more of them takes longer."""
_WORD = lazy_pattern(r"[^\W\d_]+")
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюя"


class Spelling(Struct, frozen=True):
    """Corrects queries by the words of the searched scopes."""

    words: Rarity
    embedder: object
    """Knows words if it is a `Vocabulary`."""
    tells: Callable[[int, frozenset[Scope] | None], bool]
    """Tells whether some line of the scopes states something with the word of a number; at most `OFTEN` hold it."""

    def corrected(self, query: str, scopes: frozenset[Scope] | None) -> str:
        """Return *query* with misspelt words replaced by those of the notes; itself if there are none."""
        left = MOST_WORDS
        text = normalised(query)
        replaced: list[tuple[int, int, str]] = []
        for match in self._strange(text):
            if left and (better := self._meant(match[0].casefold(), scopes)):
                replaced.append((match.start(), match.end(), better))
                left -= 1
        for start, end, better in reversed(replaced):
            text = text[:start] + better + text[end:]
        return text if replaced else query

    def _strange(self, text: str) -> list[re.Match[str]]:
        """Return the words of *text* that the vocabulary does not hold."""
        least = SHORTEST if language_of(text) in {ENGLISH, None} else SHORTEST_ELSEWHERE
        words = [match for match in _WORD.finditer(text) if least <= len(match[0]) <= LONGEST]
        return [each for each in words if (word := each[0].casefold()) not in STOP_WORDS and not self._is_word(word)]

    def _is_word(self, word: str) -> bool:
        return isinstance(self.embedder, Vocabulary) and any(map(self.embedder.is_word, (word, stem(word))))

    def _meant(self, word: str, scopes: frozenset[Scope] | None) -> str:
        """Return the word of *scopes* that *word* is a slip of, the most frequent one; empty without one."""
        numbers = {near: term_number(stem(near)) for near in (word, *_slips(word))}
        known = self.words.counts(list(dict.fromkeys(numbers.values())), scopes)
        own = numbers.pop(word)
        near = [each for each, number in numbers.items() if known.get(number) and number != own]
        if not near or self._is_told(own, known, scopes):
            return ""
        ordered = sorted(near, key=lambda each: -known[numbers[each]])
        return next((each for each in ordered if self._is_told(numbers[each], known, scopes)), "")

    def _is_told(self, number: int, known: Mapping[int, int], scopes: frozenset[Scope] | None) -> bool:
        entries = known.get(number, 0)
        return entries > OFTEN or (entries > 0 and self.tells(number, scopes))


def _slips(word: str) -> Iterator[str]:
    """Yield what is one slip away from *word*, with its first letter; nothing for a script without an alphabet here."""
    alphabet = next((each for each in (_LATIN, _CYRILLIC) if word[0] in each), "")
    if not alphabet:
        return
    for place in range(1, len(word) + 1):
        before, after = word[:place], word[place:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        if after:
            yield before + after[1:]
        for letter in alphabet:
            yield before + letter + after
            if after:
                yield before + letter + after[1:]
