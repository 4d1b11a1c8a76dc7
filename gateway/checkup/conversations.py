"""Evidence about notes in an agent's conversations: names that were spoken of, and notes that a turn had in view."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, tzinfo
from itertools import groupby
from pathlib import Path, PurePosixPath

from gateway.agent.authorship import own_words
from gateway.agent.entries import ReplyEntry, ResultEntry, UsedEntry, UserEntry
from gateway.checkup.notes import Read
from gateway.transcripts.archive import ArchivedConversation, archived_sessions, part_at
from gateway.transcripts.codec import Record
from workspaces.access import Access, AgentId
from workspaces.citations import cited_lines
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.checkup.copies import Instruction
from workspaces.memory.checkup.doubles import repeats
from workspaces.memory.checkup.findings import FindingKind, NoteFinding
from workspaces.memory.checkup.noted import NotedEntry, noted_entries, plain, stems_of
from workspaces.memory.checkup.people import name_words, people_named, words_said
from workspaces.memory.checkup.quality import EntryUse
from workspaces.memory.hits import CLEAR
from workspaces.memory.text.dialogue import read_line
from workspaces.memory.workspace_source import is_note

SAID = 0.6
"""Share of a note's words that its person used in the same turn: then it repeats them, and no search."""
_READS_NOTES = frozenset({"memory_search", "memory_get", "search_memory", "search_history"})
_PATH = lazy_pattern(r'"path"\s{0,9}:\s{0,9}"([^"]{1,300})"')
_ORDERS = ("cron:", "heartbeat")
"""Begin the names of sessions in which the gateway gives orders."""
_MOST_ORDERS = 500
_LONGEST_SHOWN = 20_000
"""Characters of one result that are read."""


