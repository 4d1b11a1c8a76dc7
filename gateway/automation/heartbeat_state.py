"""State of an agent's heartbeats: the stored part, and the summary for others."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Outcome(StrEnum):
    """The outcome of the latest heartbeat."""

    NONE = ""
    """No heartbeat was requested yet, or it was interrupted without a trace."""
    RUNNING = "running"
    SILENT = "silent"
    TOLD = "told"
    """The owner was notified: the message is in the outbox."""
    FAILED = "failed"


class HeartbeatState(BaseModel):
    """The stored state of an agent's heartbeats between two looks."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    looked: datetime | None = None
    """Everything due until then has been requested."""
    watched: Mapping[str, str] = {}
    """The last known digest of each watched file."""
    slot: str = ""
    """The id of the latest heartbeat's message."""
    prompt: str = ""
    """Its prompt, while it runs: repeated unchanged after a crash before the message was accepted."""
    before: "HeartbeatState | None" = None
    """The state to return to if it fails."""
    ran: datetime | None = None
    outcome: Outcome = Outcome.NONE
    failures: int = 0
    """Consecutive failures."""
    is_off: bool = False
    booted: datetime | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatReport:
    """The state of an agent's heartbeats, for display."""

    state: str
    """`on`, `off`, or why there are none: `never` (by the configuration), `no_model`, `no_route`, `stopped`."""
    ran: datetime | None
    outcome: Outcome
    next_look: datetime | None
    """The next time at which an item may be due, as far as is known."""
    failures: int
    items: int
    faults: tuple[str, ...]
