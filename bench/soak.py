"""`python -m bench.soak`: a gateway runs through a household's day, and none of its resources may grow.

With `--endless` no conversation ends; with a large window as well, none is summarised: their use of memory is bounded
all the same, and memory may grow by no more than 2 MB an hour.

`strandline up` with the real Telegram SDK, the real memory worker and a small window, so that conversations are
summarised all the time. Memory, open files and threads of the gateway and of its worker are sampled every five seconds;
a line is fitted to the samples after the warm-up. The exit status is 1 if memory grows by more than 1 MB an hour,
beyond the error of the fit, or if files are opened and not closed.

For the worker, its own memory counts, less the words of the newest passages, which go into files after 4,000: the rest
are pages of the index's files, which the system lends while nobody else needs them, and counts twice, since the engine
maps each file twice. The number of passages is reported with the index's size.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.fleet import Around, Fleet, running
from bench.household import CHATS, Script, chats_of, disturb, sayings, tidy, write
from bench.index_size import IndexSize, index_size, megabytes
from bench.loopback import Recorder, SteadyModel
from bench.observed import Sample, sample, worker_of
from bench.slope import Slope, slope

MB_AN_HOUR = 1.0
"""Most growth of memory (our promise of months)."""
ENDLESS_MB_AN_HOUR = 2.0
"""The same with conversations, and the index, that only grow."""
OWN_MB_A_FRESH_PASSAGE = 0.0013
"""The worker's own memory of a passage whose words are not in files yet; others take none (search-speed.md)."""
FILES_MORE = 2
"""Most additional open files, by the median, in the second half against the first: connections come and go."""
_HOUR_S = 3600.0
_FIRST_POLL_S = 120.0
_PATIENCE_S = 60.0
_WINDOW_TOKENS = 12_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Duration and load."""

    minutes: float
    warm_up_minutes: float
    a_second: float = 3.0
    look_every_s: float = 5.0
    outage_every_s: float = 90.0
    tidy_every_s: float = 60.0
    model_s: float = 0.05
    chats: int = CHATS
    window_tokens: int = _WINDOW_TOKENS
    is_endless: bool = False
    """No conversation ends."""

    @property
    def most_mb_an_hour(self) -> float:
        """Growth above which the run fails."""
        return ENDLESS_MB_AN_HOUR if self.is_endless else MB_AN_HOUR


@dataclass
class Lived:
    """Samples of one process, by second."""

    name: str
    memory: Callable[[Sample], float] = lambda each: each.resident_mb
    """The part of its memory that must not grow, in MB."""
    samples: list[tuple[float, Sample]] = field(default_factory=list)
    explained: dict[float, float] = field(default_factory=dict)
    """The part of its memory, in MB, that fresh passages take for a time, by second."""

    def after(self, second: float, of: Callable[[Sample], float]) -> list[tuple[float, float]]:
        """Return the values of *of*, from *second* on."""
        return [(at, of(each)) for at, each in self.samples if at >= second]

    def growth(self, second: float) -> Slope:
        """Return the growth of memory after *second*, in MB an hour."""
        found = slope([(at, value - self.explained.get(at, 0.0)) for at, value in self.after(second, self.memory)])
        return Slope(found.value * _HOUR_S, found.error * _HOUR_S)

    def files_more(self, second: float) -> float:
        """Return the increase of the median of open files from the first half after *second* to the second half."""
        files = [value for _, value in self.after(second, lambda each: each.files)]
        half = len(files) // 2
        return statistics.median(files[half:]) - statistics.median(files[:half]) if half else 0.0

    def is_steady(self, second: float, most_mb_an_hour: float = MB_AN_HOUR) -> bool:
        """Tell whether neither memory nor files grew."""
        return not self.growth(second).is_above(most_mb_an_hour) and self.files_more(second) <= FILES_MORE

    def figures(self, second: float) -> dict[str, float]:
        """Return the figures to report."""
        first, last, growth = self.samples[0][1], self.samples[-1][1], self.growth(second)
        warm = next((each for at, each in self.samples if at >= second), last)
        return {
            "resident first, MB": first.resident_mb,
            "resident when warm, MB": warm.resident_mb,
            "resident last, MB": last.resident_mb,
            "its own when warm, MB": warm.own_mb,
            "its own last, MB": last.own_mb,
            "growth, MB an hour": growth.value,
            "its standard error": growth.error,
            "files first": first.files,
            "files last": last.files,
            "files more in the second half": self.files_more(second),
            "threads first": first.threads,
            "threads last": last.threads,
            "processor time, s": last.cpu_s,
        }


@dataclass
class Kept:
    """Samples of the index, by second."""

    sizes: list[tuple[float, IndexSize]] = field(default_factory=list)

    def figures(self, second: float) -> dict[str, float]:
        """Return the figures to report for the time after *second*; none before the index exists."""
        later = [each for at, each in self.sizes if at >= second]
        if not later:
            return {}
        halves = later[: len(later) // 2] or later, later[len(later) // 2 :]
        most = [max(each.files_mb for each in half) for half in halves]
        return {
            "passages when warm": later[0].passages,
            "passages last": later[-1].passages,
            "dead ones at most": max(each.dead for each in later),
            "files at most in the first half, MB": most[0],
            "files at most in the second half, MB": most[1],
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a soak."""

    plan: Plan
    said: int
    shown: int
    model_calls: int
    problems: Sequence[str]
    gateway: Lived
    worker: Lived
    index: Kept
    sizes_mb: dict[str, float]
    """Sizes of the home's parts, at the end."""

    @property
    def warm_s(self) -> float:
        return self.plan.warm_up_minutes * 60

    def is_steady(self) -> bool:
        """Tell whether everything was answered and nothing grew."""
        was_heard = self.shown >= self.said and not self.problems
        limit = self.plan.most_mb_an_hour
        return was_heard and all(each.is_steady(self.warm_s, limit) for each in (self.gateway, self.worker))

    def figures(self) -> dict[str, Any]:
        """Return all figures by their names."""
        return {
            "steady": self.is_steady(),
            "minutes": self.plan.minutes,
            "messages": self.said,
            "shown": self.shown,
            "model calls": self.model_calls,
            **{each.name: each.figures(self.warm_s) for each in (self.gateway, self.worker)},
            "index": self.index.figures(self.warm_s),
            "sizes, MB": self.sizes_mb,
        }


