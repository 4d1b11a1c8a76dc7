"""Folders of other programs: OpenClaw's and OneClaw's homes, and any folder of Markdown notes.

OpenClaw: a workspace with `MEMORY.md`, `memory/` and its other Markdown files, and conversations in
`agents/<agent>/sessions/*.jsonl`. OneClaw: the same, or `memory/MEMORY.md` with days in `memory/daily/`.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from gateway.importers.imported import (
    DAMAGED,
    ImportedConversation,
    ImportedMessage,
    ImportedSession,
    ImportFormatError,
)
from gateway.importers.schedules import proposed_bindings, proposed_jobs
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.workspace_source import LARGEST_NOTE
from workspaces.paths import DEPTH

NOTES = PurePosixPath("memory/imports")
"""Where notes go that have no place of their own here."""
_SKIPPED = frozenset({".git", ".obsidian", ".trash", "node_modules", "__pycache__"})
_TEXT = frozenset({".md", ".markdown", ".txt"})
_WORKSPACE = lazy_pattern(r"workspace(?:[-.].+)?")
_OTHERS_CHAT = lazy_pattern(r":(?:group|channel):")
MAIN = "main"
_UNREAD = {
    ".env": "keys; type them anew: strandline keys set",
    "auth.json": "keys; type them anew: strandline keys set",
    "config.yaml": "settings; see: strandline docs settings",
    "memories": "of Hermes; import this folder once more: strandline import hermes",
    "profiles": "other agents' homes; import each by itself",
}
Place = Callable[[PurePosixPath], PurePosixPath]
"""Returns the place of a file here, by its path in the folder."""


def read_markdown(folder: Path) -> list[ImportedConversation]:
    """Read a folder of notes, such as an Obsidian vault. Raises ImportFormatError if there are none."""
    return [_of_folder(folder, lambda path: NOTES / folder.resolve().name / path)]


def read_openclaw(folder: Path) -> list[ImportedConversation]:
    """Read OpenClaw's home or one workspace of it. Raises ImportFormatError if it holds neither notes nor talk."""
    return [_of_home(folder)]


def read_oneclaw(folder: Path) -> list[ImportedConversation]:
    """Read OneClaw's home, in either layout. Raises ImportFormatError if it holds neither notes nor talk."""
    return [_of_home(folder)]


def _of_home(home: Path) -> ImportedConversation:
    if not home.is_dir():
        raise ImportFormatError(_no_folder(home))
    workspaces = sorted(each for each in home.iterdir() if each.is_dir() and _WORKSPACE.fullmatch(each.name))
    root = next((each for each in workspaces if each.name == "workspace"), workspaces[0] if workspaces else home)
    notes, left_out = files_in(root, _place)
    left_out += [f"{each.name}: another agent's workspace; import it by itself" for each in workspaces if each != root]
    sessions: list[ImportedSession] = []
    for file in sorted(home.glob("agents/*/sessions/*.jsonl")):
        found, fault = _session(file, _keys(file.parent))
        sessions += [found] if found else []
        left_out += [f"{file.relative_to(home)}: {fault}"] if fault else []
    left_out += [f"{each.relative_to(home)}: a database; export its conversations" for each in home.glob("**/*.sqlite")]
    left_out += [f"{each.name}: settings; see: strandline docs settings" for each in sorted(home.glob("*.json"))]
    left_out += unread(home, ("memories",))
    if not notes and not sessions:
        raise ImportFormatError(f"{home.name} has neither notes nor conversations that can be read")
    proposals = (*proposed_jobs(home / "cron" / "jobs.json"), *proposed_bindings(home / "openclaw.json"))
    return ImportedConversation(MAIN, notes, tuple(sessions), tuple(left_out), proposals)


def unread(home: Path, names: Iterable[str]) -> list[str]:
    """Return a line for each of *names* in *home* that is not read there, with its reason."""
    return [f"{name}: {_UNREAD[name]}" for name in names if (home / name).exists()]


def _no_folder(path: Path) -> str:
    return f"{path.name} is no folder; unpack it first, and name the folder"


