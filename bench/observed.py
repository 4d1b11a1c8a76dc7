"""Observation of a process from outside: its memory, its files, its threads, its CPU time."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.figures import children_of, resident_mb

_TICKS = os.sysconf("SC_CLK_TCK")
_PROCESS_CLOCK = 2
"""Linux numbers the clock of another process by its id and this kind: ended threads are included."""


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


def family(pid: int) -> list[int]:
    """Return the process *pid* and every process below it."""
    found = [pid]
    for each in found:
        with suppress(OSError):
            found += children_of(each)
    return found


def weight_mb(pid: int) -> float:
    """Return the proportional set size of *pid* and of every process below it."""
    return sum(map(_pss_kb, family(pid))) / 1000


def _pss_kb(pid: int) -> int:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 0


def processor_ms(pid: int) -> float:
    """Return the CPU time of *pid*, to the nanosecond, with that of its ended children, in clock ticks."""
    own = time.clock_gettime((~pid << 3) | _PROCESS_CLOCK)
    ended = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[13:15]
    return 1000 * (own + sum(map(int, ended)) / _TICKS)


def all_processor_ms(pid: int) -> float:
    """Return the CPU time of *pid* and of every process below it; one that has just ended counts as nothing."""
    total = 0.0
    for each in family(pid):
        with suppress(OSError):
            total += processor_ms(each)
    return total


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
