"""Observation of a process from outside: its memory, its files, its threads, its CPU time."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.figures import children_of, resident_mb

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Sample:
    """A process at one moment."""

    pid: int
    resident_mb: float
    cpu_s: float
    files: int
    """Open file descriptors."""
    threads: int
    own_mb: float
    """Resident memory without file pages: the system reclaims those on demand."""


def sample(pid: int) -> Sample | None:
    """Sample the process *pid*; `None` if it has ended."""
    folder = Path(f"/proc/{pid}")
    try:
        # The second field, the program's name in brackets, may contain blanks; the third is the first one after it.
        fields = (folder / "stat").read_text().rpartition(") ")[2].split()
        files = sum(1 for _ in (folder / "fd").iterdir())
        resident, own = resident_mb(pid), resident_mb(pid, "RssAnon")
    except (OSError, StopIteration):  # a process that has just ended shows a status without its memory
        return None
    return Sample(pid, resident, (int(fields[11]) + int(fields[12])) / _TICKS, files, int(fields[17]), own)


def worker_of(pid: int) -> int | None:
    """Return the memory worker of the gateway *pid*, `None` if it has none."""
    try:
        return next(iter(children_of(pid)), None)
    except OSError:
        return None


@dataclass
class Watch:
    """Resources of processes, sampled at intervals; some may be killed and replaced meanwhile."""

    first_mb: float = 0.0
    most_mb: float = 0.0
    """Total resident memory."""
    _first: dict[int, Sample] = field(default_factory=dict)
    _newest: dict[int, Sample] = field(default_factory=dict)

    def look(self, pids: Sequence[int]) -> None:
        """Sample each live process."""
        now = [each for each in map(sample, pids) if each is not None]
        if not self._first:
            self._first = {each.pid: each for each in now}
        self._newest.update((each.pid, each) for each in now)
        resident = sum(each.resident_mb for each in now)
        self.first_mb = self.first_mb or resident
        self.most_mb = max(self.most_mb, resident)

    @property
    def cpu_s(self) -> float:
        """CPU time since the first sample, including ended processes up to their last sample."""
        before = sum(each.cpu_s for each in self._first.values())
        return sum(each.cpu_s for each in self._newest.values()) - before
