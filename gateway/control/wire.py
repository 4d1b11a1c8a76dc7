"""This file holds what passes between a command and the gateway, as both sides know it."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from gateway.control.status_wire import SearchMode


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A passage that answers a query."""

    path: str
    """Relative to the workspace."""
    start_line: int
    end_line: int
    score: float
    snippet: str
    citation: str


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of a memory search, best hit first."""

    hits: tuple[FoundHit, ...]
    mode: SearchMode
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UsedHit:
    """A passage that an answer came from, or might have."""

    citation: str
    how: Literal["search", "read", "recall"]
    """Found by the model's search, read by it, or brought up before it asked."""
    score: float
    """0 for what was read."""
    relevance: float
    similarity: float
    keyword: float


@dataclass(frozen=True, slots=True)
class Why:
    """What the latest answer of the owner's own conversation knew."""

    question: str
    """Empty if nothing was asked yet."""
    used: tuple[UsedHit, ...] = ()
    """The most relevant first."""


@dataclass(frozen=True, slots=True)
class OriginOrder:
    """Where some lines of memory come from, as their owner may know."""

    citation: str
    """Such as `MEMORY.md#L3-L5`."""
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class OriginStep:
    """A change that wrote some of the lines, or what was said where they stand in a conversation."""

    revision: str | None
    at: datetime
    subject: str
    session: str | None
    """`editor` for what an editor saved; `None` for what was found at a start, or written by the gateway itself."""
    message: str | None
    said: str
    """The message that led to it; empty if there was none, or its transcript is gone."""


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Where some lines of memory come from."""

    citation: str
    text: str
    steps: tuple[OriginStep, ...] = ()
    """The newest first; none while the lines are not in the history yet."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of an answer that takes its time: some `earlier`, `reply` or `progress`, then `done` or `error`."""

    event: Literal["accepted", "earlier", "reply", "progress", "done", "error"]
    text: str = ""
    """A reply as Markdown, an outcome in words, or what went wrong."""
    done: int = 0
    total: int = 0
    """How many changed notes are indexed, of how many."""


@dataclass(frozen=True, slots=True)
class ChatOrder:
    """A message of the owner's for an agent; `None` leaves the agent to the bindings."""

    text: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class SearchOrder:
    """A search of an agent's memory as its owner may see it."""

    query: str
    agent: str | None = None
    max_results: int | None = None
    """`None`: as configured."""
    as_of: date | None = None
    """Search the notes as they were at the end of this day."""


@dataclass(frozen=True, slots=True)
class AgentOrder:
    """Something to do for one agent; `None` is the default agent."""

    agent: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryOrder:
    """A question about the versions of an agent's files, or a file to bring back."""

    act: Literal["log", "show", "diff", "restore", "bundle"]
    agent: str | None = None
    path: str | None = None
    """A file or folder, relative to the workspace; `None` is everything."""
    revision: str | None = None
    """The change to show, the older one to compare, the one to restore from; a log lists what is before it."""
    newer: str | None = None
    """`None` compares to the newest."""
    limit: int = 20


@dataclass(frozen=True, slots=True)
class HistoryCommit:
    """One change."""

    revision: str
    at: datetime
    subject: str
    session: str | None
    """Of the turn that it came from; `None` for what was found on disk."""
    message: str | None
    paths: tuple[str, ...]
    approved_by: str | None = None
    """Who approved what the turn had asked for; `None` for what needed nobody's approval."""


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """How a file differs."""

    path: str
    added: int
    """In lines."""
    removed: int
    text: str
    """A unified diff."""


@dataclass(frozen=True, slots=True)
class HistoryAnswer:
    """The changes, newest first, and how the files differ, as far as they were asked for."""

    commits: tuple[HistoryCommit, ...] = ()
    files: tuple[HistoryFile, ...] = ()
    omitted: int = 0
    """How many more files differ."""
    outcome: str = ""
    """What was done, in words; of an export, the path of the file."""


@dataclass(frozen=True, slots=True)
class ApprovalOrder:
    """A question about the changes that wait for the owner, or a decision about one of them."""

    act: Literal["list", "show", "approve", "refuse"]
    number: int | None = None
    """Of the change; not for `list`."""
    agent: str | None = None
    """Only this agent's; `None` is every agent's."""


@dataclass(frozen=True, slots=True)
class WaitingChange:
    """A change of a file that waits for the owner."""

    number: int
    agent: str
    path: str
    reason: str
    """Why it waits, in words."""
    session: str
    """Of the turn that asked for it."""
    message: str | None
    created_at: datetime
    expires_at: datetime
    diff: str = ""
    """How the file would change; empty in a list."""


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """What waits, as far as it was asked for, and what was done."""

    changes: tuple[WaitingChange, ...] = ()
    """The oldest first."""
    outcome: str = ""
    """What was done, in words."""


@dataclass(frozen=True, slots=True)
class QuarantineOrder:
    """A question about quarantined rows, or a decision about one of them."""

    act: Literal["list", "retry", "drop"]
    id: str | None = None
    """Of the row; not for `list`."""


@dataclass(frozen=True, slots=True)
class QuarantineLine:
    """A quarantined row as the owner sees it."""

    id: str
    kind: str
    reason: str
    why: str
    at: datetime
    excerpt: str


@dataclass(frozen=True, slots=True)
class QuarantineAnswer:
    """The rows in quarantine, oldest first, or the outcome of a decision."""

    rows: tuple[QuarantineLine, ...] = ()
    files: tuple[str, ...] = ()
    """Files that search leaves out since the memory worker crashed on them, as `file:<agent>:<path>`."""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class SessionsOrder:
    """A question about the conversations of agents, those that have ended too."""

    act: Literal["list", "show", "export", "search"]
    agent: str | None = None
    """`None` is the default agent; a list is of all agents then."""
    session: str | None = None
    """Its name, as the list gives it; not for `list` and `search`."""
    query: str | None = None
    """What to look for, letter by letter."""
    since: date | None = None
    until: date | None = None
    """Both days, the owner's, belong to what is searched."""
    limit: int = 50
    offset: int = 0
    """Where an export goes on: the byte that the last part named."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A conversation."""

    agent: str
    session: str
    ended: datetime | None
    """`None` while it goes on."""
    messages: int
    """Messages and replies that say something."""
    size: int
    """In bytes."""
    last: datetime
    """When it was last written to."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """What happened in a conversation."""

    at: datetime
    """In the owner's zone."""
    kind: Literal["message", "reply", "call", "result", "note"]
    who: str
    """Who said it, or the tool; of a note, what it is about."""
    text: str


@dataclass(frozen=True, slots=True)
class SessionMatch:
    """A message that holds what was looked for, with those beside it."""

    citation: str
    day: date | None
    """The owner's."""
    before: str
    text: str
    after: str


@dataclass(frozen=True, slots=True)
class SessionsAnswer:
    """The conversations, what happened in one of them in its order, or what was found; as far as it was asked for."""

    sessions: tuple[SessionRow, ...] = ()
    records: tuple[SessionRecord, ...] = ()
    lines: tuple[str, ...] = ()
    """Of an export: the records as they are stored, JSON each."""
    matches: tuple[SessionMatch, ...] = ()
    """The newest first."""
    damaged: int = 0
    """Lines that nobody can read."""
    unknown: int = 0
    """Lines of a type or version that this program does not know."""
    next_offset: int | None = None
    """Where an export goes on; `None` at its end."""
    notice: str = ""
    """Says when not everything was looked through."""