@dataclass
class Evidence:
    """Evidence about the notes of one agent, gathered turn by turn; no conversation is kept."""

    entries: Sequence[NotedEntry]
    agent: AgentId
    zone: tzinfo
    findings: list[NoteFinding] = field(default_factory=list)
    """Notes that repeat others which their turn had in view."""
    uses: dict[str, EntryUse] = field(default_factory=dict)
    """By citation."""
    orders: dict[str, Instruction] = field(default_factory=dict)
    """Orders of jobs and heartbeats."""

    def __post_init__(self) -> None:
        self._by_turn = _grouped(self.entries, lambda each: each.source.turn)
        self._by_path = _grouped(self.entries, lambda each: each.path)
        self._by_fingerprint = _grouped(self.entries, lambda each: each.fingerprint)
        self._spoken = _grouped(self.entries, lambda each: str(each.day) if each.speaker == self.agent else "")
        self._named = [
            (each, name) for each in self.entries if each.is_note and each.is_agents for name in people_named(each.text)
        ]
        self._unsaid = frozenset(word for _, name in self._named for word in name_words(name))
        self._turns: set[str] = set()
        self._days: set[tuple[str, date]] = set()
        self._looped: set[str] = set()
        self._said: defaultdict[tuple[str, date], set[str]] = defaultdict(set)
        """Stems of people's words, by session and day."""
        self._unsaid_in_turn: set[str] = set()

    def hear(self, text: str) -> None:
        """Take in words of somebody: names among them are spoken of."""
        if self._unsaid:
            self._unsaid -= words_said(text)

    def take(self, session: str, turn: Sequence[Record]) -> None:
        """Take in one *turn* of the conversation of *session*."""
        day = turn[0].at.astimezone(self.zone).date()
        self._turns.add(turn[0].turn_id)
        self._days.add((session, day))
        self._listen(turn)
        said = stems_of(plain(" ".join(own_words(r.entry) for r in turn if isinstance(r.entry, UserEntry))))
        self._said[session, day] |= said
        written = self._by_turn.get(turn[0].turn_id, ())
        self._unsaid_in_turn |= {each.place for each in written if not _is_said(each, said)}
        if session.startswith(_ORDERS):
            self._take_orders(turn)
        shown = [*_shown_in(turn), *self._used_in(turn)]
        used = frozenset(each.fingerprint for each in shown) - _unclear_in(turn)
        for entry in (each for mark in used for each in self._by_fingerprint.get(mark, ())):
            known = self.uses.get(entry.citation, EntryUse())
            self.uses[entry.citation] = EntryUse(known.days, known.uses + 1, max(filter(None, (known.last, day))))
        if shown:
            self._compare(turn, day, shown, said)

    def invented(self) -> Iterator[tuple[NotedEntry, str]]:
        """Yield the notes that name somebody of whom nobody spoke, each with the name.

        A note whose conversation is not here is left alone.
        """
        for entry, name in self._named:
            said = name_words(name)
            if said and said <= self._unsaid and self._is_heard(entry):
                yield entry, name

    def unsaid(self) -> set[str]:
        """Return the places of notes that the agent wrote though nobody had said so in that turn, or on that day."""
        between = (each for each in self.entries if each.is_note and each.is_agents and not each.source.turn)
        return self._unsaid_in_turn | {
            each.place
            for each in between
            if self._is_heard(each) and not _is_said(each, self._said[self._day_of(each)])
        }

    def _day_of(self, entry: NotedEntry) -> tuple[str, date]:
        return entry.source.session.partition("/")[2], entry.day or entry.source.day or date.min

    def _is_heard(self, entry: NotedEntry) -> bool:
        if entry.source.turn:
            return entry.source.turn in self._turns
        return self._day_of(entry) in self._days

    def _listen(self, turn: Sequence[Record]) -> None:
        is_writing = turn[0].turn_id in self._by_turn
        asked: dict[str, str] = {}
        for record in turn:
            match record.entry:
                case UserEntry(text=text, sender=sender):
                    self.hear(f"{sender} {text}")
                case ReplyEntry(text=text, calls=calls):
                    asked |= {call.id: call.arguments for call in calls}
                    if not is_writing:  # its own report of a note proves nothing
                        self.hear(text)
                case ResultEntry(name=name) as result if name not in _READS_NOTES and not _is_of_note(
                    asked.get(result.call_id)
                ):
                    self.hear(result.text[:_LONGEST_SHOWN])
                case _:
                    pass

    def _take_orders(self, turn: Sequence[Record]) -> None:
        for record in turn:
            if isinstance(record.entry, UserEntry) and len(self.orders) < _MOST_ORDERS:
                self.orders.setdefault(record.entry.text, Instruction("an order of a job", record.entry.text))

    def _used_in(self, turn: Sequence[Record]) -> Iterator[NotedEntry]:
        """Yield the entries that *turn* recalled or found; older records know only where they stood."""
        for memory in (
            each for record in turn if isinstance(record.entry, UsedEntry) for each in record.entry.memories
        ):
            if memory.fingerprint:
                yield from self._by_fingerprint.get(memory.fingerprint, ())
            elif memory.fingerprint is None and memory.how != "read":
                yield from self._cited([memory.citation])

    def _cited(self, citations: Iterable[str]) -> list[NotedEntry]:
        found = []
        for cited in filter(None, map(cited_lines, citations)):
            notes = () if cited.day else self._by_path.get(cited.path, ())
            found += [each for each in notes if each.first_line in cited.lines and each.last_line in cited.lines]
        return found

    def _compare(self, turn: Sequence[Record], day: date, shown: Sequence[NotedEntry], said: frozenset[str]) -> None:
        """Find the notes that *turn* wrote, or that log its answer, and that repeat a note in view."""
        answers = " ".join(" ".join(plain(r.entry.text)) for r in turn if isinstance(r.entry, ReplyEntry))
        logged = [each for each in self._spoken.get(str(day), ()) if " ".join(each.plain) in answers]
        for entry in [*self._by_turn.get(turn[0].turn_id, ()), *logged]:
            if _is_said(entry, said) or entry.citation in self._looped:
                continue
            origin = next((each for each in shown if _is_above(each, entry) and _loops(entry, each)), None)
            if origin is not None:
                self._looped.add(entry.citation)
                reason = f"it repeats {origin.citation}, which a search had shown in the turn that wrote it"
                self.findings.append(NoteFinding(FindingKind.LOOPED, entry, reason, origin))


