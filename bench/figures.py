"""Results of a benchmark: figures with their spread, beside their goals."""

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound of a figure."""

    limit: float
    is_least: bool = False
    """Whether the figure must reach the limit instead of staying within it."""

    def is_met(self, value: float) -> bool:
        """Tell whether *value* is as wanted."""
        return value >= self.limit if self.is_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'>=' if self.is_least else '<='} {self.limit:g}"


def at_most(limit: float) -> Goal:
    """Return the goal that a figure is *limit* or less."""
    return Goal(limit)


def at_least(limit: float) -> Goal:
    """Return the goal that a figure is *limit* or more."""
    return Goal(limit, is_least=True)


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number: the median of its runs, with minimum and maximum."""

    name: str
    runs: Sequence[float]
    unit: str
    goal: Goal | None = None
    rivals: str = ""
    """Results of other systems on a similar machine."""

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.runs)

    @property
    def is_missed(self) -> bool:
        """Whether the median is not as its goal wants it."""
        return self.goal is not None and not self.goal.is_met(self.value)

    def line(self) -> str:
        """Return the figure as a row of a table."""
        spread = f"{min(self.runs):.4g} … {max(self.runs):.4g}" if len(self.runs) > 1 else ""
        goal = str(self.goal or "")
        return f"{self.name:56} {self.value:10.4g} {self.unit:10} {spread:22} {goal:10} {self.rivals}".rstrip()


def as_json(figures: Sequence[Figure]) -> dict[str, object]:
    """Return *figures* by name: median, runs, and the goal with whether it was missed."""
    return {
        each.name: {"median": each.value, "runs": list(each.runs)}
        | ({"goal": str(each.goal), "missed": each.is_missed} if each.goal else {})
        for each in figures
    }


def missed(figures: Sequence[Figure]) -> str:
    """Return a table of the figures that missed their goals; empty if none did."""
    rows = [f"{each.name:56} {each.value:10.4g} {each.unit:10} {each.goal}" for each in figures if each.is_missed]
    goals = sum(each.goal is not None for each in figures)
    return "\n".join([f"Missed {len(rows)} of {goals} goals:", *rows]) if rows else ""


def ratio(name: str, ours: Figure, floors: Figure, goal: Goal | None = None) -> Figure:
    """Return how many times the floor's figure ours is, run by run."""
    return Figure(name, [one / other for one, other in zip(ours.runs, floors.runs, strict=True)], "x", goal)


def percentile(times: Sequence[float], share: float) -> float:
    """Return the value that this *share* of *times* does not exceed."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def machine() -> str:
    """Return the state of the machine as a line."""
    return f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"


def resident_mb(pid: int, kind: str = "VmRSS") -> float:
    """Return the resident memory of the process *pid* in megabytes, or that of one *kind* such as `RssAnon`."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{kind}:")) / 1024


def children_of(pid: int) -> list[int]:
    """Return the child processes of *pid*."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
