"""Entries of notes as the check-up reads them: their words, their day, and the turn or the hand that wrote them."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from msgspec import Struct

from workspaces.access import scope_of
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.entry import Document
from workspaces.memory.text.chunking import entries_of
from workspaces.memory.text.dialogue import LineKind, ParsedLine, read_line
from workspaces.memory.text.fingerprint import fingerprint
from workspaces.memory.text.known_lines import until
from workspaces.memory.text.tokens import STOP_WORDS, normalised, stem
from workspaces.memory.workspace_source import day_of

_WORD = lazy_pattern(r"\w+")
_HEADING = lazy_pattern(r"\s*+#{1,6}\s")
_DENIALS = "not no nor never none cannot don't isn't doesn't can't won't didn't aren't"
_DENYING = frozenset([*_DENIALS.split(), *_DENIALS.replace("'", "").split()])
_WHO = frozenset("user owner user's owner's".split())  # noqa: SIM905
"""Whom every line is about."""
_TIME = lazy_pattern(r"\A\[?\d{1,2}:\d{2}\]?\s")
OWNER = "Owner"
"""How the gateway calls the owner in notes of conversations."""
_OFTEN = 3
_LONGEST = 2_000
"""Characters of an entry that are compared."""


class Hand(StrEnum):
    """Whose hand wrote a line, as far as its history tells."""

    OWNER = "owner"
    """The owner wrote or approved it."""
    AGENT = "agent"
    """A turn wrote it, or the gateway after a turn."""
    UNKNOWN = "unknown"
    """Imported, from before trailers, or changed while no gateway watched."""


class LineSource(Struct, frozen=True):
    """The commit that first wrote a line."""

    hand: Hand = Hand.UNKNOWN
    day: date | None = None
    """`None` if nobody recorded it."""
    turn: str = ""
    """Empty unless a turn wrote it."""
    session: str = ""


UNRECORDED = LineSource()
"""Of a line that no commit has."""


@dataclass(frozen=True)
class NotedEntry:
    """An entry of a note."""

    path: str
    first_line: int
    last_line: int
    raw: str
    """Its lines as they are in the file."""
    text: str
    """Without list mark, speaker and time of day."""
    speaker: str = ""
    """Of a line of a conversation; empty for a note."""
    kind: LineKind = LineKind.NOTE
    day: date | None = None
    """Of the daily notes it stands in, or of the heading above it there."""
    source: LineSource = field(default=UNRECORDED, repr=False)
    is_part: bool = False
    """It shares a line with another one."""
    copy: int = 0
    """Number of equal entries above it in its file."""

    @property
    def citation(self) -> str:
        """Location, as `path#Ln`."""
        return f"{self.path}#L{self.first_line}"

    @property
    def place(self) -> str:
        """Location, told apart from that of an entry that shares its line."""
        return f"{self.citation}\0{self.text}"

    @property
    def is_lasting(self) -> bool:
        """Whether it stands in `MEMORY.md`."""
        return "/" not in self.path

    @property
    def is_note(self) -> bool:
        """Whether somebody wrote it as a note: no line of a conversation, no heading of one, not yet replaced."""
        return not self.speaker and self.kind is LineKind.NOTE and until(self.raw) is None

    @property
    def is_agents(self) -> bool:
        """Whether the history says that a turn or the gateway wrote it."""
        return self.source.hand is Hand.AGENT

    @property
    def since(self) -> date | None:
        """The day from which it has been there: of its file, else of the commit that wrote it."""
        return self.day or self.source.day

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """Its words in lower case, in order."""
        return plain(self.text)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of its words, by which uses of it are known wherever it stands."""
        return fingerprint(f"{self.speaker}: {self.text}" if self.speaker else self.text)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of the words that say something."""
        return stems_of(self.plain)

    @cached_property
    def figures(self) -> frozenset[str]:
        """Its words with digits."""
        return figures_of(self.plain)


def plain(text: str) -> tuple[str, ...]:
    """Return the words of *text* in lower case, in order."""
    return tuple(_WORD.findall(normalised(text[:_LONGEST]).casefold()))


def stems_of(words: tuple[str, ...]) -> frozenset[str]:
    """Return the stems of those of *words* that say something; a denial does."""
    said = {word for word in words if (word not in STOP_WORDS or word in _DENYING) and word not in _WHO}
    return frozenset(_stem(word) for word in said if len(word) > 1 or word.isdigit())


def figures_of(words: Iterable[str]) -> frozenset[str]:
    """Return those of *words* with digits."""
    return frozenset(word for word in words if any(map(str.isdigit, word)))


@lru_cache(50_000)
def _stem(word: str) -> str:
    return stem(word)


def noted_entries(path: PurePosixPath, whole: str, agent: str = "") -> Iterator[NotedEntry]:
    """Yield the entries of the note at *path* with the text *whole*, in order; code, tables and headings are none.

    `Rule: …` is a note, `Ann: …` in a conversation is not: who speaks often enough in a file of days is somebody.
    """
    text = whole.removeprefix("\ufeff").replace("\r\n", "\n")
    lines, day = text.split("\n"), day_of(path)
    found = entries_of(Document(str(path), scope_of(path), text, day, ""))
    fenced = _fenced(lines)
    begins = [entry.start_line for entry in found]
    read = [read_line(entry.text) for entry in found]
    speakers = {OWNER, agent} | _speakers(read) if day else {OWNER, agent}
    copies: Counter[str] = Counter()
    for place, entry in enumerate(found):
        raw = "\n".join(lines[entry.start_line - 1 : entry.end_line])
        if entry.start_line in fenced or not _is_prose(raw, entry.text):
            continue
        line = read[place]
        if line.speaker and line.speaker not in speakers:
            line = ParsedLine(_TIME.sub("", entry.text), "", line.time)
        shares = entry.start_line in begins[max(place - 1, 0) : place] + begins[place + 1 : place + 2]
        span = entry.start_line, entry.end_line
        yield NotedEntry(
            str(path),
            *span,
            raw,
            line.text,
            line.speaker,
            line.kind,
            day and entry.date,
            UNRECORDED,
            shares,
            copies[raw],
        )
        copies[raw] += 1


def _speakers(lines: Iterable[ParsedLine]) -> set[str]:
    count = Counter(line.speaker for line in lines if line.time)
    return {name for name, number in count.items() if name and number >= _OFTEN}


def _fenced(lines: Sequence[str]) -> set[int]:
    """Return the numbers, from 1, of the lines of code blocks."""
    inside, found = False, set[int]()
    for number, line in enumerate(lines, 1):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        if inside or is_fence:
            found.add(number)
        inside ^= is_fence
    return found


def _is_prose(raw: str, text: str) -> bool:
    first = raw.lstrip()
    return not first.startswith("|") and not _HEADING.match(raw) and bool(text.strip())


def digest_of(*facts: str) -> str:
    """Return eight hex digits that identify *facts*."""
    return hashlib.sha256("\0".join(facts).encode("utf-8", "surrogatepass")).hexdigest()[:8]
