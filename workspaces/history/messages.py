"""This file words the messages of commits and reads them back: a subject, and in trailers where a change came from."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import PurePosixPath

from workspaces.access import SHARED_FOLDER
from workspaces.secrets import redact

INITIAL = "init: initialize memory repository"
MAINTENANCE = "gc: repository maintenance"

NOTES_FOLDER = SHARED_FOLDER.parent
LONG_TERM = frozenset({PurePosixPath("MEMORY.md"), PurePosixPath("memory.md")})
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(-.+)?\.md", re.ASCII)
_BREAKING = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Controls, lone surrogates, and what some programs take for a line end."""
_TRAILER = re.compile(r"(Session|Message|Turn|Approved-By|Mark|Undoes): (.+)")


class Act(StrEnum):
    """What a commit did to a file."""

    WRITE = "write"
    DELETE = "delete"


class Topic(StrEnum):
    """What a file is about, as people filter the history."""

    ALL = "all"
    MEMORY = "memory"
    """The long-term memory, `MEMORY.md`."""
    DAILY = "daily"
    """The days' notes, shared ones included."""
    FILES = "files"
    """Every other file."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Which turn changed the files."""

    session: str
    message: str | None = None
    """The inbox's id of the message that the turn answered."""
    turn: str | None = None
    approved_by: str | None = None
    """Who approved the change that the turn had asked for; `None` for what needed nobody's approval."""
    mark: str | None = None
    """By which the turn can be taken back; it tells nothing but that."""
    undoes: str | None = None
    """The mark of the turn that this change takes back."""


def topic_of(path: PurePosixPath) -> Topic:
    """Return what the file at *path* is about; never `ALL`."""
    if path in LONG_TERM:
        return Topic.MEMORY
    return Topic.FILES if day_of(path) is None else Topic.DAILY


def day_of(path: PurePosixPath) -> date | None:
    """Return the day whose notes the file at *path* holds."""
    match = _DAY.fullmatch(path.name)
    if match is None or (path.parent != NOTES_FOLDER and path.parent.parent != SHARED_FOLDER):
        return None
    try:
        return date.fromisoformat(match[1])
    except ValueError:
        return None


def message_for(path: PurePosixPath, act: Act) -> str:
    """Return the subject of a commit that did *act* to one file."""
    day = day_of(path)
    if act is Act.DELETE:
        return f"file: delete {path}"
    if path in LONG_TERM:
        return f"memory: update {path}"
    return f"log: add daily log {day}" if day else f"file: write {path}"


def subject_for(acts: Mapping[PurePosixPath, Act]) -> str:
    """Return the subject of a commit of several files: the most telling one's, and how many more there are.

    The long-term memory tells more than a day's notes, and those more than another file. Raises ValueError for none.
    """
    order = (Topic.MEMORY, Topic.DAILY, Topic.FILES)
    first = min(acts, key=lambda path: (order.index(topic_of(path)), path))
    more = f" and {len(acts) - 1} more" if len(acts) > 1 else ""
    return message_for(first, acts[first]) + more


def compose(subject: str, origin: Origin | None) -> str:
    """Return the whole message: *subject* in one line, then the trailers, as far as they are known."""
    facts = _facts(origin) if origin else {}
    trailers = "".join(f"{name}: {_one_line(value)}\n" for name, value in facts.items() if value)
    return f"{_one_line(redact(subject))}\n" + (f"\n{trailers}" if trailers else "")


def parse(message: str) -> tuple[str, Origin | None]:
    """Return subject and origin of what `compose` made; of somebody else's message, its first line."""
    subject, _, body = message.strip("\n").partition("\n")
    facts = {match[1]: match[2] for line in body.splitlines() if (match := _TRAILER.fullmatch(line))}
    if "Session" not in facts:
        return subject, None
    optional = (facts.get(name) for name in ("Message", "Turn", "Approved-By", "Mark", "Undoes"))
    return subject, Origin(facts["Session"], *optional)


def _facts(origin: Origin) -> dict[str, str | None]:
    return {
        "Session": origin.session,
        "Message": origin.message,
        "Turn": origin.turn,
        "Approved-By": origin.approved_by,
        "Mark": origin.mark,
        "Undoes": origin.undoes,
    }


def _one_line(text: str) -> str:
    return "".join(" " if unicodedata.category(char) in _BREAKING else char for char in text).strip()
