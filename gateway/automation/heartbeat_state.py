"""State of an agent's heartbeats: the stored part, and the summary for others."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import AwareDatetime, BaseModel, ConfigDict


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
    looked: AwareDatetime | None = None
    """Everything due until then has been requested."""
    watched: Mapping[str, str] = {}
    """The last known digest of each watched file."""
    slot: str = ""
    """The id of the latest heartbeat's message."""
    prompt: str = ""
    """Its prompt, while it runs: repeated unchanged after a crash before the message was accepted."""
    before: "HeartbeatState | None" = None
    """The state to return to if it fails."""
    ran: AwareDatetime | None = None
    outcome: Outcome = Outcome.NONE
    failures: int = 0
    """Consecutive failures."""
    is_off: bool = False
    booted: AwareDatetime | None = None


_HEARTBEAT_STATES = {
    "never": "off (by configuration)",
    "no_model": "off (no model)",
    "no_route": "off (no direct chat with you)",
    "stopped": "off (repeated failures)",
}


@dataclass(frozen=True, slots=True)
class HeartbeatStatus:
    """The state of an agent's heartbeats."""

    state: str = "never"
    """`on`, `off`, or the reason that none run: `never` (by the configuration), `no_model`, `no_route`, `stopped`."""
    items: int = 0
    """Items on the checklist."""
    last_run: datetime | None = None
    """Time of the latest run."""
    outcome: str = ""
    """Outcome of that run: `running`, `silent`, `told`, or `failed`."""
    next_look: datetime | None = None
    """Next time at which something may be due."""
    failures: int = 0
    """Consecutive failures."""
    faults: tuple[str, ...] = ()
    """Invalid items of the checklist."""

    def __str__(self) -> str:
        items = "1 item" if self.items == 1 else f"{self.items} items"
        known = f"{_HEARTBEAT_STATES.get(self.state, self.state)}, {items}"
        last = f", last run {self.last_run:%Y-%m-%d %H:%M} ({self.outcome})" if self.last_run else ""
        soon = f", next check {self.next_look:%Y-%m-%d %H:%M}" if self.next_look else ""
        failed = f", {self.failures} failed in a row" if self.failures else ""
        return f"{known}{last}{soon}{failed}"