async def run(plan: Plan) -> Outcome:
    """Run *plan*."""
    with tempfile.TemporaryDirectory(prefix="strandline-soak-") as name:
        async with Recorder() as bot, SteadyModel(Script(), plan.model_s) as model:
            around = Around(bot.url, model.url, chats_of(plan.chats), plan.window_tokens)
            async with running(Path(name), around, gateways=1) as fleet:
                await bot.wait_for_polls(1, _FIRST_POLL_S)
                looks = _Looks(fleet)
                said = await _lived(plan, bot, looks)
                sizes = _sizes(Path(name) / "home")
                await asyncio.to_thread(fleet.stop)
            seen = looks.gateway, looks.worker, looks.index
            return Outcome(plan, said, len(bot.sent), model.calls, model.problems, *seen, sizes)


class _Looks:
    """Samples of a gateway, of its worker and of its agent's index."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.gateway = Lived("gateway")
        self.worker = Lived("memory worker", lambda each: each.own_mb)
        self.index = Kept()

    async def go_on(self, every_s: float, over: asyncio.Event) -> None:
        """Take a sample every *every_s* seconds until it is *over*."""
        start = asyncio.get_running_loop().time()
        while not over.is_set():
            self._look(asyncio.get_running_loop().time() - start)
            with suppress(TimeoutError):
                async with asyncio.timeout(every_s):
                    await over.wait()

    def _look(self, now: float) -> None:
        [pid] = self.fleet.pids()
        size = index_size(self.fleet.agent.index)
        if size is not None:
            self.index.sizes.append((now, size))
            self.worker.explained[now] = OWN_MB_A_FRESH_PASSAGE * size.fresh
        for lived, seen in ((self.gateway, pid), (self.worker, worker_of(pid))):
            is_whole = size is not None or lived is self.gateway
            if seen is not None and is_whole and (found := sample(seen)) is not None:
                lived.samples.append((now, found))


async def _lived(plan: Plan, bot: Recorder, looks: _Looks) -> int:
    """Run all actors for the planned time; return the number of messages sent."""
    over = asyncio.Event()
    said = sayings(random.Random(4), chats_of(plan.chats), ends=not plan.is_endless)
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(write(bot, said, plan.a_second, over))
        tasks.create_task(disturb(bot, plan.outage_every_s, over))
        tasks.create_task(tidy(looks.fleet.agent, plan.tidy_every_s, over))
        tasks.create_task(looks.go_on(plan.look_every_s, over))
        await asyncio.sleep(plan.minutes * 60)
        over.set()
    with suppress(TimeoutError):
        await bot.until(lambda: len(bot.sent) >= writing.result(), _PATIENCE_S)
    return writing.result()


def _sizes(home: Path) -> dict[str, float]:
    agent = home / "agents" / "main"
    parts = {part.name: part for part in (home, agent / "workspace", agent / "history.git", agent / "sessions")}
    return {name: megabytes(part) for name, part in (parts | {"index": agent / "index"}).items()}


def main() -> None:
    """Print the figures; exit with 1 when a resource grew or a message was not answered."""
    parser = argparse.ArgumentParser(prog="bench.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--hours", type=float, help="duration in hours instead of minutes")
    parser.add_argument("--warm-up", type=float, help="minutes to ignore at the start; half by default")
    parser.add_argument("--rate", type=float, default=3.0, help="messages a second")
    parser.add_argument("--chats", type=int, default=CHATS)
    parser.add_argument("--window", type=int, default=_WINDOW_TOKENS, help="context window of the model, in tokens")
    parser.add_argument("--endless", action="store_true", help="end no conversation")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    minutes = given.minutes if given.hours is None else given.hours * 60
    warm_up = minutes / 2 if given.warm_up is None else given.warm_up
    shape = {"chats": given.chats, "window_tokens": given.window, "is_endless": given.endless}
    outcome = asyncio.run(run(Plan(minutes, warm_up, given.rate, **shape)))
    if given.json:
        print(json.dumps(outcome.figures()))
    else:
        print("\n".join(_rows(outcome.figures())))
    sys.exit(not outcome.is_steady())


def _rows(figures: dict[str, Any], before: str = "") -> list[str]:
    rows = []
    for name, value in figures.items():
        if isinstance(value, dict):
            rows += _rows(value, f"{name}: ")
        else:
            rows.append(f"{before + name:46} {value if isinstance(value, bool) else format(value, '12,.4g')}")
    return rows


if __name__ == "__main__":
    main()
