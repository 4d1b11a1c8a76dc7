"""Wire types shared by the commands and the gateway."""

from datetime import date, datetime
from typing import Literal

from msgspec import Struct

from gateway.control.order import Order
from gateway.control.status_wire import SearchMode


class ScoreParts(Struct, frozen=True):
    """The parts of a passage's score, as in `Hit`."""

    similarity: float = 0.0
    late: float = 0.0
    keyword: float = 0.0
    matched: float = 0.0


class SearchHit(Struct, frozen=True):
    """A passage that answers a query."""

    path: str
    """Relative to the workspace."""
    start_line: int
    end_line: int
    score: float
    """How well it fits, 0 to 1."""
    snippet: str
    citation: str
    holds: str = ""
    """Whether it holds, as `Hit.mark`."""
    parts: ScoreParts = ScoreParts()
    day: date | None = None
    chat: str = ""
    """The chat whose people read it too."""
    is_others: bool = False


class MemorySearchAnswer(Struct, frozen=True):
    """The outcome of a memory search, best hit first."""

    hits: tuple[SearchHit, ...]
    mode: SearchMode
    reason: str = ""
    is_clear: bool = True
    """Whether a hit clearly fits; otherwise they are only the nearest."""


class UsedHit(Struct, frozen=True):
    """A passage that an answer used, or might have used."""

    citation: str
    how: Literal["search", "read", "recall"]
    """Found by the model's search, read by it, or recalled before it asked."""
    score: float
    """0 to 1; 0 for a passage that the model read."""
    similarity: float
    keyword: float
    origin: str = ""
    """Change that wrote it, with its message; empty while it is not in the history."""
    text: str = ""
    """Its words; empty if other words stand there now."""


class Why(Struct, frozen=True):
    """The memories behind the latest answer of the owner's own conversation."""

    question: str
    """Empty if nothing was asked yet."""
    used: tuple[UsedHit, ...] = ()
    """Most relevant first."""


class WhyOrder(Order[Why], frozen=True):
    """A request for the memories behind an agent's answer to its owner; `None` is the default agent."""

    agent: str | None = None
    turn: str | None = None
    """The turn of the answer; `None` is the latest one's."""


class OriginStep(Struct, frozen=True):
    """A change that wrote some of the lines, or the message at their place in a conversation."""

    revision: str | None
    at: datetime
    subject: str
    session: str | None
    """`editor` for an edit in an editor; `None` for changes found at a start, or written by the gateway itself."""
    message: str | None
    said: str
    """The message that led to it; empty if there was none, or its transcript is gone."""


class MemorySource(Struct, frozen=True):
    """The origin of some lines of memory."""

    citation: str
    text: str
    steps: tuple[OriginStep, ...] = ()
    """Newest first; empty while the lines are not in the history."""


class OriginOrder(Order[MemorySource], frozen=True):
    """A request for the origin of some lines of memory, as far as their owner may know."""

    citation: str
    """Such as `MEMORY.md#L3-L5`."""
    agent: str | None = None


class SearchOrder(Order[MemorySearchAnswer], frozen=True):
    """A search of an agent's memory as its owner may see it."""

    query: str
    agent: str | None = None
    max_results: int | None = None
    """`None`: as configured."""
    as_of: date | None = None
    """Search the notes as they were at the end of this day."""
    since: date | None = None
    until: date | None = None
    """Both days are included; undated notes are outside of any bounds."""


class HistoryCommit(Struct, frozen=True):
    revision: str
    at: datetime
    subject: str
    session: str | None
    """Session of its turn; `None` for changes found on disk."""
    message: str | None
    paths: tuple[str, ...]
    approved_by: str | None = None
    """The person who approved the turn's request; `None` if no approval was needed."""


class HistoryFile(Struct, frozen=True):
    path: str
    added: int
    """Number of lines."""
    removed: int
    text: str
    """A unified diff."""


class HistoryAnswer(Struct, frozen=True):
    """The requested changes, newest first, and the differences in files."""

    commits: tuple[HistoryCommit, ...] = ()
    files: tuple[HistoryFile, ...] = ()
    omitted: int = 0
    """Number of further files with differences."""
    outcome: str = ""
    """Description of the action taken; for an export, the path of the file."""


