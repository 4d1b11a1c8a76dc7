"""REALTALK, a public benchmark of real chats over three weeks, as daily notes with one entry a message.

Format: https://github.com/danny911kr/REALTALK (evaluation only: its texts are nobody's to copy)
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from gateway.importers.imported import ImportFormatError
from gateway.importers.locomo import PlacedConversation, TurnLocation

_SESSION = re.compile(r"session_(\d+)")


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
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as exc:
        raise ImportFormatError(f"{file.name} cannot be read as JSON: {exc}") from exc
    except (ValidationError, ValueError) as exc:
        raise ImportFormatError(f"{file.name} is not in REALTALK's format: {str(exc)[:200]}") from exc


def conversation(name: str, data: Mapping[str, object]) -> PlacedConversation:
    """Turn a chat's parsed JSON into notes. Raises ValueError."""
    _Chat.model_validate(data)
    found = TypeAdapter(list[_RealtalkMessage])
    sessions = [found.validate_python(data[key]) for key in data if _SESSION.fullmatch(key)]
    lines: dict[str, list[str]] = {}
    places: dict[str, TurnLocation] = {}
    for session in sorted(filter(None, sessions), key=lambda session: _moment(session[0])):
        path = f"memory/{_moment(session[0]):%Y-%m-%d}.md"
        note = lines.setdefault(path, [])
        for message in session:
            note.append(f"- {_moment(message):%H:%M} {message.speaker}: {_message_text(message)}")
            places[message.dia_id] = TurnLocation(path, len(note))
    notes = {path: "\n".join(note) + "\n" for path, note in lines.items()}
    agent = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "chat"
    return PlacedConversation(agent, notes, places=places)


def _moment(message: _RealtalkMessage) -> datetime:
    return datetime.strptime(message.date_time, "%d.%m.%Y, %H:%M:%S")  # noqa: DTZ007 - the benchmark names no time zone


def _message_text(message: _RealtalkMessage) -> str:
    photo = f" [shares a photo: {message.blip_caption}]" if message.blip_caption else ""
    return " ".join(f"{message.clean_text or ''}{photo}".split())
