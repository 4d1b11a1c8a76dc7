"""Hermes Agent's home: `memories/`, `SOUL.md`, skills, conversations in `state.db`, and its jobs.

Format as of hermes-agent 0.19: https://github.com/NousResearch/hermes-agent
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from gateway.importers.folders import MAIN, NOTES, files_in, unread
from gateway.importers.imported import (
    DAMAGED,
    ImportedConversation,
    ImportedMessage,
    ImportedSession,
    ImportFormatError,
)
from gateway.importers.schedules import proposed_jobs

ENTRIES = "\n§\n"
"""Stands between the entries of a memory list."""
_STRUCTURED = "\0json:"
"""Begins a message of several parts."""
_OWNERS_CHATS = frozenset({"", "dm", "direct", "private"})
_NOT_ASKED = frozenset({"cron", "subagent", "delegate"})
_SESSIONS = """
    SELECT session.id, coalesce(session.display_name, ''), coalesce(session.chat_type, ''), session.source,
           message.role, CAST(message.content AS BLOB), message.timestamp
    FROM messages AS message JOIN sessions AS session ON session.id = message.session_id
    WHERE message.role IN ('user', 'assistant') AND (message.active = 1 OR message.compacted = 1)
    ORDER BY session.started_at, session.id, message.id
"""


def read_hermes(folder: Path) -> list[ImportedConversation]:
    """Read the home. Raises ImportFormatError if it holds neither notes nor talk, or cannot be read."""
    if not folder.is_dir():
        raise ImportFormatError(f"{folder.name} is no folder: name Hermes' home, such as ~/.hermes")
    notes: dict[str, str] = {}
    left_out: list[str] = []
    for name, place in (("memories", _memory_place), ("skills", _skill_place)):
        if (folder / name).is_dir():
            found, rest = files_in(folder / name, place)
            notes |= {path: _list(text) if name == "memories" else text for path, text in found.items()}
            left_out += [f"{name}/{line}" for line in rest]
    if (folder / "SOUL.md").is_file():
        notes["SOUL.md"] = (folder / "SOUL.md").read_text("utf-8", "replace")
    sessions, others = _sessions(folder / "state.db")
    left_out += others
    left_out += unread(folder, ("config.yaml", ".env", "auth.json", "profiles"))
    if not notes and not sessions:
        raise ImportFormatError(f"{folder.name} has neither memories nor conversations: name Hermes' home, ~/.hermes")
    jobs = proposed_jobs(folder / "cron" / "jobs.json")
    return [ImportedConversation(MAIN, notes, tuple(sessions), tuple(left_out), jobs)]


def _memory_place(path: PurePosixPath) -> PurePosixPath:
    return path if str(path) in {"MEMORY.md", "USER.md"} else NOTES / "hermes" / path


def _skill_place(path: PurePosixPath) -> PurePosixPath:
    return PurePosixPath("skills", path)


def _list(text: str) -> str:
    """Return the entries of a memory list as Markdown's."""
    entries = [entry.strip() for entry in text.split(ENTRIES) if entry.strip()]
    if len(entries) < 2:
        return text
    return "".join("- " + entry.replace("\n", "\n  ") + "\n" for entry in entries)


def _sessions(database: Path) -> tuple[list[ImportedSession], list[str]]:
    """Return the owner's conversations in order, and those that are left out, each with the reason."""
    if not database.is_file():
        return [], []
    titles: dict[str, str] = {}
    talks: dict[str, list[ImportedMessage]] = {}
    others: dict[str, str] = {}
    damaged: Counter[str] = Counter()
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as read:
            for name, title, chat, source, role, content, at in read.execute(_SESSIONS):
                if source in _NOT_ASKED:
                    others[name] = f"a conversation that {source} began: nobody said anything in it"
                elif chat not in _OWNERS_CHATS:
                    others[name] = "a group's conversation: it does not say who wrote what"
                else:
                    titles[name] = title
                    try:
                        talks.setdefault(name, []).extend(_messages(role, content, at))
                    except DAMAGED:
                        damaged[name] += 1
    except sqlite3.Error as exc:
        raise ImportFormatError(f"state.db cannot be read ({exc}): stop Hermes, or copy its home again") from exc
    sessions = [
        ImportedSession(str(name), titles[name], tuple(messages)) for name, messages in talks.items() if messages
    ]
    others |= {name: f"damaged messages: {count:,}" for name, count in damaged.items()}
    return sessions, [f"state.db, {name}: {reason}" for name, reason in others.items()]


def _messages(role: str, content: bytes | None, at: float) -> Iterator[ImportedMessage]:
    """Yield the message of a row, if it has text. Raises one of DAMAGED."""
    if text := _text((content or b"").decode("utf-8", "replace")):
        yield ImportedMessage(role == "user", datetime.fromtimestamp(at, UTC), text)


def _text(content: str) -> str:
    if not content.startswith(_STRUCTURED):
        return content.strip()
    parts = json.loads(content.removeprefix(_STRUCTURED))
    return "\n".join(str(part.get("text") or "[a picture or file]") for part in parts).strip()
