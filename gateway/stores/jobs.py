"""This file is the port to what agents do at their times: jobs, and what became of each of their slots.

Operations keep the rules of `gateway.stores.ports`: in the order of their calls, durable when they return.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType, Protocol

from adapters.channel import InboundMessage
from gateway.stores.rows import InboxRow

JobId = NewType("JobId", int)
RUNS_KEPT = 100
"""Of each job; the newest are. Our choice: three months of a daily one."""


class RunState(StrEnum):
    """What became of a slot."""

    RUNNING = "running"
    """It was taken in; its turn is not over."""
    ANSWERED = "answered"
    """An answer was committed and is on its way."""
    SILENT = "silent"
    """There was nothing to say."""
    DELIVERED = "delivered"
    """The platform gave a message id for each part of the answer."""
    FAILED = "failed"
    """The turn came to no answer of its own."""
    DEAD = "dead"
    """The platform refused the answer for good."""
    MISSED = "missed"
    """It came too late to be run."""


FAILURES = frozenset({RunState.FAILED, RunState.DEAD})
SUCCESSES = frozenset({RunState.SILENT, RunState.DELIVERED})


@dataclass(frozen=True, slots=True)
class Errand:
    """What an agent is to do, and when."""

    agent: str
    schedule: str
    """As `gateway.schedule.recurrence` reads it, in *zone*, as of *begun_at*."""
    zone: str
    prompt: str
    begun_at: datetime
    in_main: bool = False
    """It is run as a part of the owner's own conversation, not in a session of its own."""
    private: bool = False
    """It works over private memory."""
    made_by: str = ""
    """Who asked for it, in words."""


@dataclass(frozen=True, slots=True)
class Job:
    """An errand that is kept; ids grow and are never given again."""

    id: JobId
    errand: Errand
    is_enabled: bool
    next_slot: datetime | None
    """`None`: it has no time to come."""
    last_slot: datetime | None = None
    failures: int = 0
    """How many of its latest slots in a row failed."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A moment at which a job is due."""

    at: datetime
    before: datetime
    """What the job's next slot is now: whoever takes it first moves it on, and nobody takes it twice."""
    after: datetime | None
    """What it is then."""


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a slot."""

    slot: datetime
    state: RunState
    turn: str | None
    """Which turn answered it; `None` if none did."""


class Jobs(Protocol):
    """The jobs of our agents."""

    async def add(self, errand: Errand, next_slot: datetime, most: int, key: str | None = None) -> Job | None:
        """Keep a job; `None` if its agent has *most* that have a time to come. The same *key* again: the same job."""

    async def all(self) -> Sequence[Job]:
        """Return every job, by its id."""

    async def remove(self, job: JobId) -> bool:
        """Forget the job and its history; `False` if there is none."""

    async def set_next(self, job: JobId, next_slot: datetime | None) -> bool:
        """Enable the job from *next_slot* on, its failures forgotten; with `None` disable it."""

    async def take(self, job: JobId, slot: Slot, message: InboundMessage | None) -> InboxRow | None:
        """Move the job on and take *message* in: both or neither; `None` if the slot is no longer the next.

        Without a message the slot is noted as missed, for `None` as well.
        """

    async def run(self, job: JobId, at: datetime, message: InboundMessage) -> InboxRow | None:
        """Take *message* in beside the schedule; `None` if it was taken in before, or there is no such job."""

    async def history(self, job: JobId) -> Sequence[Run]:
        """Return what became of its latest slots, the newest first."""