class HistoryOrder(Order[HistoryAnswer], frozen=True):
    """A request for versions of an agent's files, to restore a file, or to take back one change of files."""

    act: Literal["log", "show", "diff", "restore", "revert", "bundle"]
    agent: str | None = None
    path: str | None = None
    """A file or folder, relative to the workspace; `None` is everything."""
    revision: str | None = None
    """The change to show, the older one to compare, or the one to restore from; a log lists the changes before it."""
    newer: str | None = None
    """The newer revision; `None` is the newest."""
    limit: int = 20
    topic: Literal["all", "memory", "daily", "files"] = "all"
    words: str = ""
    """List only changes that added or removed this text, or whose subject or files contain it."""
    is_preview: bool = False
    """Return the difference that a restoration would make, and write nothing."""
    is_for_others: bool = False
    """The owner knows that others read the files to be restored, and means it."""


class WaitingChange(Struct, frozen=True):
    """A change that waits for the owner."""

    number: int
    agent: str
    subject: str
    """A file's path, a job, or a call of a tool."""
    reason: str
    session: str
    """Session of the turn that requested it."""
    message: str | None
    created_at: datetime
    expires_at: datetime
    diff: str = ""
    """The change of a file as a diff; empty in a list."""
    words: str = ""
    """Any other change in plain words; empty in a list."""


class ApprovalAnswer(Struct, frozen=True):
    """The requested pending changes, and the action taken."""

    changes: tuple[WaitingChange, ...] = ()
    """Oldest first."""
    outcome: str = ""
    """Description of the action taken."""


class ApprovalOrder(Order[ApprovalAnswer], frozen=True):
    """A request about changes that wait for the owner, or a decision about one of them."""

    act: Literal["list", "show", "approve", "refuse"]
    number: int | None = None
    """Number of the change; unset for `list`."""
    agent: str | None = None
    """Only this agent's; `None` is every agent's."""


class SessionRow(Struct, frozen=True):
    agent: str
    session: str
    ended: datetime | None
    """`None` for a current conversation."""
    messages: int
    """Number of messages and replies with text."""
    size: int
    """In bytes."""
    last: datetime
    """Time of the last write."""


class SessionRecord(Struct, frozen=True):
    """One event of a conversation."""

    at: datetime
    """In the owner's zone."""
    kind: Literal["message", "reply", "call", "result", "note"]
    who: str
    """The speaker, or the tool; the subject of a note."""
    text: str
    message: str = ""
    """Id of a message."""


class SessionMatch(Struct, frozen=True):
    """A matching message, with its neighbours."""

    citation: str
    day: date | None
    """In the owner's zone."""
    before: str
    text: str
    after: str


class SessionsAnswer(Struct, frozen=True):
    """The requested conversations, events of one of them in order, or matches."""

    sessions: tuple[SessionRow, ...] = ()
    records: tuple[SessionRecord, ...] = ()
    lines: tuple[str, ...] = ()
    """Lines of an export: the records as stored, JSON each."""
    matches: tuple[SessionMatch, ...] = ()
    """Newest first."""
    damaged: int = 0
    """Number of unreadable lines."""
    unknown: int = 0
    """Number of lines of a type or version that this program does not know."""
    next_offset: int | None = None
    """Byte at which an export continues; `None` at its end."""
    notice: str = ""
    """Set when the search was not complete."""


class SessionsOrder(Order[SessionsAnswer], frozen=True):
    """A request about the conversations of agents, ended ones included."""

    act: Literal["list", "show", "export", "search"]
    agent: str | None = None
    """`None` is the default agent; for a list, all agents."""
    session: str | None = None
    """Its name, as the list shows it; unset for `list` and `search`."""
    query: str | None = None
    """Text to find, literally."""
    since: date | None = None
    until: date | None = None
    """Last day of the search; both days, in the owner's zone, are included."""
    limit: int = 50
    offset: int = 0
    """Byte at which an export continues, as named by its last part."""
