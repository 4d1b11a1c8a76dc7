"""The shape of an agent's activity: who is at work now, with which hooks and tools, and the figures of past days."""

from datetime import date, datetime

from msgspec import Struct

from gateway.control.order import Order


class LaneRow(Struct, frozen=True):
    """A session with work in its lane."""

    session: str
    is_working: bool
    """A turn runs; otherwise its next attempt waits."""
    waiting: int
    """Further messages in the lane."""


class HookRow(Struct, frozen=True):
    """A handler, in the order in which they run."""

    event: str
    source: str
    decides: bool
    """If it fails, what it is asked about does not happen; otherwise it is passed over."""


class ToolServerRow(Struct, frozen=True):
    name: str
    is_connected: bool
    sessions: tuple[str, ...]
    """The session types that may use it."""
    tools: tuple[str, ...]
    """Names of the offered tools; none before its first use."""
    troubles: tuple[str, ...]


class DaySpending(Struct, frozen=True):
    """The costs of one day, the owner's, for one cause."""

    day: date
    cause: str
    tokens: int
    money: float
    """In US dollars."""


class RecallRow(Struct, frozen=True):
    """The receipt of a search for the facts that a conversation had stated."""

    at: datetime
    asked: int
    found: int
    took_ms: int
    told: str
    """The receipt in words."""


class IndexSize(Struct, frozen=True):
    day: date
    entries: int
    size: int
    """On the disk, in bytes."""


class ActivityReport(Struct, frozen=True):
    lanes: tuple[LaneRow, ...] = ()
    hooks: tuple[HookRow, ...] = ()
    """Of the whole gateway."""
    tool_servers: tuple[ToolServerRow, ...] = ()
    spending: tuple[DaySpending, ...] = ()
    """Oldest first; days and causes without costs are absent."""
    recalls: tuple[RecallRow, ...] = ()
    """Of the latest conversations, oldest first."""
    index_sizes: tuple[IndexSize, ...] = ()
    """Oldest first; one for each day on which the gateway ran."""


class ActivityOrder(Order[ActivityReport], frozen=True):
    """A request for an agent's activity; `None` is the default agent."""

    agent: str | None = None
    days: int = 30
    """Days of spending; 0 asks for the present alone, without receipts and sizes."""
