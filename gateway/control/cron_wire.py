"""This file holds what passes between a command and the gateway about jobs, as both sides know it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class CronOrder:
    """A question about what agents do at their times, or a change of it."""

    act: Literal["list", "add", "run", "remove", "history", "enable"]
    agent: str | None = None
    """Whose; of a new job the default agent's."""
    number: int | None = None
    """Which job; not of a list, nor of a new one."""
    when: str = ""
    what: str = ""
    zone: str | None = None
    in_main: bool = False
    private: bool = False


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job."""

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
    """All of that in words, times in the owner's zone."""


@dataclass(frozen=True, slots=True)
class JobsStatus:
    """How an agent's jobs stand."""

    count: int = 0
    """That have a time to come."""
    next_due: datetime | None = None
    """When the first of them comes."""
    failing: int = 0
    """Of them, whose latest time failed."""
    stopped: int = 0
    """That come no more until somebody enables them."""

    def __str__(self) -> str:
        soon = f", the next {self.next_due:%Y-%m-%d %H:%MZ}" if self.next_due else ""
        failing = f", {self.failing} failed at the latest time" if self.failing else ""
        stopped = f", {self.stopped} stopped" if self.stopped else ""
        return f"{self.count} to come{soon}{failing}{stopped}"


@dataclass(frozen=True, slots=True)
class RunRow:
    """What became of a slot."""

    slot: datetime
    state: str
    turn: str | None
    line: str
    """All of that in words, times in the owner's zone."""


@dataclass(frozen=True, slots=True)
class CronAnswer:
    """The jobs or the history that were asked for, and what was done."""

    jobs: tuple[JobRow, ...] = ()
    runs: tuple[RunRow, ...] = ()
    outcome: str = ""
