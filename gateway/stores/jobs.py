"""Port to scheduled jobs and the outcomes of their slots.

Operations follow the rules of `gateway.stores.ports`: in the order of their calls, durable when they return.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType, Protocol

from msgspec import Struct

from adapters.channel import InboundMessage
from gateway.stores.rows import InboxRow

JobId = NewType("JobId", int)
RUNS_KEPT = 100
"""Runs kept of each job, newest first. Our choice: three months of a daily one."""


class RunState(StrEnum):
    RUNNING = "running"
    """Accepted; its turn is not over."""
    ANSWERED = "answered"
    """An answer was committed and is on its way."""
    SILENT = "silent"
    """There was nothing to say."""
    DELIVERED = "delivered"
    """The platform confirmed each part of the answer with a message id."""
    FAILED = "failed"
    """The turn produced no answer of its own."""
    DEAD = "dead"
    """The platform rejected the answer for good."""
    MISSED = "missed"
    """Too late to run."""


FAILURES = frozenset({RunState.FAILED, RunState.DEAD})
SUCCESSES = frozenset({RunState.SILENT, RunState.DELIVERED})


@dataclass(frozen=True, slots=True)
class JobSpec:
    """An agent's task and its schedule."""

    agent: str
    schedule: str
    """In the syntax of `gateway.schedule.recurrence`, in *zone*, as of *begun_at*."""
    zone: str
    prompt: str
    begun_at: datetime
    in_main: bool = False
    """Runs as part of the owner's own conversation, not in a session of its own."""
    private: bool = False
    """Has access to private memory."""
    made_by: str = ""
    """Description of its creator."""


class Job(Struct, frozen=True):
    """A stored errand; ids grow and are never reused."""

    id: JobId
    spec: JobSpec
    is_enabled: bool
    next_slot: datetime | None
    """`None`: no future run."""
    last_slot: datetime | None = None
    failures: int = 0
    """How many of its latest slots in a row failed."""


class Slot(Struct, frozen=True):
    """A time at which a job is due."""

    at: datetime
    before: datetime
    """The job's current next slot: the first to take it replaces it, so nobody takes it twice."""
    after: datetime | None
    """The next slot after that."""


class JobRun(Struct, frozen=True):
    """The outcome of a slot."""

    slot: datetime
    state: RunState
    turn: str | None
    """The turn that answered it; `None` if none did."""
    messages: tuple[str, ...] = ()
    """The platform's ids of the messages that it delivered, as long as the store keeps them."""


class Jobs(Protocol):
    """The jobs of our agents."""

    async def add(self, spec: JobSpec, next_slot: datetime, most: int, key: str | None = None) -> Job | None:
        """Store a job; `None` if its agent has *most* with a future run. The same *key* again: the same job."""

    async def all(self) -> Sequence[Job]:
        """Return every job, ordered by id."""

    async def remove(self, job: JobId) -> bool:
        """Delete the job and its history; `False` if there is none."""

    async def set_next(self, job: JobId, next_slot: datetime | None) -> bool:
        """Enable the job from *next_slot* on and reset its failures; `None` disables it."""

    async def take(self, job: JobId, slot: Slot, message: InboundMessage | None) -> InboxRow | None:
        """Advance the job and store *message* in the inbox: both or neither; `None` if the slot is no longer the next.

        Without a message, the slot is recorded as missed and the result is `None` too.
        """

    async def run(self, job: JobId, at: datetime, message: InboundMessage) -> InboxRow | None:
        """Store *message* outside the schedule; `None` if it was stored before, or there is no such job."""

    async def history(self, job: JobId) -> Sequence[JobRun]:
        """Return the outcomes of its latest slots, newest first."""
