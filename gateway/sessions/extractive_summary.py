"""Extractive summary of a part of a conversation, without a language model."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from itertools import accumulate, groupby
from operator import or_

from msgspec import Struct, structs
from pydantic import BaseModel, ValidationError

from gateway.agent.authorship import others_words, own_words
from gateway.agent.entries import COMMAND, ForgottenEntry, ReplyEntry, ResultEntry, UserEntry, own_answer
from gateway.agent.receipts import without_imitations
from gateway.agent.write_policy import is_from_outside
from gateway.transcripts.codec import Record, earlier_versions, is_version
from gateway.transcripts.withheld import withheld_places
from workspaces.memory.text.dialogue import (
    EVIDENCE,
    LineKind,
    answer_kind,
    is_question,
    is_small_talk,
    left_out_line,
    log_line,
)
from workspaces.memory.text.facts import FactKind, facts_in, folded, sentences

OWNER = "Owner"
OTHERS_WORDS = "(passed on somebody else's words)"
_NAME_CHARS = 30
NOTING = frozenset({"add_note", "save_memory"})
"""Tools that write what a message orders to remember."""


class _NoteArguments(BaseModel):
    text: str


MOST_LINES = 40
"""Messages of one part that are noted: some 8,000 characters. The conversation itself holds the rest."""
_ANSWER_SENTENCES = 2
"""Sentences of an answer, which mostly repeats the question."""
_SHOWN_CHARS = 400
_TELLING, _LITTLE_ELSE = 12, 4
"""A forgotten text of at least so many characters is recognised anywhere; a shorter one only in a message at most so
many times as long. Our choice.
"""
_TOPIC_WORDS = 3
_DECISION = 2
"""Weight of a decision among the facts of a line."""


class SpokenLine(Struct, frozen=True):
    """A message or an answer."""

    at: datetime
    """Time in the owner's zone."""
    who: str
    text: str
    is_answer: bool
    kind: LineKind
    is_noted: bool = False
    """It ordered a note and the turn wrote one, or a note holds it word for word."""
    is_house: bool = False
    """It stays on the owner's machines."""


def conversation(
    records: Iterable[Record], agent: str, zone: tzinfo, earlier: Sequence[Record] = ()
) -> list[SpokenLine]:
    """Return people's messages in *records*, and the answers of *agent*; *earlier* records came before these.

    Commands, tools and notices are left out, and so are words of third persons: forwards and quotations do not become
    notes, nor do an agent's answers from then on, text that was to be forgotten afterwards or not to be noted, or what
    an edit corrects.
    """
    every = list(records)
    withheld = withheld_places(every)
    every = [each for place, each in enumerate(every) if place not in withheld]
    turns = [list(turn) for _, turn in groupby(every, key=lambda record: record.turn_id)]
    outside = accumulate(map(_reads_others, turns), or_, initial=_reads_others(earlier))
    noted, old = _noted_texts(every), earlier_versions(every)
    said = (
        structs.replace(each, is_noted=each.is_noted or any(_tells(text, folded(each.text)) for text in noted))
        for turn, reads_others in zip(turns, list(outside)[1:], strict=True)
        if not _is_command(turn)
        for each in _spoken_lines([r for r in turn if not is_version(r, old)], agent, zone, reads_others=reads_others)
    )
    forgotten = [(r.at, folded(text)) for r in every if isinstance(r.entry, ForgottenEntry) for text in r.entry.texts]
    return [
        each for each in said if not any(each.at <= at and _tells(folded(each.text), text) for at, text in forgotten)
    ]


def _noted_texts(records: Sequence[Record]) -> list[str]:
    """Return the texts that tools wrote as notes."""
    done = {r.entry.call_id for r in records if isinstance(r.entry, ResultEntry) and not r.entry.is_error}
    calls = (call for r in records if isinstance(r.entry, ReplyEntry) for call in r.entry.calls)
    written = (call.arguments for call in calls if call.name in NOTING and call.id in done)
    return [folded(text) for text in map(_note_of, written) if text]


def _note_of(arguments: str) -> str:
    """Return the text of a call's *arguments*; empty if they hold none."""
    try:
        return _NoteArguments.model_validate_json(arguments).text
    except ValidationError:
        return ""


