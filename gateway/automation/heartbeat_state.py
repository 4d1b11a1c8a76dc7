"""The stored state of an agent's heartbeats."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from gateway.stores.remembered import Moment


class Outcome(StrEnum):
    """The outcome of the latest heartbeat."""

    NONE = ""
    """No heartbeat was requested yet, or it was interrupted without a trace."""
    RUNNING = "running"
    SILENT = "silent"
    TOLD = "told"
    """The owner was notified: the message is in the outbox."""
    FAILED = "failed"


class HeartbeatState(Struct, frozen=True):
    """The stored state of an agent's heartbeats between two looks."""

    looked: Moment | None = None
    """Everything due until then has been requested."""
    watched: Mapping[str, str] = {}
    """The last known digest of each watched file."""
    slot: str = ""
    """The id of the latest heartbeat's message."""
    prompt: str = ""
    """Its prompt, while it runs: repeated unchanged after a crash before the message was accepted."""
    before: "HeartbeatState | None" = None
    """The state to return to if it fails."""
    ran: Moment | None = None
    outcome: Outcome = Outcome.NONE
    failures: int = 0
    """Consecutive failures."""
    is_off: bool = False
    booted: Moment | None = None
