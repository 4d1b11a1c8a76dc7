"""Exports of chat programs: ChatGPT's and Claude's `conversations.json`, alone or in the archive that they send.

Formats as the programs exported them in 2026: https://help.openai.com/en/articles/7260999 and
https://support.anthropic.com/en/articles/9450526
"""

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gateway.importers.imported import ImportedConversation, ImportedMessage, ImportedSession, ImportFormatError

CONVERSATIONS = "conversations.json"
LARGEST_EXPORT = 2_000_000_000
"""In bytes, unpacked; our choice: beyond what either program sends, and below what fills a disk by surprise."""
OWNER, AGENT = "user", "assistant"


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _GptAuthor(_Row):
    role: str


class _GptContent(_Row):
    parts: list[Any] = Field(default_factory=list)


class _GptMessage(_Row):
    author: _GptAuthor
    create_time: float | None = None
    content: _GptContent | None = None


class _GptNode(_Row):
    message: _GptMessage | None = None
    parent: str | None = None


class _GptConversation(_Row):
    id: str = ""
    conversation_id: str = ""
    title: str | None = None
    create_time: float | None = None
    mapping: dict[str, _GptNode]
    current_node: str | None = None


class _ClaudeContent(_Row):
    type: str = "text"
    text: str | None = None


class _ClaudeMessage(_Row):
    sender: str
    text: str | None = None
    content: list[_ClaudeContent] = Field(default_factory=list)
    created_at: datetime


class _ClaudeConversation(_Row):
    uuid: str
    name: str | None = None
    chat_messages: list[_ClaudeMessage]


def read_chatgpt(file: Path) -> list[ImportedConversation]:
    """Read ChatGPT's export. Raises ImportFormatError, which names the fault."""
    return [_read(file, "ChatGPT", TypeAdapter(_GptConversation), _gpt_session)]


def read_claude(file: Path) -> list[ImportedConversation]:
    """Read Claude's export. Raises ImportFormatError, which names the fault."""
    return [_read(file, "Claude", TypeAdapter(_ClaudeConversation), _claude_session)]


def _read(
    file: Path, program: str, kind: TypeAdapter[Any], session_of: Callable[[Any], ImportedSession]
) -> ImportedConversation:
    """Return the conversations in *file*; those that are not in the format are left out, each with its fault."""
    rows = _rows(file)
    sessions, left_out = [], []
    for number, row in enumerate(rows, 1):
        try:
            session = session_of(kind.validate_python(row))
        except (ValueError, OverflowError) as exc:
            left_out.append(f"conversation {number}: {_fault(exc)}")
            continue
        if session.messages:
            sessions.append(session)
        else:
            left_out.append(f"conversation {number} ({session.title or 'untitled'}): it has no text")
    if not sessions and left_out:
        raise ImportFormatError(
            f"{file.name} is not {program}'s export: {_other_program(rows[0], program) or left_out[0]}"
        )
    return ImportedConversation("main", {}, tuple(sessions), tuple(left_out))


def _fault(exc: Exception) -> str:
    if not isinstance(exc, ValidationError):
        return f"its time cannot be read: {exc}"
    fault = exc.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


def _other_program(row: Any, program: str) -> str:
    """Return the way out for a conversation that another program exported; empty for any other fault."""
    marks = {"chat_messages": "Claude", "mapping": "ChatGPT"}
    known = [name for mark, name in marks.items() if isinstance(row, dict) and mark in row and name != program]
    return f"it is {known[0]}'s; import it as that: strandline import {known[0].lower()} FILE" if known else ""


def _rows(file: Path) -> list[Any]:
    try:
        found = json.loads(_content(file))
    except OSError as exc:
        raise ImportFormatError(f"{file.name} cannot be read: {exc.strerror or exc}") from exc
    except RecursionError as exc:
        raise ImportFormatError(
            f"{file.name} is nested more deeply than an export of conversations; download the export again"
        ) from exc
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as exc:
        raise ImportFormatError(f"{file.name} is not a whole archive ({exc}); download it again") from exc
    except ValueError as exc:
        raise ImportFormatError(f"{file.name} is not whole: {exc}; download the export again") from exc
    if not isinstance(found, list):
        raise ImportFormatError(f"{file.name} has no list of conversations")
    return found


def _content(file: Path) -> bytes:
    """Return `conversations.json` of a folder, an archive, or the file itself."""
    if file.is_dir():
        return (file / CONVERSATIONS).read_bytes()
    if not zipfile.is_zipfile(file):
        return file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        member = next((each for each in archive.infolist() if Path(each.filename).name == CONVERSATIONS), None)
        if member is None:
            raise ImportFormatError(
                f"{file.name} has no {CONVERSATIONS}: it is no export of conversations; "
                "take the archive that the program's settings send you"
            )
        if member.file_size > LARGEST_EXPORT:
            raise ImportFormatError(f"{file.name}: {CONVERSATIONS} has more than {LARGEST_EXPORT:,} bytes")
        with archive.open(member) as content:
            return content.read(LARGEST_EXPORT)


def _gpt_session(talk: _GptConversation) -> ImportedSession:
    begun = datetime.fromtimestamp(talk.create_time or 0, UTC)
    return ImportedSession(talk.conversation_id or talk.id, talk.title or "", tuple(_gpt_messages(talk, begun)))


def _gpt_messages(talk: _GptConversation, begun: datetime) -> Iterator[ImportedMessage]:
    """Yield the messages of the branch that the owner saw last; a message without a time has that of the one before."""
    at = begun
    for node in reversed(list(_gpt_branch(talk))):
        message = node.message
        if message is None or message.author.role not in {OWNER, AGENT}:
            continue
        if message.create_time:
            at = datetime.fromtimestamp(message.create_time, UTC)
        parts = message.content.parts if message.content else []
        text = "\n".join(part if isinstance(part, str) else "[a picture or file]" for part in parts).strip()
        if text:
            yield ImportedMessage(message.author.role == OWNER, at, text)


def _gpt_branch(talk: _GptConversation) -> Iterator[_GptNode]:
    """Yield the nodes from the last one to the first; a circle ends where it begins."""
    seen: set[str] = set()
    place = talk.current_node or next(reversed(talk.mapping), None)
    while place is not None and place in talk.mapping and place not in seen:
        seen.add(place)
        yield talk.mapping[place]
        place = talk.mapping[place].parent


def _claude_session(talk: _ClaudeConversation) -> ImportedSession:
    return ImportedSession(talk.uuid, talk.name or "", tuple(_claude_messages(talk)))


def _claude_messages(talk: _ClaudeConversation) -> Iterator[ImportedMessage]:
    for message in talk.chat_messages:
        written = "\n".join(part.text for part in message.content if part.type == "text" and part.text)
        if (text := (written or message.text or "").strip()) and message.sender in {"human", "assistant"}:
            yield ImportedMessage(message.sender == "human", message.created_at.astimezone(UTC), text)
