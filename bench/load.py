"""`python -m bench.load`: people in many chats write at a steady rate, and the messages shown to them are judged.

The gateway is `strandline up` with its own home, the real Telegram SDK and the real memory worker. Its Bot API and its
model are this process, which determines lost, doubled and reordered messages. With `--kill-every` the gateway is killed
and restarted while it works; with `--backed` Redis has a replica and a sentinel, the index is on three Qdrant nodes if
the program is installed, and any of them is killed, paused or cut off, in a random order; with `--rolling` each is
ended in order and started again instead, in its turn, as for an update. The end is bounded: a message without an answer
`PATIENCE_S` after the last message is lost.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from bench.crowd import Crowd, Pace
from bench.fleet import Around, Fleet, running
from bench.judgement import Judgement, repeated
from bench.loopback import Recorder, SteadyModel
from bench.observed import Watch

PATIENCE_S = 120.0
_LOOK_EVERY_S = 1.0
_FIRST_POLL_S = 120.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a load."""

    pace: Pace
    model_s: float = 0.3
    kill_every_s: float | None = None
    gateways: int = 1
    on_redis: bool = False
    """Whether a single gateway stores its state there too."""
    is_backed: bool = False
    """Whether Redis has a replica and a sentinel, the index is on three Qdrant nodes, and anything may fail."""
    is_rolling: bool = False
    """Whether nothing fails, but each part is restarted in its turn: no answer may come twice."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The gateways' own records afterwards."""

    unsure: Counter[int]
    """Sends that may have arrived twice, by chat."""
    twice: int
    """Messages stored, or answered, more than once in a conversation."""
    unindexed: int = 0
    """Messages that some Qdrant node lacks in the end."""
    ended: int = 0
    """How often a gateway ended by itself."""
    faults: Counter[str] = field(default_factory=Counter)
    """Random faults, by their kind."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a load."""

    plan: Plan
    judgement: Judgement
    seconds: float
    late_s: float
    kills: int
    kept: Kept
    problems: int
    """Faults in requests found by the model."""
    watch: Watch
    notices: int = 0
    """Notices that a message waits for the store."""

    @property
    def unlisted(self) -> int:
        """Repeated answers in a chat without a send listed as unsure."""
        doubled = Counter(each.chat for each in self.judgement.doubled)
        return (doubled - self.kept.unsure).total()

    @property
    def added_ms(self) -> list[float]:
        """Milliseconds from the platform's receipt of a message to its answer, less the model's time."""
        return [1000 * (wait - self.plan.model_s) for wait in self.judgement.waits]

    def is_right(self) -> bool:
        """Tell whether every promise was kept."""
        found = self.judgement
        wrong = len(found.lost) + len(found.reordered) + len(found.strange) + self.kept.twice + self.problems
        chats = self.plan.pace.chats if self.plan.is_backed else 1  # all chats lose their Redis
        most_doubled = 0 if self.plan.is_rolling else self.kills * chats
        return wrong + self.kept.unindexed + self.kept.ended + self.unlisted == 0 and len(found.doubled) <= most_doubled

    def figures(self) -> dict[str, float]:
        """Return the figures by their names."""
        found, watch, messages = self.judgement, self.watch, self.plan.pace.messages
        return {
            "messages": messages,
            "seconds": self.seconds,
            "messages a second": messages / self.seconds if self.seconds else 0.0,
            "kills": self.kills,
            **{f"of these, {fault}": times for fault, times in sorted(self.kept.faults.items())},
            "gateways that ended by themselves": self.kept.ended,
            "lost": len(found.lost),
            "reordered": len(found.reordered),
            "processed twice": self.kept.twice,
            "answers that came twice": len(found.doubled),
            "of these, not listed as unsure": self.unlisted,
            "sends listed as unsure": self.kept.unsure.total(),
            "shown that answers nothing": len(found.strange),
            "notices that the store is away": self.notices,
            "wrong in requests to the model": self.problems,
            "missing in the index": self.kept.unindexed,
            **{f"added latency p{part}, ms": value for part, value in _percentiles(self.added_ms).items()},
            "the load's own lateness at most, ms": 1000 * self.late_s,
            "gateways resident at first, MB": watch.first_mb,
            "gateways resident at most, MB": watch.most_mb,
            "gateways' processor time a message, ms": 1000 * watch.cpu_s / messages,
        }


def _percentiles(values: list[float]) -> dict[int, float]:
    if len(values) < 2:
        return {}
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return {part: cuts[part - 1] for part in (50, 95, 99)}


