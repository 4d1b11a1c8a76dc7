"""This file is how an agent's heartbeats stand: what is kept from one look to the next, and what others are told."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Outcome(StrEnum):
    """What the latest heartbeat came to."""

    NONE = ""
    """None was asked for yet, or it was cut off without a trace."""
    RUNNING = "running"
    SILENT = "silent"
    TOLD = "told"
    """The owner was told something: it is in the outbox."""
    FAILED = "failed"


class Pulse(BaseModel):
    """What is kept of an agent's heartbeats from one look to the next."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    looked: datetime | None = None
    """All that was due until then has been asked for."""
    watched: Mapping[str, str] = {}
    """Of each file whose changes are waited for, its digest then."""
    slot: str = ""
    """The id of the latest heartbeat's message."""
    prompt: str = ""
    """What it asks, while it runs: a crash before it was taken in asks the very same."""
    before: "Pulse | None" = None
    """From where to look again if it fails."""
    ran: datetime | None = None
    outcome: Outcome = Outcome.NONE
    failures: int = 0
    """In a row."""
    is_off: bool = False
    booted: datetime | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How an agent's heartbeats stand, for whoever asks."""

    state: str
    """`on`, `off`, or why none comes: `never` (by the configuration), `no_model`, `no_route`, `stopped`."""
    ran: datetime | None
    outcome: Outcome
    next_look: datetime | None
    """When something may be due next, as far as is known."""
    failures: int
    items: int
    faults: tuple[str, ...]
