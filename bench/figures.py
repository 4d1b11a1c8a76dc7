"""Results of a benchmark: figures with their spread, beside their goals."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number: the median of its runs, with minimum and maximum."""

    name: str
    runs: Sequence[float]
    unit: str
    goal: str = ""
    """As text, such as `< 20`; empty without a goal."""
    rivals: str = ""
    """Results of other systems on a similar machine."""

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.runs)

    def line(self) -> str:
        """Return the figure as a row of a table."""
        spread = f"{min(self.runs):.4g} … {max(self.runs):.4g}" if len(self.runs) > 1 else ""
        return f"{self.name:52} {self.value:10.4g} {self.unit:10} {spread:22} {self.goal:10} {self.rivals}".rstrip()


def resident_mb(pid: int, kind: str = "VmRSS") -> float:
    """Return the resident memory of the process *pid* in megabytes, or that of one *kind* such as `RssAnon`."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{kind}:")) / 1024


def children_of(pid: int) -> list[int]:
    """Return the child processes of *pid*."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
