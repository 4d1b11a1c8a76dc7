"""Conversations as a source of an agent's memory: messages and answers, one line each.

A long one is several documents, so that each step over it is short and a new message leads to one of them alone. Tool
results are left out, and commands with their answers: a note's text is found in the note.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, tzinfo
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from msgspec import Struct

from gateway.agent.authorship import others_words, own_words
from gateway.agent.entries import ReplyEntry, UserEntry, own_answer
from gateway.agent.house import is_house
from gateway.agent.receipts import without_imitations
from gateway.transcripts.codec import Record, command_turns, earlier_versions, is_version, numbered_records
from gateway.transcripts.parts import PartsCache
from gateway.transcripts.store import ARCHIVE
from gateway.transcripts.withheld import withheld_places
from workspaces.access import PRIVATE, AgentId, Scope, SessionType
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.entry import PART_LINES, Document, part_path, split_path
from workspaces.memory.text.dialogue import LineKind, answer_kind, day_heading, kind_of_speech, transcript_line

FOLDER = "sessions"
SUFFIX = ".jsonl"
AFTER_BYTES = 100_000
AFTER_MESSAGES = 50
"""Further messages after which an open conversation is indexed again (the figures of the systems this follows)."""
QUIET_S = 4.0
"""Seconds of rest after which a conversation is indexed to its end; below `SETTLE_S`, so that none is forgotten."""
SETTLE_S = 5.0
"""Delay between a change and its indexing, in seconds: a turn writes several times. One more message of a part of 500
lines takes the worker 13 to 35 ms."""

_MESSAGE = lazy_pattern(rb'"type":"(?:user|reply)"')
"""Cannot occur inside a text, where quotation marks are escaped."""
_NUMBERED = lazy_pattern(rb'"(?:turn|message_id)":"[^"]*"')
"""Numbers that count the messages of all chats: their length must not affect when one chat's transcript is found."""
_HOLLOW = frozenset({LineKind.SMALL_TALK, LineKind.NO_ANSWER})
_HOUSE = b'"is_house":true'
IMPORTED = "This conversation was imported from "
"""Begins the gateway's line in front of an imported conversation; its title follows a colon."""
OTHERS = "Somebody else"
"""The speaker of words that a message passes on."""
_PAUSED = lazy_pattern(rb'"type":"logged"|"text":"/history\b')
"""The mark of a pause or an end, or the question what was said: a conversation is indexed up to it at once."""
_NOT_IN_A_NAME = lazy_pattern(r"[^\w .'’-]")
_LONGEST_NAME = 30


class _ShownLine(Struct, frozen=True):
    """A line of the document of a conversation."""

    number: int
    """Its record's line in the file."""
    text: str
    is_others: bool = False
    """It holds others' words."""
    is_house: bool = False
    """It stays on the owner's machines."""


class _Count(Struct):
    """What a transcript holds from its first open part on, as far as it was read."""

    inode: int
    start: int
    """In bytes."""
    read: int
    size: int = 0
    messages: int = 0
    pauses: int = 0

    def add(self, line: bytes) -> None:
        if line.endswith(b"\n"):  # another one is being written
            self.read += len(line)
            self.size += len(line) - sum(map(len, _NUMBERED.findall(line)))
            self.messages += len(_MESSAGE.findall(line))
            self.pauses += _PAUSED.search(line) is not None


