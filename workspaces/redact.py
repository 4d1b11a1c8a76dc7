"""Redaction of passages in notes, transcripts and JSON, whatever their formatting."""

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.dialogue import read_line
from workspaces.memory.text.tokens import UNSPACED
from workspaces.normal_form import normal_form

SHORTEST = 8
"""In letters and digits; one of a script without spaces counts double. A shorter passage may be part of anything."""
PURGED = "[purged]"
WIDEST_GAP = 40
"""Characters between two words of a passage: line ends, indents, quotation and list marks."""
CUT_WORDS = 5
"""Words of a passage that was cut off, with `…` or at the end of a text, from which it is still known."""
LONGEST_LEAD = 120
"""Characters on a line before a passage that may be its marks, time and speaker."""

_WORD = lazy_pattern(rf"[{UNSPACED}]|(?:[^\W{UNSPACED}][\u0300-\u036f]*)+")
_UNSPACED = lazy_pattern(f"[{UNSPACED}]")
_MARKS = lazy_pattern(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?")
"""Possible marks before a note on its line: quotation, list mark, checkbox."""
_REST_OF_LINE = lazy_pattern(r"[^\w\r\n]*(?:\r\n|\r|\n|\Z)")
_ELLIPSIS = lazy_pattern(r"[^\w\n]{0,3}(?:…|\.\.\.|\Z)")
_ESCAPE = lazy_pattern(r'\\["\\/bfnrt]')
"""Of JSON; its letter would belong to the word behind it."""
_COMMAND = lazy_pattern(r"(?P<name>/\w{1,32}(?:@\w{1,32})?)\s+(?P<words>\S.*)", re.DOTALL)


class _Words(Struct, frozen=True):
    """Folded words of a text, and their positions."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> "_Words":
        found = list(_WORD.finditer(text))
        return cls(tuple(_folded_word(match[0]) for match in found), tuple(match.span() for match in found))


class Redaction:
    """Passages in any case and punctuation. The same statement in other words is another passage."""

    def __init__(self, *passages: str, spared: Collection[object] = ()) -> None:
        """Raises ValueError for a passage too short to be distinctive."""
        self._passages = [_words_of(passage) for passage in passages]
        self._whole, self._spared = passages, spared
        if any(_weight(words) < SHORTEST for words in self._passages):
            raise ValueError(f"a passage of fewer than {SHORTEST} letters would be removed everywhere")

    def sparing(self, fingerprints: Collection[object]) -> "Redaction":
        """Return the redaction that leaves *fingerprints* in records: those of notes that stay."""
        return Redaction(*self._whole, spared=fingerprints)

    def is_in(self, text: str) -> bool:
        """Tell whether *text* contains one of the passages."""
        return bool(self._spans(text))

    def out_of(self, text: str) -> str:
        """Return a note's *text* without the passages; lines with nothing else are removed too."""
        return _cut_out(text, [_whole_lines(text, span) or (*span, "") for span in self._spans(text)])

    def over(self, value: object) -> object:
        """Return *value*, parsed JSON, with passages marked as purged in every text, also in JSON within a text.

        Fingerprints of notes go too, but for those that it spares.
        The words of a command that names a passage are part of it.
        """
        match value:
            case dict():
                clean = {name: self.over(inner) for name, inner in value.items()}
                if "citation" in clean and clean.get("fingerprint") and clean["fingerprint"] not in self._spared:
                    clean["fingerprint"] = ""
                return self._redact_call(clean)
            case list():
                return [self.over(inner) for inner in value]
            case str():
                return self._redact_text(value)
            case _:
                return value

    def _redact_text(self, text: str) -> str:
        if text[:1] in {"{", "["} and (again := self._redact_json(text)) is not None:
            return again
        if (command := _COMMAND.fullmatch(text)) and self._names(command["words"]):
            return f"{command['name']} {PURGED}"
        plain = _ESCAPE.sub("  ", text) if text[:1] in {"{", "["} else text  # a result that was cut is JSON no more
        return _cut_out(text, [(*span, PURGED) for span in self._spans(plain)])

    def _redact_json(self, text: str) -> str | None:
        """Return the JSON in *text* redacted; `None` if it is not JSON."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        redacted = self.over(value)
        return text if redacted == value else json.dumps(redacted, ensure_ascii=False)

    def _redact_call(self, record: dict[str, object]) -> dict[str, object]:
        """Return a *record*, possibly a command's call, without the words that name a passage."""
        name, arguments = record.get("name"), record.get("arguments")
        if not (isinstance(name, str) and name.startswith("/") and isinstance(arguments, str)):
            return record
        try:
            given = json.loads(arguments)
        except (ValueError, RecursionError):
            return record
        words = given.get("arguments") if isinstance(given, dict) else None
        if not (isinstance(words, str) and self._names(words)):
            return record
        return record | {"arguments": json.dumps({**given, "arguments": PURGED})}

    def _names(self, text: str) -> bool:
        """Tell whether each word of *text* belongs to the same passage."""
        words = set(_Words.of(text).words)
        return bool(words) and any(words <= set(passage) for passage in self._passages)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Return the ranges of passages in *text*, in order and disjoint."""
        found = _Words.of(text)
        joined = _join_words(found.words)
        starts = [0]
        for word in found.words:
            starts.append(starts[-1] + len(word) + 1)
        ends = (
            (found.spans[first][0], _end(text, found, passage, first))
            for passage in self._passages
            for first in _places(joined, passage[:CUT_WORDS], starts)
        )
        return _merged([(begin, end) for begin, end in ends if end is not None])


def _words_of(passage: str) -> tuple[str, ...]:
    """Return the words of *passage* without its marks, its time and, in a line of a dialogue, its speaker."""
    line = read_line(_without_marks(passage.lstrip()))
    told = _Words.of(line.text).words
    if line.speaker and not (line.time and _weight(told) >= SHORTEST):
        return _Words.of(f"{line.speaker} {line.text}").words
    return told


def _without_marks(text: str) -> str:
    """Return *text* without its leading marks."""
    marks = _MARKS.match(text)
    return text[marks.end() :] if marks else text


def _places(joined: str, words: Sequence[str], starts: Sequence[int]) -> Iterator[int]:
    """Yield the number of each word at which *words* occur in *joined*; `str.find` takes linear time."""
    wanted = _join_words(words)
    place = joined.find(wanted)
    while place >= 0:
        yield bisect_left(starts, place)
        place = joined.find(wanted, place + 1)


def _end(text: str, found: _Words, passage: Sequence[str], first: int) -> int | None:
    """Return the end in *text* of the passage that begins with word number *first*; `None` if it is incomplete."""
    last = first
    for number, word in enumerate(passage[1:], 1):
        place = first + number
        gap = found.spans[place][0] - found.spans[last][1] if place < len(found.words) else 0
        if place >= len(found.words) or found.words[place] != word or gap > WIDEST_GAP:
            return _cut_end(text, found, passage, first, number)
        last = place
    return found.spans[last][1]


def _cut_end(text: str, found: _Words, passage: Sequence[str], first: int, matched: int) -> int | None:
    """Return the end of a truncated passage with only *matched* words, and a part of the next."""
    end = found.spans[first + matched - 1][1]
    place = first + matched
    if place < len(found.words) and passage[matched].startswith(found.words[place]):
        partial = found.spans[place]
        end = partial[1] if _ELLIPSIS.match(text, partial[1]) and partial[0] - end <= WIDEST_GAP else end
    is_known = matched >= CUT_WORDS and _weight(passage[:matched]) >= SHORTEST
    return end if is_known and _ELLIPSIS.match(text, end) else None


def _whole_lines(text: str, span: tuple[int, int]) -> tuple[int, int, str] | None:
    """Return *span* extended to whole lines, if they hold nothing else but marks, time and speaker."""
    begin = max(text.rfind("\n", 0, span[0]), text.rfind("\r", 0, span[0])) + 1
    after = _REST_OF_LINE.match(text, span[1])
    if after is None or span[0] - begin > LONGEST_LEAD:
        return None
    lead = _without_marks(text[begin : span[0]])
    is_lead = not _WORD.search(lead) or read_line(f"{lead}x").text.lstrip("*_`\"'([") == "x"
    return (begin, after.end(), "") if is_lead else None


def _cut_out(text: str, cuts: Sequence[tuple[int, int, str]]) -> str:
    """Return *text* with each of *cuts*, in order, replaced."""
    parts, at = [], 0
    for begin, end, instead in cuts:
        parts += [text[at : max(begin, at)], instead]
        at = max(end, at)
    return "".join([*parts, text[at:]])


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return *spans* in order, adjacent ones merged."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _join_words(words: Sequence[str]) -> str:
    return "\0".join(["", *words, ""])


def _weight(words: Sequence[str]) -> int:
    return sum(2 if _UNSPACED.fullmatch(word) else len(word) for word in words)


def _folded_word(word: str) -> str:
    return normal_form("NFC", word).casefold()
