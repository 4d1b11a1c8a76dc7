"""REALTALK, a public benchmark of real chats over three weeks, as daily notes with one entry a message.

Format: https://github.com/danny911kr/REALTALK (evaluation only: its texts are nobody's to copy)
"""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from gateway.importers.imported import ImportFormatError
from gateway.importers.locomo import SESSION, BenchmarkTurn, PlacedConversation, placed


class _RealtalkMessage(BaseModel):
    model_config = ConfigDict(extra="ignore")
    speaker: str
    dia_id: str
    date_time: str
    clean_text: str | None = None
    blip_caption: str | None = None


class _Chat(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: Mapping[str, str]


def read_realtalk(file: Path) -> list[PlacedConversation]:
    """Read the one chat of *file*. Raises ImportFormatError, which names the fault."""
    try:
        data = json.loads(file.read_text("utf-8"))
        return [conversation(file.stem, data)]
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as exc:
        raise ImportFormatError(f"{file.name} cannot be read as JSON: {exc}") from exc
    except (ValidationError, ValueError) as exc:
        raise ImportFormatError(f"{file.name} is not in REALTALK's format: {str(exc)[:200]}") from exc


def conversation(name: str, data: Mapping[str, object]) -> PlacedConversation:
    """Turn a chat's parsed JSON into notes. Raises ValueError."""
    _Chat.model_validate(data)
    found = TypeAdapter(list[_RealtalkMessage])
    sessions = [found.validate_python(data[key]) for key in data if SESSION.fullmatch(key)]
    return placed(name, ([_turn(message) for message in session] for session in sessions))


def _turn(said: _RealtalkMessage) -> BenchmarkTurn:
    at = datetime.strptime(said.date_time, "%d.%m.%Y, %H:%M:%S")  # noqa: DTZ007 - the benchmark names no time zone
    return BenchmarkTurn(at, said.dia_id, said.speaker, said.clean_text, said.blip_caption)
