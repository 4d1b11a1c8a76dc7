"""Spelling of a query: a word that no note holds is read as one that they hold and that is one slip away.

A slip is a letter too many, too few, another one, or two in the wrong order; the first letter is mostly right. Words of
the embedder's vocabulary stay: "stalls" is no slip of "balls". Only the word counts of the searched scopes are asked,
so that no other audience's words show.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workspaces.access import Scope
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
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюя"


@dataclass(frozen=True, slots=True)
class Spelling:
    """Corrects queries by the words of the searched scopes."""

    words: Rarity
    embedder: object
    """Knows words if it is a `Vocabulary`."""

    def corrected(self, query: str, scopes: frozenset[Scope] | None) -> str:
        """Return *query* with misspelt words replaced by those of the notes; itself if there are none."""
        left = MOST_WORDS
        text = normalised(query)
        replaced: list[tuple[int, int, str]] = []
        for match in self._unknown(text, scopes):
            if left and (better := self._nearest(match[0].casefold(), scopes)):
                replaced.append((match.start(), match.end(), better))
                left -= 1
        for start, end, better in reversed(replaced):
            text = text[:start] + better + text[end:]
        return text if replaced else query

    def _unknown(self, text: str, scopes: frozenset[Scope] | None) -> list[re.Match[str]]:
        """Return the words of *text* that neither a note of *scopes* nor the vocabulary holds."""
        least = SHORTEST if language_of(text) in {ENGLISH, None} else SHORTEST_ELSEWHERE
        words = [match for match in _WORD.finditer(text) if least <= len(match[0]) <= LONGEST]
        words = [match for match in words if match[0].casefold() not in STOP_WORDS]
        numbers = [term_number(stem(match[0].casefold())) for match in words]
        known = self.words.counts(numbers, scopes) if words else {}
        strange = [match for match, number in zip(words, numbers, strict=True) if not known.get(number)]
        return [match for match in strange if not self._is_word(match[0].casefold())]

    def _is_word(self, word: str) -> bool:
        return isinstance(self.embedder, Vocabulary) and any(map(self.embedder.is_word, (word, stem(word))))

    def _nearest(self, word: str, scopes: frozenset[Scope] | None) -> str:
        """Return the word of *scopes* that *word* is a slip of, the most frequent one; empty without one."""
        numbers = {near: term_number(stem(near)) for near in dict.fromkeys(_slips(word))}
        known = self.words.counts(list(dict.fromkeys(numbers.values())), scopes)
        found = [near for near, number in numbers.items() if known.get(number)]
        return max(found, key=lambda near: known[numbers[near]], default="")


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
