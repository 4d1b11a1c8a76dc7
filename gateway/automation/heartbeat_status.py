"""Summary of an agent's heartbeats, as the owner sees it."""

from datetime import datetime

from msgspec import Struct

_HEARTBEAT_STATES = {
    "never": "off (by configuration)",
    "no_model": "off (no model)",
    "no_route": "off (no direct chat with you)",
    "stopped": "off (repeated failures)",
}


class HeartbeatStatus(Struct, frozen=True):
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
