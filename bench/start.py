"""`python -m bench.start`: time for a killed gateway to resume its unfinished work.

People in many chats, each with a long conversation behind it, write to a gateway that gets no answer from its model; it
is killed, they write once more, and it is restarted with a model that answers immediately. Each moment is given in
seconds since the start, and in seconds of CPU time used by the gateway until then, all of its threads.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from aiohttp import web

from bench.crowd import Pace
from bench.fleet import Around, running
from bench.judgement import answered_in, question, repeated
from bench.lived import write_conversations
from bench.loopback import Recorder, SteadyModel
from bench.observed import sample
from tests.journeys.house import OWNER
from tests.journeys.processes import Gateway

_PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Backlog:
    """Unfinished work of a gateway at its start."""

    messages: int = 200
    """Accepted before the kill, and not answered; a few more wait at the platform."""
    chats: int = 200
    turns: int = 100
    """Already in each conversation."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Progress, measured from the start of the process."""

    wall_s: float
    cpu_s: float
    resident_mb: float


class SilentModel(SteadyModel):
    """A model that gives no answer until told to."""

    def __init__(self) -> None:
        super().__init__(repeated, 0)
        self.may_answer = asyncio.Event()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        await self.may_answer.wait()
        return await super()._answer(request)


async def measured(backlog: Backlog) -> dict[str, Moment]:
    """Kill and restart a gateway once, and return its moments."""
    pace = Pace(backlog.messages + backlog.messages // 4, 0, backlog.chats)
    with tempfile.TemporaryDirectory(prefix="strandline-start-") as name:
        async with Recorder() as bot, SilentModel() as model:
            around = Around(bot.url, model.url, pace.all_chats)
            async with running(Path(name), around, 1) as fleet:
                write_conversations(fleet.agent, pace.all_chats, backlog.turns)
                _say(bot, pace, range(backlog.messages))
                await bot.until(lambda: not bot.updates, _PATIENCE_S)
                fleet.end()
                _say(bot, pace, range(backlog.messages, pace.messages))
                model.may_answer.set()
                moments = await _moments(fleet.gateway, bot, pace.messages)
                await asyncio.to_thread(fleet.stop)
                return moments


def _say(bot: Recorder, pace: Pace, numbers: Sequence[int]) -> None:
    for number in numbers:
        chat = pace.chat(number)
        bot.says(chat, question(number), user_id=OWNER, chat_type="private" if chat == OWNER else "supergroup")


async def _moments(gateway: Gateway, bot: Recorder, messages: int) -> dict[str, Moment]:
    polls, answered, read = bot.polls, set[int](), 0
    begun = time.perf_counter()
    gateway.launch()
    assert gateway.process is not None
    pid = gateway.process.pid

    def has_answered(share: float) -> bool:
        nonlocal read
        answered.update(number for sent in bot.sent[read:] for number in answered_in(sent.text))
        read = len(bot.sent)
        return len(answered) >= max(messages * share, 1)

    async def when(is_so: Callable[[], bool]) -> Moment:
        await bot.until(is_so, _PATIENCE_S)
        seen = sample(pid)
        assert seen is not None, gateway.log.read_text()
        return Moment(time.perf_counter() - begun, seen.cpu_s, seen.resident_mb)

    async with asyncio.TaskGroup() as tasks:
        noted = {
            "the first poll": tasks.create_task(when(lambda: bot.polls > polls)),
            "the first answer": tasks.create_task(when(lambda: has_answered(0))),
            "half of the answers": tasks.create_task(when(lambda: has_answered(0.5))),
            "all answers": tasks.create_task(when(lambda: has_answered(1))),
        }
    return {name: task.result() for name, task in noted.items()}


def main() -> None:
    """Print each moment of each run, and the medians."""
    usual = Backlog()
    parser = argparse.ArgumentParser(prog="bench.start")
    parser.add_argument("--messages", type=int, default=usual.messages, help="accepted but unanswered at the kill")
    parser.add_argument("--chats", type=int, default=usual.chats)
    parser.add_argument("--turns", type=int, default=usual.turns, help="turns already in each conversation")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    runs = [asyncio.run(measured(Backlog(given.messages, given.chats, given.turns))) for _ in range(given.runs)]
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; medians of {given.runs} starts after a kill")
    for name in runs[0]:
        moments = [run[name] for run in runs]
        wall, cpu = (median(getattr(each, part) for each in moments) for part in ("wall_s", "cpu_s"))
        print(f"{name:24} {wall:6.2f} s   {1000 * cpu:6.0f} ms of the processor   {moments[-1].resident_mb:4.0f} MB")


if __name__ == "__main__":
    main()