async def run(plan: Plan) -> Outcome:
    """Run *plan*, and judge the result."""
    with tempfile.TemporaryDirectory(prefix="strandline-load-") as name:
        async with Recorder() as bot, SteadyModel(repeated, plan.model_s) as model:
            around = Around(bot.url, model.url, plan.pace.all_chats)
            where = {"on_redis": plan.on_redis, "is_backed": plan.is_backed}
            async with running(Path(name), around, plan.gateways, **where) as fleet:
                await bot.wait_for_polls(1, _FIRST_POLL_S)
                crowd, watch = Crowd(plan.pace, bot), Watch()
                kills = await _talked(plan, crowd, fleet, watch)
                kept = await _settled(plan, fleet)
            problems = len(model.problems)
            found, notices = crowd.judgement(), crowd.notices
            return Outcome(plan, found, crowd.seconds, crowd.late_s, kills, kept, problems, watch, notices)


async def _talked(plan: Plan, crowd: Crowd, fleet: Fleet, watch: Watch) -> int:
    """Let the people talk, and wait for the answers; return the number of kills."""
    said, answered = asyncio.Event(), asyncio.Event()
    watch.look(fleet.pids())
    async with asyncio.TaskGroup() as tasks:
        killing = tasks.create_task(_killing(plan.kill_every_s, fleet.update if plan.is_rolling else fleet.crash, said))
        tasks.create_task(_looking(watch, fleet, answered))
        await crowd.talk()
        said.set()
        await killing
        await crowd.was_answered(PATIENCE_S)
        answered.set()
    watch.look(fleet.pids())
    return killing.result()


async def _killing(every_s: float | None, kill: Callable[[int], None], over: asyncio.Event) -> int:
    """Call *kill*, with a number, every *every_s* seconds until it is *over*; return the number of kills."""
    start = asyncio.get_running_loop().time()
    for kills in count():
        due = None if every_s is None else start + (kills + 1) * every_s
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await over.wait()
                return kills
        await asyncio.to_thread(kill, kills)
    raise AssertionError("unreachable")


async def _looking(watch: Watch, fleet: Fleet, over: asyncio.Event) -> None:
    """Sample the gateways' processes until it is *over*."""
    while not over.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_EVERY_S):
                await over.wait()
        watch.look(fleet.pids())


async def _settled(plan: Plan, fleet: Fleet) -> Kept:
    """Let the gateways finish and stop, and read their records."""
    await asyncio.to_thread(fleet.revive)
    unindexed = await asyncio.to_thread(fleet.unindexed, plan.pace.messages)
    unsure = await asyncio.to_thread(fleet.unsure)
    await asyncio.to_thread(fleet.stop)
    asked, answered = await asyncio.to_thread(fleet.processed)
    twice = {number for each in (asked, answered) for number, times in each.items() if times > 1}
    return Kept(unsure, len(twice), unindexed, fleet.ended, fleet.faults.done if fleet.faults else Counter())


def main() -> None:
    """Print the figures; exit with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="bench.load")
    parser.add_argument("--messages", type=int, default=30_000)
    parser.add_argument("--minutes", type=float, default=10.0, help="duration; 0 sends everything at once")
    parser.add_argument("--chats", type=int, default=200, help="number of chats: the owner's own and groups")
    parser.add_argument("--model-ms", type=float, default=300.0)
    parser.add_argument("--kill-every", type=float, help="kill a gateway every so many seconds; never by default")
    parser.add_argument("--gateways", type=int, default=1, help="number of gateways; several share a Redis")
    parser.add_argument("--on-redis", action="store_true", help="let a single gateway store its state there too")
    parser.add_argument("--backed", action="store_true", help="let Redis behind a sentinel and Qdrant nodes fail too")
    parser.add_argument("--rolling", action="store_true", help="with --backed: restart each part instead, in turn")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    pace = Pace(given.messages, given.minutes, given.chats)
    how = {"is_backed": given.backed, "is_rolling": given.rolling}
    plan = Plan(pace, given.model_ms / 1000, given.kill_every, given.gateways, given.on_redis, **how)
    outcome = asyncio.run(run(plan))
    for part in ("lost", "doubled", "reordered", "strange"):
        for each in getattr(outcome.judgement, part):
            print(part, each, file=sys.stderr)
    if given.json:
        print(json.dumps({"right": outcome.is_right(), **outcome.figures()}))
    else:
        print("\n".join(f"{name:42} {value:12,.4g}" for name, value in outcome.figures().items()))
        print(f"{'verdict':42} {'right' if outcome.is_right() else 'WRONG':>12}")
    sys.exit(not outcome.is_right())


if __name__ == "__main__":
    main()
