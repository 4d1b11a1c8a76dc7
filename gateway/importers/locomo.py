"""LoCoMo, a public benchmark of long conversations, as daily notes: a session becomes a day's note, a turn an entry.

Format: https://github.com/snap-research/locomo; the questions are read by the measurements alone (`bench/asked.py`).
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from gateway.importers.imported import ImportedConversation, ImportFormatError
from workspaces.lazy_pattern import lazy_pattern

T = TypeVar("T")

SESSION = lazy_pattern(r"session_(\d+)")


class TurnLocation(Struct, frozen=True):
    path: str
    line: int
    """From 1."""


class PlacedConversation(ImportedConversation, frozen=True):
    """One conversation of a benchmark as an agent's notes."""

    places: Mapping[str, TurnLocation] = field(default_factory=dict)
    """Location of each turn, by its id in the benchmark."""


class _TurnJson(BaseModel):
    model_config = ConfigDict(extra="ignore")
    speaker: str
    dia_id: str
    text: str | None = None
    blip_caption: str | None = None


class _Sample(BaseModel):
    model_config = ConfigDict(extra="ignore")
    sample_id: str
    conversation: dict[str, object]


class BenchmarkTurn(Struct, frozen=True):
    at: datetime
    id: str
    speaker: str
    text: str | None
    photo: str | None
    """Its caption."""


def read_locomo(file: Path) -> list[PlacedConversation]:
    """Read every conversation of *file*. Raises ImportFormatError, also if the file cannot be read."""
    try:
        return conversations(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as exc:
        raise ImportFormatError(f"{file.name} cannot be read as JSON: {exc}") from exc


def conversations(data: object) -> list[PlacedConversation]:
    """Turn LoCoMo's parsed JSON, a list of conversations or a single one, into notes.

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


def _conversation(sample: _Sample) -> PlacedConversation:
    return placed(sample.sample_id, _sessions(sample))


def placed(name: str, sessions: Iterable[Sequence[BenchmarkTurn]]) -> PlacedConversation:
    """Return the *sessions* of the conversation *name* as notes, each in that of the day on which it begins."""
    lines: dict[str, list[str]] = {}
    places: dict[str, TurnLocation] = {}
    for session in sorted(filter(None, sessions), key=lambda session: session[0].at):
        path = f"memory/{session[0].at:%Y-%m-%d}.md"
        note = lines.setdefault(path, [])
        for turn in session:
            photo = f" [shares a photo: {turn.photo}]" if turn.photo else ""
            words = " ".join(f"{turn.text or ''}{photo}".split())
            note.append(f"- {turn.at:%H:%M} {turn.speaker}: {words}")
            places[turn.id] = TurnLocation(path, len(note))
    notes = {path: "\n".join(note) + "\n" for path, note in lines.items()}
    agent = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "conversation"
    return PlacedConversation(agent, notes, places=places)


def _sessions(sample: _Sample) -> Iterator[list[BenchmarkTurn]]:
    for name, turns in sample.conversation.items():
        if SESSION.fullmatch(name) and turns:
            place = f"{sample.sample_id}.{name}"
            start = _moment(sample.conversation.get(f"{name}_date_time"), place)
            found = _validate(TypeAdapter(list[_TurnJson]), turns, place)
            yield [BenchmarkTurn(start, each.dia_id, each.speaker, each.text, each.blip_caption) for each in found]


def _moment(text: object, place: str) -> datetime:
    try:
        return datetime.strptime(str(text), "%I:%M %p on %d %B, %Y")  # noqa: DTZ007 - the benchmark names no time zone
    except ValueError as exc:
        raise ImportFormatError(f"{place}_date_time is not like '1:56 pm on 8 May, 2023': {str(text)[:80]!r}") from exc