def _of_folder(folder: Path, place: Place) -> ImportedConversation:
    if not folder.is_dir():
        raise ImportFormatError(_no_folder(folder))
    notes, left_out = files_in(folder, place)
    if not notes:
        raise ImportFormatError(f"{folder.name} has no notes (.md, .txt)")
    return ImportedConversation(MAIN, notes, left_out=tuple(left_out))


# --- files


def _place(path: PurePosixPath) -> PurePosixPath:
    """Return the place of a workspace's file here."""
    parts = path.parts
    if parts == ("memory", "MEMORY.md"):
        return PurePosixPath("MEMORY.md")
    if parts[:2] == ("memory", "daily"):
        return PurePosixPath("memory", *parts[2:])
    is_known = len(parts) == 1 or parts[0] in {"memory", "skills"}
    return path if is_known else NOTES / path


def files_in(root: Path, place: Place) -> tuple[dict[str, str], list[str]]:
    """Return the text of each file under *root* by its place here, and what is left out with the reason."""
    notes: dict[str, str] = {}
    left_out: list[str] = []
    for file in _walk(root):
        path = PurePosixPath(file.relative_to(root).as_posix())
        here = place(path)
        if file.suffix.lower() != ".md":
            here = here.with_name(f"{here.name}.md")
        text = _text(file)
        if isinstance(text, str) and len(here.parts) <= DEPTH and str(here) not in notes:
            notes[str(here)] = text
        elif isinstance(text, str):
            left_out.append(f"{path}: its place is taken or too deep")
        else:
            left_out.append(f"{path}: {text.args[0]}")
    return notes, left_out


def _walk(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name in _SKIPPED:
            continue
        if entry.is_dir() and not entry.is_symlink() and os.access(entry, os.R_OK | os.X_OK):
            yield from _walk(entry)
        else:
            yield entry


def _text(file: Path) -> str | ValueError:
    """Return the text of *file*, or the reason that it has none."""
    if file.is_symlink() or not file.is_file():
        return ValueError("a link, no plain file, or a folder that cannot be read")
    if file.suffix.lower() not in _TEXT:
        return ValueError("it is no note (.md, .txt)")
    if file.stat().st_size > LARGEST_NOTE:
        return ValueError(f"it has more than {LARGEST_NOTE:,} bytes")
    try:
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ValueError("it is not UTF-8 text")


# --- conversations


def _keys(folder: Path) -> dict[str, str]:
    """Return the session's key by the id of its conversation; empty without OpenClaw's own list."""
    try:
        found = json.loads((folder / "sessions.json").read_text("utf-8"))
        return {str(row["sessionId"]): str(key) for key, row in found.items()}
    except (OSError, *DAMAGED):
        return {}


def _session(file: Path, keys: dict[str, str]) -> tuple[ImportedSession | None, str]:
    """Return the conversation in *file*, and what is left out of it with the reason."""
    if _OTHERS_CHAT.search(keys.get(file.stem, "")):
        return None, "a group's conversation: it does not say who wrote what"
    messages: list[ImportedMessage] = []
    damaged = 0
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError:
        return None, "it cannot be read"
    for line in filter(bytes.strip, lines):
        try:
            messages += _messages(line)
        except DAMAGED:
            damaged += 1
    fault = f"damaged lines: {damaged:,}" if damaged else ""
    if not messages:
        return None, fault or "it has no text"
    return ImportedSession(file.stem, keys.get(file.stem, ""), tuple(messages)), fault


def _messages(line: bytes) -> Iterator[ImportedMessage]:
    """Yield the message in *line*; nothing for a tool's result. Raises one of DAMAGED."""
    row: Any = json.loads(line)
    if row.get("type", "message") != "message" or (role := row["message"]["role"]) not in {"user", "assistant"}:
        return
    content, at = row["message"]["content"], row.get("timestamp") or row["message"].get("timestamp")
    time = datetime.fromtimestamp(at / 1000, UTC) if isinstance(at, int | float) else datetime.fromisoformat(at)
    parts = [content] if isinstance(content, str) else [part["text"] for part in content if part.get("type") == "text"]
    if text := "\n".join(parts).strip():
        yield ImportedMessage(role == "user", time if time.tzinfo else time.replace(tzinfo=UTC), text)
