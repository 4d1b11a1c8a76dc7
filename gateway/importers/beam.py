"""BEAM, a public benchmark of long conversations with an assistant: daily notes and questions about them.

A batch becomes a part of a day's note with one entry a message. Format and questions:
https://github.com/mohammadtavakoli78/BEAM (evaluation only: its texts are nobody's to copy)
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from gateway.importers.imported import ImportFormatError
from gateway.importers.locomo import LocomoConversation, LocomoQuestion, TurnLocation

CHAT = "chat.json"
QUESTIONS = "probing_questions/probing_questions.json"
UNANSWERABLE = "abstention"
"""The kind of the questions whose answer was never said."""
_MARK = re.compile(r"(?<!\s)\s*+->->[\d,\s]*+$")
"""The benchmark's own numbering at the end of a message."""


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


def read_beam(folder: Path) -> list[LocomoConversation]:
    """Read the one chat in *folder*. Raises ImportFormatError, which names the fault."""
    try:
        batches = TypeAdapter(list[_Batch]).validate_json((folder / CHAT).read_bytes())
        asked = TypeAdapter(dict[str, list[_BeamQuestion]]).validate_json((folder / QUESTIONS).read_bytes())
        return [_conversation(folder.name, batches, asked)]
    except OSError as exc:
        raise ImportFormatError(f"{folder.name} cannot be read: {exc}") from exc
    except ValueError as exc:
        raise ImportFormatError(f"{folder.name} is not in BEAM's format: {str(exc)[:200]}") from exc


def _conversation(
    name: str, batches: Sequence[_Batch], asked: Mapping[str, Sequence[_BeamQuestion]]
) -> LocomoConversation:
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
    questions = tuple(_questions(asked, places))
    unanswerable = tuple(question.question for question in asked.get(UNANSWERABLE, ()))
    return LocomoConversation(f"beam-{name}", notes, places=places, questions=questions, unanswerable=unanswerable)


def _questions(
    asked: Mapping[str, Sequence[_BeamQuestion]], places: Mapping[str, TurnLocation]
) -> Iterator[LocomoQuestion]:
    for kind, questions in asked.items():
        for question in questions:
            named = dict.fromkeys(str(number) for number in _numbers(question.source_chat_ids))
            if evidence := tuple(id_ for id_ in named if id_ in places):
                yield LocomoQuestion(question.question, kind.replace("_", "-"), evidence)


def _numbers(sources: object) -> Iterator[int]:
    match sources:
        case int():
            yield sources
        case list() | dict():
            for each in sources.values() if isinstance(sources, dict) else sources:
                yield from _numbers(each)
