"""LoCoMo, a public benchmark of long conversations: daily notes and questions about them.

One session becomes a day's note with one entry a turn. The evidence of the questions is kept apart from the notes, so
that the searched notes contain no answers. Format and questions: https://github.com/snap-research/locomo
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from gateway.importers.imported import ImportedConversation, ImportFormatError

_TURN_ID = re.compile(r"D0{0,9}(\d{1,9}):0{0,9}(\d{1,9})")
"""Evidence is written by hand: `D30:05` means `D30:5`, and one string may hold several."""
T = TypeVar("T")

_SESSION = re.compile(r"session_(\d+)")


class QuestionKind(StrEnum):
    """The kinds of questions, as the benchmark's paper names them."""

    MULTI_HOP = "multi-hop"
    TEMPORAL = "temporal"
    OPEN = "open"
    SINGLE_HOP = "single-hop"
    ADVERSARIAL = "adversarial"


_KINDS = {
    1: QuestionKind.MULTI_HOP,
    2: QuestionKind.TEMPORAL,
    3: QuestionKind.OPEN,
    4: QuestionKind.SINGLE_HOP,
    5: QuestionKind.ADVERSARIAL,
}
"""By `category`; identified by their counts in the ten published conversations: 282, 321, 96, 841, 446."""


@dataclass(frozen=True, slots=True)
class TurnLocation:
    """The location of a turn in the notes."""

    path: str
    line: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class LocomoQuestion:
    """A question with the turns that answer it."""

    text: str
    kind: str
    """A `QuestionKind` or, in other formats, their own word."""
    evidence: tuple[str, ...]
    """Turn ids, each one of `LocomoConversation.places`; never empty."""


@dataclass(frozen=True, slots=True)
class LocomoConversation(ImportedConversation):
    """One conversation of a benchmark as an agent's notes, with questions about them."""

    places: Mapping[str, TurnLocation] = field(default_factory=dict)
    """Location of each turn, by its id in the benchmark."""
    questions: tuple[LocomoQuestion, ...] = ()
    """Those with marked evidence that exists."""
    unanswerable: tuple[str, ...] = ()
    """Questions whose answer was never said; in LoCoMo's own files these are the adversarial ones."""


class _TurnJson(BaseModel):
    model_config = ConfigDict(extra="ignore")
    speaker: str
    dia_id: str
    text: str | None = None
    blip_caption: str | None = None


class _QuestionJson(BaseModel):
    model_config = ConfigDict(extra="ignore")
    question: str
    category: int
    evidence: list[str] | str | None = None


class _Sample(BaseModel):
    model_config = ConfigDict(extra="ignore")
    sample_id: str
    conversation: dict[str, object]
    qa: list[_QuestionJson]


@dataclass(frozen=True, slots=True)
class _SessionJson:
    start: datetime
    turns: list[_TurnJson]


def read_locomo(file: Path) -> list[LocomoConversation]:
    """Read every conversation of *file*. Raises ImportFormatError, also if the file cannot be read."""
    try:
        return conversations(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as exc:
        raise ImportFormatError(f"{file.name} cannot be read as JSON: {exc}") from exc


def conversations(data: object) -> list[LocomoConversation]:
    """Turn LoCoMo's parsed JSON, a list of conversations or a single one, into notes and questions.

    Raises ImportFormatError, which names the faulty record.
    """
    samples = _validate(TypeAdapter(list[_Sample]), [data] if isinstance(data, dict) else data, "")
    talks = [_conversation(sample) for sample in samples]
    twice = [name for name, count in Counter(talk.agent for talk in talks).items() if count > 1]
    if twice:
        raise ImportFormatError(f"not LoCoMo's format: two conversations are called {twice[0]} (sample_id)")
    return talks


def _validate(kind: TypeAdapter[T], data: object, place: str) -> T:
    try:
        return kind.validate_python(data)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(filter(None, (place, *map(str, first["loc"]))))
        raise ImportFormatError(f"not LoCoMo's format at {where or 'the top'}: {first['msg']}") from exc


def _conversation(sample: _Sample) -> LocomoConversation:
    lines: dict[str, list[str]] = {}
    places: dict[str, TurnLocation] = {}
    for session in sorted(_sessions(sample), key=lambda session: session.start):
        path = f"memory/{session.start:%Y-%m-%d}.md"
        note = lines.setdefault(path, [])
        for turn in session.turns:
            note.append(f"- {session.start:%H:%M} {turn.speaker}: {_turn_text(turn)}")
            places[turn.dia_id] = TurnLocation(path, len(note))
    notes = {path: "\n".join(note) + "\n" for path, note in lines.items()}
    questions = tuple(_questions(sample.qa, places))
    return LocomoConversation(_agent(sample.sample_id), notes, places=places, questions=questions)


def _sessions(sample: _Sample) -> Iterator[_SessionJson]:
    for name, turns in sample.conversation.items():
        if _SESSION.fullmatch(name) and turns:
            place = f"{sample.sample_id}.{name}"
            start = _moment(sample.conversation.get(f"{name}_date_time"), place)
            yield _SessionJson(start, _validate(TypeAdapter(list[_TurnJson]), turns, place))


def _moment(text: object, place: str) -> datetime:
    try:
        return datetime.strptime(str(text), "%I:%M %p on %d %B, %Y")  # noqa: DTZ007 - the benchmark names no time zone
    except ValueError as exc:
        raise ImportFormatError(f"{place}_date_time is not like '1:56 pm on 8 May, 2023': {str(text)[:80]!r}") from exc


def _turn_text(turn: _TurnJson) -> str:
    photo = f" [shares a photo: {turn.blip_caption}]" if turn.blip_caption else ""
    return " ".join(f"{turn.text or ''}{photo}".split())


def _agent(sample_id: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", sample_id.lower()).strip("-") or "conversation"


def _questions(asked: list[_QuestionJson], places: Mapping[str, TurnLocation]) -> Iterator[LocomoQuestion]:
    for question in asked:
        marked = question.evidence if isinstance(question.evidence, list) else [question.evidence or ""]
        evidence = evidence_of(marked, places)
        if evidence and question.category in _KINDS:
            yield LocomoQuestion(question.question, _KINDS[question.category], evidence)


def evidence_of(marked: Sequence[str], places: Mapping[str, TurnLocation]) -> tuple[str, ...]:
    """Return the turns among *places* named in the texts *marked*, each once."""
    ids = (f"D{session}:{turn}" for text in marked for session, turn in _TURN_ID.findall(text))
    return tuple(dict.fromkeys(turn for turn in ids if turn in places))