class TranscriptNotes:
    """The `Source` of an agent's conversations; the main one is private, every other belongs to its own chat."""

    def __init__(self, agent: AgentId, folder: Path, zone: tzinfo, now_s: Callable[[], float] = time.time) -> None:
        """*folder* holds the transcripts; days and times are shown in *zone*; *now_s* is a Unix time."""
        self._agent = agent
        self._folder = folder
        self._zone = zone
        self._now_s = now_s
        self._counts: dict[str, _Count] = {}
        self._parts = PartsCache()

    def stamps(self) -> dict[str, str]:
        """Return a stamp of each part, which changes with 100 kB, 50 messages, a pause and a rest; the latest first."""
        files = self._files()
        for gone in self._counts.keys() - {file.name for file in files}:
            del self._counts[gone]
        self._parts.forget_all_but({*files})
        stamps: dict[str, str] = {}
        for file in files:
            with suppress(FileNotFoundError):  # archived since it was listed: it has its stamp there the next time
                stamps |= self._stamps_of(file)
        return stamps

    def read(self, path: str) -> Document | None:
        """Return the part of a conversation at *path*, or `None` if it is gone."""
        name, part = split_path(path)
        file = self._folder / name.removeprefix(f"{FOLDER}/")
        if self.audience(path) is None or not file.is_file():
            return None
        try:
            parts = self._parts.of(file)
            if part >= parts.count:
                return None
            records = list(numbered_records(_speech_lines(parts.lines_of(file, part))))
        except FileNotFoundError:  # archived in between
            return None
        orders, first = command_turns(record for _, record in records), part * PART_LINES
        own = [(first + number, record) for number, record in records if number <= PART_LINES]
        old = earlier_versions(record for _, record in records)
        said = [(n, each) for n, each in own if each.turn_id not in orders and not is_version(each, old)]
        withheld = withheld_places([each for _, each in said])
        said = [each for place, each in enumerate(said) if place not in withheld]
        shown = list(self._document_lines(said, parts.outside_from))
        text, lines = "".join(f"{each.text}\n" for each in shown), tuple(each.number for each in shown)
        others = tuple(place for place, each in enumerate(shown, 1) if each.is_others)
        house = tuple(place for place, each in enumerate(shown, 1) if each.is_house)
        scope = scope_of_session(_session(name))
        digest = hashlib.sha256(f"{path}\0{scope}\0{lines}\0{others}\0{text}".encode()).hexdigest()
        return Document(path, scope, text, None, digest, lines, others, house)

    def may_hold_house(self, path: str) -> bool:
        """Tell whether the part of a conversation may hold a message that stays on the owner's machines."""
        name, part = split_path(path)
        file = self._folder / name.removeprefix(f"{FOLDER}/")
        with suppress(FileNotFoundError):
            parts = self._parts.of(file)
            return part < parts.count and any(_HOUSE in line for line in parts.lines_of(file, part))
        return False

    def audience(self, path: str) -> Scope | None:
        """Return the audience of the transcript at *path*; `None` if that is not a transcript's path."""
        folder, _, name = split_path(path)[0].partition("/")
        if folder != FOLDER or "/" in name.removeprefix(f"{ARCHIVE}/") or not name.endswith(SUFFIX):
            return None
        return scope_of_session(_session(split_path(path)[0]))

    def _files(self) -> list[Path]:
        found = [*self._folder.glob(f"*{SUFFIX}"), *self._folder.glob(f"{ARCHIVE}/*{SUFFIX}")]
        return sorted(file for file in found if file.is_file() and not file.is_symlink())

    def _stamps_of(self, file: Path) -> dict[str, str]:
        facts, path = file.stat(), f"{FOLDER}/{file.relative_to(self._folder)}"
        parts = self._parts.of_large(file, facts.st_size)
        if parts is None:
            return {path: self._stamp(file, facts, 0)}
        last = self._stamp(file, facts, parts.starts[parts.closed])
        last += f"-from-{parts.closed}" if parts.closed else ""  # the size in bytes must not show
        is_closed = {part: f"{facts.st_ino}-to-{parts.starts[part + 1]}" for part in range(parts.closed)}
        return {part_path(path, part): is_closed.get(part, last) for part in range(parts.count - 1, -1, -1)}

    def _stamp(self, file: Path, facts: os.stat_result, start: int) -> str:
        """Return the stamp of what *file* holds from the offset *start* on."""
        if self._now_s() - facts.st_mtime > QUIET_S:
            self._counts.pop(file.name, None)
            return f"{facts.st_ino}-{facts.st_size}"
        seen = self._measure(file, facts, start)
        return f"{facts.st_ino}-{seen.size // AFTER_BYTES}-{seen.messages // AFTER_MESSAGES}-{seen.pauses}"

    def _measure(self, file: Path, facts: os.stat_result, start: int) -> _Count:
        """Return the size of the transcript so far; reads only the new part."""
        known = self._counts.get(file.name)
        if known is None or (known.inode, known.start) != (facts.st_ino, start) or known.read > facts.st_size:
            known = self._counts[file.name] = _Count(facts.st_ino, start, start)
        with file.open("rb") as lines:
            lines.seek(known.read)
            for line in lines:
                known.add(line)
        return known

    def _document_lines(self, records: Sequence[tuple[int, Record]], outside_from: int) -> Iterator[_ShownLine]:
        """Yield each line of the document.

        The agent's answers from the line *outside_from* on do: it had read such words by then.
        """
        day: date | None = None
        for number, record in records:
            said = self._spoken(record)
            if not said:
                continue
            at = record.at.astimezone(self._zone)
            if at.date() != day:
                day = at.date()
                yield _ShownLine(number, day_heading(day))
                yield _ShownLine(number, "")
            for speaker, text, kind in said:
                is_others = speaker == OTHERS or (speaker == self._agent and number >= outside_from)
                yield _ShownLine(number, transcript_line(speaker, at, text, kind), is_others, is_house(record.entry))

    def _spoken(self, record: Record) -> list[tuple[str, str, LineKind]]:
        """Return speaker, text and kind of what *record* says: nothing that leads to no answer.

        Words that a message passes on stand apart from the sender's own.
        """
        match record.entry:
            case UserEntry(is_ours=False) as entry:
                name, passed_on = _name(entry.sender) or "Owner", _one_line(others_words(entry))
                said = [(OTHERS, passed_on, kind_of_speech(passed_on)), (name, own_words(entry), record.speech)]
            case UserEntry(is_ours=True, from_outside=True, text=text) if text.startswith(IMPORTED):
                title = text.partition(": ")[2]
                said = [(OTHERS, title, kind_of_speech(title))]
            case ReplyEntry() as entry:
                text = without_imitations(own_answer(entry))
                said = [(self._agent, text, record.speech and answer_kind(record.speech))]
            case _:
                said = []
        return [(who, _one_line(text), kind) for who, text, kind in said if kind is not None and kind not in _HOLLOW]


def _speech_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines, those without speech emptied: tool results are most of a long transcript."""
    return (line if _MESSAGE.search(line) else b"" for line in lines)


def _session(path: str) -> str:
    """Return the name of the session whose transcript is at *path*; an archived one has its end in its name."""
    file = PurePosixPath(path)
    return unquote(file.stem.rpartition(".")[0] if file.parent.name == ARCHIVE else file.stem)


def scope_of_session(name: str) -> Scope:
    """Return the audience of the session called *name* by `SessionKey`: private unless it belongs to a chat."""
    kind, _, address = name.partition(":")
    return Scope(f"shared:{address}") if kind in {SessionType.GUEST, SessionType.GROUP} and address else PRIVATE


def _name(sender: str) -> str:
    return " ".join(_NOT_IN_A_NAME.sub(" ", sender).split())[:_LONGEST_NAME].strip()


def _one_line(text: str) -> str:
    """Return *text* as the rest of a line that opens no comment, which would hide others' later words."""
    return " ".join(text.split()).replace("<!--", "<! --")
