"""Format of commit messages: a subject, and trailers for the origin of a change."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from pathlib import PurePosixPath

from msgspec import Struct

from workspaces.access import SHARED_FOLDER
from workspaces.lazy_pattern import lazy_pattern
from workspaces.secrets import redact

INITIAL = "init: initialize memory repository"
MAINTENANCE = "gc: repository maintenance"

NOTES_FOLDER = SHARED_FOLDER.parent
LONG_TERM = frozenset({PurePosixPath("MEMORY.md"), PurePosixPath("memory.md")})
_DAY = lazy_pattern(r"(\d{4}-\d{2}-\d{2})(-.+)?\.md", re.ASCII)
_BREAKING = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Control characters, lone surrogates, and characters that some programs take for a line ending."""
_TRAILER = lazy_pattern(r"(Session|Message|Turn|Approved-By|Mark|Undoes|Chat|Author|Others): (.+)")
EDITOR_SESSION = "editor"
"""The session of changes from outside: by the owner's editor, or another program of the owner's."""
OWNERS_COMMANDS = "command line"
"""The session of changes that the owner made at the command line."""
OWNERS_PAGE = "page"
"""The session of changes that the owner made on the page."""
_OPTIONAL = ("Message", "Turn", "Approved-By", "Mark", "Undoes", "Chat", "Author")
_YES_OR_NO = {"yes": True, "no": False}


class Act(StrEnum):
    """A commit's action on a file."""

    WRITE = "write"
    DELETE = "delete"


class Topic(StrEnum):
    """Topic of a file, for filtering the history."""

    ALL = "all"
    MEMORY = "memory"
    """The long-term memory, `MEMORY.md`."""
    DAILY = "daily"
    """Daily notes, shared ones included."""
    FILES = "files"
    """Every other file."""


class Origin(Struct, frozen=True):
    """The turn that changed the files."""

    session: str
    message: str | None = None
    """The inbox's id of the answered message."""
    turn: str | None = None
    approved_by: str | None = None
    """Approver of the change requested by the turn; `None` if it needed no approval."""
    mark: str | None = None
    """Opaque reference for undoing the turn."""
    undoes: str | None = None
    """The mark of the turn, or the revision, that this change undoes or brings back."""
    chat: str | None = None
    """Opaque reference to the chat that the turn answered; several chats may share one session."""
    author: str | None = None
    """Opaque reference to the person whose message the turn answered; `None` if nobody's."""
    others: bool | None = None
    """The turn had read others' words when it wrote this; `None` where that is not known."""


def topic_of(path: PurePosixPath) -> Topic:
    """Return the topic of the file at *path*; never `ALL`."""
    if path in LONG_TERM:
        return Topic.MEMORY
    return Topic.FILES if day_of(path) is None else Topic.DAILY


def day_of(path: PurePosixPath) -> date | None:
    """Return the day of the daily notes at *path*."""
    match = _DAY.fullmatch(path.name)
    if match is None or (path.parent != NOTES_FOLDER and path.parent.parent != SHARED_FOLDER):
        return None
    try:
        return date.fromisoformat(match[1])
    except ValueError:
        return None


def message_for(path: PurePosixPath, act: Act) -> str:
    """Return the subject of a commit with *act* on one file."""
    day = day_of(path)
    if act is Act.DELETE:
        return f"file: delete {path}"
    if path in LONG_TERM:
        return f"memory: update {path}"
    return f"log: add daily log {day}" if day else f"file: write {path}"


def subject_for(acts: Mapping[PurePosixPath, Act]) -> str:
    """Return the subject of a commit of several files: the most important one's, and the number of others.

    Long-term memory ranks before daily notes, and those before other files. Raises ValueError for none.
    """
    order = (Topic.MEMORY, Topic.DAILY, Topic.FILES)
    first = min(acts, key=lambda path: (order.index(topic_of(path)), path))
    more = f" and {len(acts) - 1} more" if len(acts) > 1 else ""
    return message_for(first, acts[first]) + more


def compose(subject: str, origin: Origin | None) -> str:
    """Return the whole message: *subject* in one line, then the known trailers."""
    facts = _facts(origin) if origin else {}
    trailers = "".join(f"{name}: {_one_line(value)}\n" for name, value in facts.items() if value)
    return f"{_one_line(redact(subject))}\n" + (f"\n{trailers}" if trailers else "")


def parse(message: str) -> tuple[str, Origin | None]:
    """Return subject and origin of a message from `compose`; of another message, its first line."""
    subject, _, body = message.strip("\n").partition("\n")
    facts = {match[1]: match[2] for line in body.splitlines() if (match := _TRAILER.fullmatch(line))}
    if "Session" not in facts:
        return subject, None
    answers, turn, approved_by, mark, undoes, chat, author = map(facts.get, _OPTIONAL)
    others = _YES_OR_NO.get(facts.get("Others", ""))
    return subject, Origin(facts["Session"], answers, turn, approved_by, mark, undoes, chat, author, others)


def _facts(origin: Origin) -> dict[str, str | None]:
    return {
        "Session": origin.session,
        "Message": origin.message,
        "Turn": origin.turn,
        "Approved-By": origin.approved_by,
        "Mark": origin.mark,
        "Undoes": origin.undoes,
        "Chat": origin.chat,
        "Author": origin.author,
        "Others": next((words for words, others in _YES_OR_NO.items() if others is origin.others), None),
    }


def _one_line(text: str) -> str:
    return "".join(" " if unicodedata.category(char) in _BREAKING else char for char in text).strip()
