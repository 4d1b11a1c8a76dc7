"""Conversations of public benchmarks as notes, with questions about them and the places of their evidence.

The evidence is kept apart from the notes, so that the searched notes contain no answers. Formats and questions, for
evaluation only (their texts are nobody's to copy): https://github.com/snap-research/locomo,
https://github.com/danny911kr/REALTALK and https://github.com/mohammadtavakoli78/BEAM
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from gateway.importers import locomo, realtalk
from gateway.importers.imported import ImportFormatError
from gateway.importers.locomo import PlacedConversation, TurnLocation

CHAT = "chat.json"
QUESTIONS = "probing_questions/probing_questions.json"
UNANSWERABLE = "abstention"
"""The kind of BEAM's questions whose answer was never said."""
_MARK = re.compile(r"(?<!\s)\s*+->->[\d,\s]*+$")
"""BEAM's own numbering at the end of a message."""
_TURN_ID = re.compile(r"D0{0,9}(\d{1,9}):0{0,9}(\d{1,9})")
"""Evidence is written by hand: `D30:05` means `D30:5`, and one string may hold several."""


class QuestionKind(StrEnum):
    """The kinds of questions, as the paper of LoCoMo names them."""

    MULTI_HOP = "multi-hop"
    TEMPORAL = "temporal"
    OPEN = "open"
    SINGLE_HOP = "single-hop"
    ADVERSARIAL = "adversarial"


_KINDS = dict(enumerate(QuestionKind, 1))
"""By `category`; identified by their counts in the ten published conversations: 282, 321, 96, 841, 446.

REALTALK has the first three.
"""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with the turns that answer it."""

    text: str
    kind: str
    """A `QuestionKind` or, in other formats, their own word."""
    evidence: tuple[str, ...]
    """Turn ids, each one of `AskedConversation.places`; never empty."""
    sides: tuple[tuple[str, ...], ...] = ()
    """The same by statement, where the format tells them apart: the older and the newer one, or two that disagree."""


class AskedConversation(PlacedConversation, frozen=True):
    """One conversation of a benchmark as an agent's notes, with questions about them."""

    questions: tuple[AskedQuestion, ...] = ()
    """Those with marked evidence that exists."""
    unanswerable: tuple[str, ...] = ()
    """Questions whose answer was never said; in LoCoMo's own files these are the adversarial ones."""


class _QuestionJson(BaseModel):
    model_config = ConfigDict(extra="ignore")
    question: str
    category: int
    evidence: list[str] | str | None = None


class _BeamMessage(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: str
    id: int
    content: str
    time_anchor: str | None = None


class _Batch(BaseModel):
    model_config = ConfigDict(extra="ignore")
    turns: list[list[_BeamMessage]]


class _BeamQuestion(BaseModel):
    model_config = ConfigDict(extra="ignore")
    question: str
    source_chat_ids: Any = None
    """Numbers of messages, in lists or by a name."""


def read_locomo(file: Path) -> list[AskedConversation]:
    """Read every conversation of *file*. Raises ImportFormatError, also if the file cannot be read."""
    talks = locomo.read_locomo(file)
    data = json.loads(file.read_text(encoding="utf-8"))
    samples = [data] if isinstance(data, dict) else data
    return [_asked(talk, sample.get("qa")) for talk, sample in zip(talks, samples, strict=True)]


def read_realtalk(file: Path) -> list[AskedConversation]:
    """Read the one chat of *file*. Raises ImportFormatError, which names the fault."""
    (talk,) = realtalk.read_realtalk(file)
    return [_asked(talk, json.loads(file.read_text("utf-8")).get("qa"))]


def _asked(talk: PlacedConversation, qa: object) -> AskedConversation:
    """Return *talk* with those questions of *qa* whose kind is known and whose evidence exists."""
    try:
        asked = TypeAdapter(list[_QuestionJson]).validate_python(qa)
    except ValidationError as exc:
        raise ImportFormatError(f"the questions of {talk.agent} cannot be read: {str(exc)[:200]}") from exc
    found = [(each, evidence_of(each.evidence or (), talk.places)) for each in asked if each.category in _KINDS]
    questions = tuple(AskedQuestion(each.question, _KINDS[each.category], turns) for each, turns in found if turns)
    return AskedConversation(talk.agent, talk.notes, places=talk.places, questions=questions)


def evidence_of(marked: Sequence[str], places: Mapping[str, TurnLocation]) -> tuple[str, ...]:
    """Return the turns among *places* named in the texts *marked*, each once."""
    texts = [marked] if isinstance(marked, str) else marked
    ids = (f"D{session}:{turn}" for text in texts for session, turn in _TURN_ID.findall(text))
    return tuple(dict.fromkeys(turn for turn in ids if turn in places))


def read_beam(folder: Path) -> list[AskedConversation]:
    """Read the one chat in *folder*: a batch becomes a part of a day's note with one entry a message.

    Raises ImportFormatError, which names the fault.
    """
    try:
        batches = TypeAdapter(list[_Batch]).validate_json((folder / CHAT).read_bytes())
        asked = TypeAdapter(dict[str, list[_BeamQuestion]]).validate_json((folder / QUESTIONS).read_bytes())
        return [_beam(folder.name, batches, asked)]
    except OSError as exc:
        raise ImportFormatError(f"{folder.name} cannot be read: {exc}") from exc
    except ValueError as exc:
        raise ImportFormatError(f"{folder.name} is not in BEAM's format: {str(exc)[:200]}") from exc


def _beam(name: str, batches: Sequence[_Batch], asked: Mapping[str, Sequence[_BeamQuestion]]) -> AskedConversation:
    lines: dict[str, list[str]] = {}
    places: dict[str, TurnLocation] = {}
    path = ""
    for message in (message for batch in batches for turn in batch.turns for message in turn):
        if message.time_anchor:
            path = f"memory/{datetime.strptime(message.time_anchor, '%B-%d-%Y'):%Y-%m-%d}.md"  # noqa: DTZ007 - a day
        if not path:
            raise ValueError("its first message has no time_anchor")
        note = lines.setdefault(path, [])
        note.append(f"- {message.role.capitalize()}: {' '.join(_MARK.sub('', message.content).split())}")
        places[str(message.id)] = TurnLocation(path, len(note))
    notes = {path: "\n".join(note) + "\n" for path, note in lines.items()}
    questions = tuple(_beam_questions(asked, places))
    unanswerable = tuple(question.question for question in asked.get(UNANSWERABLE, ()))
    return AskedConversation(f"beam-{name}", notes, places=places, questions=questions, unanswerable=unanswerable)


def _beam_questions(
    asked: Mapping[str, Sequence[_BeamQuestion]], places: Mapping[str, TurnLocation]
) -> Iterator[AskedQuestion]:
    for kind, questions in asked.items():
        for question in questions:
            sources = question.source_chat_ids
            sides = tuple(_known(side, places) for side in sources.values()) if isinstance(sources, dict) else ()
            if evidence := _known(sources, places):
                yield AskedQuestion(question.question, kind.replace("_", "-"), evidence, sides)


def _known(sources: object, places: Mapping[str, TurnLocation]) -> tuple[str, ...]:
    named = dict.fromkeys(map(str, _numbers(sources)))
    return tuple(turn for turn in named if turn in places)


def _numbers(sources: object) -> Iterator[int]:
    match sources:
        case int():
            yield sources
        case list() | dict():
            for each in sources.values() if isinstance(sources, dict) else sources:
                yield from _numbers(each)