def _is_above(one: NotedEntry, other: NotedEntry) -> bool:
    """Tell whether *one* may have been there before *other*: of a file's alike lines the lower one is the later."""
    return one.path != other.path or one.first_line < other.first_line


def gather(evidence: Evidence, folder: Path, access: Access, read: Read) -> None:
    """Take in all conversations in *folder* that *access* may read, a megabyte at a time; it blocks."""
    for kept in archived_sessions(folder, access):
        session = kept.name if kept.ended is None else kept.name.rpartition(".")[0]
        for turn in _turns(kept, read):
            evidence.take(session, turn)


def count_parts(folder: Path, access: Access) -> int:
    """Return how many conversations `gather` reads."""
    return len(archived_sessions(folder, access))


def _turns(kept: ArchivedConversation, read: Read) -> Iterator[list[Record]]:
    for _, turn in groupby(_records(kept), key=lambda record: record.turn_id):
        yield list(turn)
    read()


def _records(kept: ArchivedConversation) -> Iterator[Record]:
    offset: int | None = 0
    while offset is not None:
        part = part_at(kept, offset)
        yield from part.records
        offset = part.next_at


def _unclear_in(turn: Sequence[Record]) -> set[str | None]:
    """Return the fingerprints of passages that a search of *turn* gave and that hardly fit: nobody used them."""
    found = (each for record in turn if isinstance(record.entry, UsedEntry) for each in record.entry.memories)
    return {each.fingerprint for each in found if 0 < each.score < CLEAR}


def _is_said(entry: NotedEntry, said: Collection[str]) -> bool:
    """Return whether people *said* most of the words of *entry*."""
    return sum(word in said for word in entry.stems) >= SAID * len(entry.stems)


def _loops(entry: NotedEntry, shown: NotedEntry) -> bool:
    """Return whether *entry* repeats *shown*, an older one; a day's note that became a lasting one is none."""
    if shown.citation == entry.citation or (entry.is_lasting and not shown.is_lasting) or not entry.stems:
        return False
    is_older = None in (shown.since, entry.since) or (shown.since or date.min) <= (entry.since or date.max)
    return is_older and repeats(entry, shown)


def _shown_in(turn: Sequence[Record]) -> list[NotedEntry]:
    """Return the hits and the notes read in *turn*: lines that have moved or gone since are known by their text."""
    return [
        hit
        for record in turn
        if isinstance(record.entry, ResultEntry) and record.entry.name in _READS_NOTES
        for hit in _hits(record.entry.text[:_LONGEST_SHOWN])
    ]


def _hits(text: str) -> Iterator[NotedEntry]:
    try:
        found = json.loads(text)
    except ValueError:
        return
    for hit in (found.get("hits") or [found]) if isinstance(found, dict) else ():
        match hit:
            case {"path": str(path), "text": str(said)}:
                if is_note(PurePosixPath(path)):
                    yield from noted_entries(PurePosixPath(path), said)
            case {"path": str(path), "start_line": int(first), "end_line": int(last), "snippet": str(said)}:
                if is_note(PurePosixPath(path)):
                    yield NotedEntry(path, first, last, said, read_line(said).text)
            case _:
                pass


def _is_of_note(arguments: str | None) -> bool:
    """Return whether a call with these *arguments* concerns a note: its text tells nothing new."""
    named = _PATH.search(arguments or "")
    return named is not None and is_note(PurePosixPath(named[1]))


def _grouped(entries: Iterable[NotedEntry], key: Callable[[NotedEntry], str]) -> Mapping[str, list[NotedEntry]]:
    found: defaultdict[str, list[NotedEntry]] = defaultdict(list)
    for each in entries:
        if name := key(each):
            found[name].append(each)
    return dict(found)
