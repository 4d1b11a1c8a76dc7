"""This file tells what was said in a part of a conversation, and shortens it without a language model."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import groupby
from typing import Protocol

from gateway.agent.entries import COMMAND, ForgottenEntry, ReplyEntry, ResultEntry, UserEntry
from gateway.agent.loop import NO_REPLY
from gateway.agent.models.offline import OFFLINE
from gateway.transcripts.writer import Record

OWNER = "Owner"
_QUOTING = "(quoting "
"""Begins an entry that carries a quotation; its lines begin with `>`."""
_OF_OTHERS = "(passed on somebody else's words)"
_NAME_CHARS = 30
_FIRST, _LAST = 3, 7
"""How many messages and answers of a part are kept from its beginning and its end."""
_SHOWN_CHARS = 200
_TELLING, _LITTLE_ELSE = 12, 4
"""A forgotten text of so many characters is known wherever it stands; a shorter one where no more than so many times
as much is said. Our choice."""
_MARKED = 5
"""Most decisions, and most open questions, that are pointed out."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_DECIDED = re.compile(
    r"\b(we|i|let's|let us)\s+(have\s+)?(decided|agreed|chose|chosen|go with|will go with|settled on)\b"
    r"|\b(decision|decided|agreed):|\bfrom now on\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(to-?do|open question|still open|not decided|undecided|to be decided|tbd|follow up|remains to)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Said:
    """A message, or an answer."""

    at: datetime
    """In the owner's zone."""
    who: str
    text: str
    is_answer: bool


class Writer(Protocol):
    """Decides what a day's notes say of a part of a conversation; a language model may be one."""

    async def summary(self, said: Sequence[Said]) -> str:
        """Return some lines, without a heading; an empty text for what is not worth a note."""


def conversation(records: Iterable[Record], agent: str, zone: tzinfo) -> list[Said]:
    """Return what people said in *records*, and what *agent* answered.

    Commands, tools and notices are left out, and so are words of third persons: what somebody forwards or quotes does
    not become a note, nor does what an agent answers after it read such text, nor what was to be forgotten afterwards.
    """
    every = list(records)
    turns = [list(turn) for _, turn in groupby(every, key=lambda record: record.turn_id)]
    said = (each for turn in turns if not _is_command(turn) for each in _said(turn, agent, zone))
    forgotten = [(r.at, _folded(text)) for r in every if isinstance(r.entry, ForgottenEntry) for text in r.entry.texts]
    return [
        each for each in said if not any(each.at <= at and _tells(_folded(each.text), text) for at, text in forgotten)
    ]


def _tells(message: str, forgotten: str) -> bool:
    """Say whether *message* tells what was *forgotten*: a word or two stand in much that was said of other things."""
    is_telling = len(forgotten) >= _TELLING or len(forgotten) * _LITTLE_ELSE >= len(message)
    return is_telling and forgotten in message


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _said(turn: Sequence[Record], agent: str, zone: tzinfo) -> Iterator[Said]:
    reads_others = any(isinstance(r.entry, UserEntry | ResultEntry) and r.entry.from_outside for r in turn)
    for record in turn:
        match record.entry:
            case UserEntry() as entry if text := _own_words(entry):
                name = " ".join(entry.sender.split())[:_NAME_CHARS] or OWNER
                yield Said(record.at.astimezone(zone), name, text, is_answer=False)
            case ReplyEntry(text=text, calls=(), model=model) if _is_answer(text, model) and not reads_others:
                yield Said(record.at.astimezone(zone), agent, text.strip(), is_answer=True)
            case _:
                pass


def _is_command(turn: Sequence[Record]) -> bool:
    return any(isinstance(record.entry, ReplyEntry) and record.entry.model == COMMAND for record in turn)


def _is_answer(text: str, model: str) -> bool:
    """Say whether an agent said it: the offline responder quotes notes, which are there already."""
    is_said = bool(text.strip()) and text.strip().upper() != NO_REPLY
    return is_said and model != OFFLINE and not model.startswith("strandline")


def _own_words(entry: UserEntry) -> str:
    if not entry.from_outside:
        return entry.text.strip()
    if not entry.text.startswith(_QUOTING):
        return _OF_OTHERS
    lines = entry.text.splitlines()[1:]
    return "\n".join(line for line in lines if not line.startswith(">")).strip() or _OF_OTHERS


class Extract:
    """Writes without a language model: the beginning and the end, shortened, and sentences that look like decisions."""

    async def summary(self, said: Sequence[Said]) -> str:
        """Return a line for each message that is kept, then decisions and open questions by their wording."""
        return "\n".join(_lines(said))


def _lines(said: Sequence[Said]) -> Iterator[str]:
    head, tail = (said, []) if len(said) <= _FIRST + _LAST else (said[:_FIRST], said[-_LAST:])
    yield from map(_line, head)
    if tail:
        yield f"- … {len(said) - _FIRST - _LAST} more messages"
        yield from map(_line, tail)
    sentences = [" ".join(part.split()) for each in said for part in _SENTENCE.split(each.text) if part.strip()]
    yield from (f"- Decided: {shortened(each)}" for each in _marked(sentences, _DECIDED))
    yield from (f"- Open: {shortened(each)}" for each in _marked(sentences, _OPEN))


def _marked(sentences: Sequence[str], pattern: re.Pattern[str]) -> list[str]:
    """Return the latest sentences in which *pattern* is found, in order, each once."""
    found = dict.fromkeys(sentence for sentence in sentences if pattern.search(sentence))
    return list(found)[-_MARKED:]


def _line(said: Said) -> str:
    return f"- {said.who} ({said.at:%H:%M}): {shortened(said.text)}"


def shortened(text: str, chars: int = _SHOWN_CHARS) -> str:
    """Return *text* on one line, cut at a word where it is longer than *chars*."""
    line = " ".join(text.split()).replace("<!--", "<! --")
    if len(line) <= chars:
        return line
    cut = line[: chars - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"