def _tells(message: str, forgotten: str) -> bool:
    """Return whether *message* repeats a *forgotten* text: single words of it occur in many unrelated messages."""
    is_telling = len(forgotten) >= _TELLING or len(forgotten) * _LITTLE_ELSE >= len(message)
    return is_telling and forgotten in message


def _reads_others(turn: Sequence[Record]) -> bool:
    return any(is_from_outside(record.entry) for record in turn)


def _spoken_lines(turn: Sequence[Record], agent: str, zone: tzinfo, *, reads_others: bool) -> Iterator[SpokenLine]:
    is_noted = any(isinstance(r.entry, ResultEntry) and r.entry.name in NOTING and not r.entry.is_error for r in turn)
    for record in turn:
        kind = record.speech or LineKind.SMALL_TALK
        match record.entry:
            case UserEntry() as entry if text := own_words(entry) or OTHERS_WORDS * _passes_on(entry):
                name = " ".join(entry.sender.split())[:_NAME_CHARS] or OWNER
                ordered, at = is_noted and kind is LineKind.ORDER, record.at.astimezone(zone)
                yield SpokenLine(at, name, text, is_answer=False, kind=kind, is_noted=ordered, is_house=entry.is_house)
            case ReplyEntry(calls=(), is_house=stays) as entry if (
                record.speech not in {None, LineKind.NO_ANSWER} and not reads_others
            ):
                at = record.at.astimezone(zone)
                said = without_imitations(own_answer(entry).strip())
                yield SpokenLine(at, agent, said, is_answer=True, kind=answer_kind(kind), is_house=stays)
            case _:
                pass


def _passes_on(entry: UserEntry) -> bool:
    return entry.from_outside or bool(others_words(entry))


def _is_command(turn: Sequence[Record]) -> bool:
    return any(isinstance(record.entry, ReplyEntry) and record.entry.model == COMMAND for record in turn)


def extract(said: Sequence[SpokenLine]) -> list[str]:
    """Return a line for each message of *said* that states something, in their order, without a list marker.

    Questions, greetings and empty answers are left out; the conversation keeps everything. At most `MOST_LINES` lines,
    those with names, numbers, dates and decisions first.
    """
    telling = [(each, text) for each in said if (text := stated(each))]
    kept = _weightiest([text for _, text in telling])
    lines = [
        log_line(each.who, each.at, truncate_line(text), is_answer=each.is_answer)
        for each, text in (telling[place] for place in kept)
    ]
    return [*lines, left_out_line(len(telling) - len(kept))] if len(kept) < len(telling) else lines


def stated(said: SpokenLine) -> str:
    """Return the statements of *said*; of an answer only those with facts."""
    if said.kind not in EVIDENCE or said.is_noted:
        return ""
    every = sentences(said.text)
    follows = [*(not is_question(each) and not is_small_talk(each) for each in every), False]
    stating = [
        each
        for each, states, next_states in zip(every, follows, follows[1:], strict=False)
        if states or (next_states and _names_topic(each))
    ]
    return " ".join([each for each in stating if facts_in(each)][:_ANSWER_SENTENCES] if said.is_answer else stating)


def _names_topic(sentence: str) -> bool:
    """Tell whether *sentence* is a question that its speaker answers next: "insurance? through Tom's mum"."""
    return sentence.endswith("?") and len(sentence.split()) <= _TOPIC_WORDS


def _weightiest(texts: Sequence[str]) -> list[int]:
    """Return the indices of the `MOST_LINES` of *texts* with most facts, in their order; of equal ones the later."""
    weights = [sum(_DECISION if each.kind is FactKind.DECISION else 1 for each in facts_in(text)) for text in texts]
    ranked = sorted(range(len(texts)), key=lambda place: (weights[place], place), reverse=True)
    return sorted(ranked[:MOST_LINES])


def truncate_line(text: str) -> str:
    """Return *text* on one line, cut at a word if it is longer than is shown."""
    line = " ".join(text.split()).replace("<!--", "<! --")
    if len(line) <= _SHOWN_CHARS:
        return line
    cut = line[: _SHOWN_CHARS - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"
