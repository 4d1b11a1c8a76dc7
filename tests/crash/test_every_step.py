"""A message is taken in, answered and delivered, and the process dies at the first, second, third … durable step."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from adapters.channel import Body, OutboundMessage, Sent
from gateway.agent.entries import ReplyEntry, Usage, UserEntry
from gateway.conversation.delivery import Adapters, Delivery
from gateway.conversation.lanes import Lanes
from gateway.conversation.pacing import Pacing
from gateway.conversation.transcript import Transcript
from gateway.stores.ports import InboxRow, OutboxRow, Outgoing, StoreReport, TurnCommit
from gateway.stores.sqlite import SqliteStore
from gateway.timing import SystemClock
from tests.fakes.adapter import FakeAdapter, message

P = ParamSpec("P")
T = TypeVar("T")

DIED = 9
PARTS = ("the answer's first part, of forty letters", "and the second")
SCRIPT = "import sys; from pathlib import Path; from tests.crash import test_every_step as t; t.die(Path(sys.argv[1]))"


class Steps:
    """A checkpoint, and a platform, that end the process at step number *last*; 0 lets everything pass."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.passed = 0

    def __call__(self, _step: str, size: int, /) -> int:
        self.passed += 1
        if self.passed == self.last:
            os._exit(DIED)
        return size


class Recorder(FakeAdapter):
    """A platform that keeps what it took in a file, outside of the gateway's reach."""

    def __init__(self, file: Path, steps: Steps) -> None:
        super().__init__(text_limit=len(PARTS[0]))
        self._file = file
        self._steps = steps

    def render(self, markdown: str) -> Sequence[Body]:
        return [Body(part) for part in markdown.split("|")]

    async def send(self, message: OutboundMessage) -> Sent:
        self._steps("platform.takes", 0)
        with self._file.open("a") as file:
            file.write(json.dumps(message.body.text) + "\n")
        self._steps("platform.confirms", 0)
        return Sent("1")


async def here(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return function(*args, **kwargs)


async def answer(home: Path, steps: Steps, store: SqliteStore, delivery: Delivery, row: InboxRow) -> None:
    """Do what a turn does, in its order, going on where an earlier try stopped."""
    transcript = await Transcript.open(home / "main.jsonl", here, steps)
    known = [type(record.entry) for record in transcript.records if record.turn_id == row.turn_id]
    if UserEntry not in known:
        await transcript.append(row.turn_id, UserEntry(row.message.text, row.message.sent_at, "", str(row.id)))
    if ReplyEntry not in known:
        await transcript.append(row.turn_id, ReplyEntry("|".join(PARTS), (), "model", Usage()))
    outgoing = Outgoing(row.message.address, "|".join(PARTS))
    delivery.wake(await store.commit_turn(TurnCommit(row.turn_id, [row.id], [outgoing])))


async def run(home: Path, last: int) -> StoreReport:
    """Start on *home*, take what waits and what the platform delivers (again), and stop when all is done."""
    steps = Steps(last)
    store = await SqliteStore.open(home / "state.db", checkpoint=steps)
    adapters = Adapters([])
    adapters.loaded["fake", "home"] = Recorder(home / "taken", steps)
    async with asyncio.TaskGroup() as tasks:
        delivery = Delivery(tasks, store.outbox, adapters, never, Pacing(SystemClock()))
        await delivery.recover(lambda _: True)
        lanes: Lanes[str, InboxRow] = Lanes(tasks, partial(answer, home, steps, store, delivery), SystemClock())
        for row in await store.inbox.waiting():
            lanes.submit(row.message.address.chat, row)
        if row_ := await store.inbox.append(message("hello", id="1")):
            lanes.submit("alice", row_)
        await lanes.idle()
        await delivery.drain(60)
    report = await store.report()
    await store.close()
    return report


async def never(row: OutboxRow, why: str) -> None:
    raise AssertionError(f"{row} was given up: {why}")


def die(homes: Path) -> None:
    """Run a child for each step until one reaches the end; the parent has loaded everything, so a child is cheap."""
    for last in range(1, 1000):
        home = homes / str(last)
        home.mkdir()
        child = os.fork()
        if not child:
            asyncio.run(run(home, last))
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status != DIED:
            sys.exit(status)


def taken(home: Path) -> list[str]:
    return [json.loads(line) for line in (home / "taken").read_text().splitlines()]


def test_a_death_at_any_step_loses_and_repeats_nothing_unsaid(tmp_path: Path) -> None:
    """After one restart the message is answered by one turn; a part comes twice at most, and then it is listed."""
    subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], check=True, timeout=50)
    homes = sorted(tmp_path.iterdir(), key=lambda home: int(home.name))
    assert len(homes) > 15
    for home in homes:
        report = asyncio.run(run(home, 0))
        assert (report.inbox_waiting, report.outbox_queued, report.outbox_dead) == (0, 0, 0), home.name
        parts = taken(home)
        repeated = len(parts) - len(PARTS)
        assert list(dict.fromkeys(parts)) == list(PARTS), home.name
        assert repeated <= len(report.unsure) <= 1, home.name
        transcript = asyncio.run(Transcript.open(home / "main.jsonl", here))
        assert [type(record.entry) for record in transcript.records] == [UserEntry, ReplyEntry], home.name
        again = asyncio.run(run(home, 0))
        assert (again, taken(home)) == (report, parts), home.name
    assert any(len(taken(home)) > len(PARTS) for home in homes)  # the harness does reach the doubtful moment
