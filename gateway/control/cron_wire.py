"""Wire types for jobs, shared by the commands and the gateway."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from gateway.control.order import Order


class JobRow(Struct, frozen=True):
    number: int
    agent: str
    schedule: str
    zone: str
    prompt: str
    in_main: bool
    private: bool
    made_by: str
    is_enabled: bool
    next_slot: datetime | None
    last_slot: datetime | None
    failures: int
    line: str
    """The whole row as text, times in the owner's zone."""


class JobsStatus(Struct, frozen=True):
    """The state of an agent's jobs."""

    count: int = 0
    """Jobs with a future run."""
    next_due: datetime | None = None
    """Time of the earliest run."""
    failing: int = 0
    """Those of them whose latest run failed."""
    stopped: int = 0
    """Jobs disabled until somebody enables them."""

    def __str__(self) -> str:
        soon = f", the next {self.next_due:%Y-%m-%d %H:%M}" if self.next_due else ""
        failing = f", {self.failing} failed in their last run" if self.failing else ""
        stopped = f", {self.stopped} stopped" if self.stopped else ""
        return f"{self.count} scheduled{soon}{failing}{stopped}"


class RunRow(Struct, frozen=True):
    """The outcome of one scheduled run."""

    slot: datetime
    state: str
    turn: str | None
    line: str
    """The whole row as text, times in the owner's zone."""


class CronAnswer(Struct, frozen=True):
    """The requested jobs or history, and the action taken."""

    jobs: tuple[JobRow, ...] = ()
    runs: tuple[RunRow, ...] = ()
    outcome: str = ""


class CronOrder(Order[CronAnswer], frozen=True):
    """A request to list, run or change scheduled jobs."""

    act: Literal["list", "add", "run", "remove", "history", "enable"]
    agent: str | None = None
    """Owner of the job; the default agent's for a new job."""
    number: int | None = None
    """Number of the job; unset for a list or a new job."""
    when: str = ""
    what: str = ""
    zone: str | None = None
    in_main: bool = False
    private: bool = False
