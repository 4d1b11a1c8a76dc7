"""What waits in memory is bounded, and nothing of it is lost or passed over."""

import asyncio
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.routing import Envelope, SessionKey, session_access
from gateway.errors import StoreError
from gateway.inbound.backlog import PAGE, Backlog
from gateway.inbound.overflow import Depth, Overflow
from gateway.inbound.queue_modes import Item, Queueing
from gateway.inbound.settings import QueueSettings
from gateway.runtime.lanes import Lanes, RetryLater
from gateway.stores.rows import InboxId, InboxRow
from tests.fakes.clock import ManualClock
from tests.fakes.patience import PATIENCE_S
from workspaces.access import AgentId

MAIN = AgentId("main")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
MESSAGE = InboundMessage(
    Address("telegram", "home", "a"), "1", Sender("7", "Owner"), ChatKind.DIRECT, "hello", True, NOW
)


def key_of(row: InboxRow) -> SessionKey:
    return SessionKey(MAIN, row.message.address.chat)


def envelope_of(row: InboxRow) -> Envelope:
    return Envelope(key_of(row), session_access(SessionKey(MAIN, "main")), "a test")


@dataclass
class Chats:
    """An inbox, and lanes that work when they are let."""

    queueing: Queueing
    clock: ManualClock
    rows: dict[InboxId, InboxRow] = field(default_factory=dict)
    done: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    most: int = 0
    reads: int = 0
    trouble: int = 0
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    backlog: Backlog = field(init=False)

    def says(self, chat: str, text: str = "hello") -> InboxRow:
        """Store a message and hand it on."""
        id_ = InboxId(len(self.rows) + sum(map(len, self.done.values())) + 1)
        message = replace(MESSAGE, address=replace(MESSAGE.address, chat=chat), text=text)
        row = self.rows[id_] = InboxRow(id_, message, NOW)
        self.backlog.take(envelope_of(row), row)
        self.most = max(self.most, self.queueing.queues.total)
        return row

    async def read(self, after: InboxId, limit: int) -> Sequence[InboxRow]:
        await asyncio.sleep(0)
        self.reads += 1
        if self.trouble:
            self.trouble -= 1
            raise StoreError("busy")
        return [self.rows[id_] for id_ in sorted(self.rows) if id_ > after][:limit]

    async def work(self, item: Item) -> RetryLater | None:
        assert isinstance(item, InboxRow)
        self.most = max(self.most, self.queueing.queues.total)
        await self.gate.acquire()
        self.done[item.message.address.chat].append(item.id)
        del self.rows[item.id]
        return None

    async def all_done(self, wait_s: float = PATIENCE_S) -> None:
        """Let everything be worked on, and return when the inbox is empty."""
        async with asyncio.timeout(wait_s):
            while self.rows:
                self.gate.release()
                await asyncio.sleep(0)


@asynccontextmanager
async def chats(settings: QueueSettings, page: int = PAGE) -> AsyncIterator[Chats]:
    """Give chats with so much room."""
    found = Chats(Queueing(), ManualClock())
    async with asyncio.TaskGroup() as tasks:
        queues = found.queueing.queues
        overflow = Overflow(queues, found.read, settings)
        lanes = Lanes(tasks, found.work, found.clock, queues=queues, on_done=overflow.heed)
        found.backlog = Backlog(
            found.queueing, overflow, lanes, key_of, lambda said, _: said.text == "/stop", lambda _: 0, page
        )
        refilling = tasks.create_task(found.backlog.refill(found.clock))
        yield found
        refilling.cancel()
        await lanes.drain(0)


async def test_a_flood_stays_in_the_inbox() -> None:
    """Of one chat only so many are in memory, all are answered in order, and a reading brings many."""
    async with chats(QueueSettings(session_memory=10, memory=100), page=7) as found:
        for _ in range(1_000):
            found.says("a")
        found.says("b")
        assert found.backlog.overflow.depths()[MAIN].messages == 1_001
        await found.all_done()
        assert found.done["a"] == list(range(1, 1_001))
        assert found.done["b"] == [1_001]
    assert found.most <= 11
    assert found.reads < 1_000


async def test_all_chats_together_have_a_bound_and_none_is_kept_out() -> None:
    """Many chats fill the room; each still has one message in its lane, the newest chat too."""
    async with chats(QueueSettings(session_memory=10, memory=20)) as found:
        for _ in range(10):
            for chat in range(30):
                found.says(str(chat))
        assert found.most <= 20 + 30
        assert {item.message.address.chat for _, _, item in found.queueing.queues if isinstance(item, InboxRow)} == {
            str(chat) for chat in range(30)
        }
        await found.all_done()
        assert all(found.done[str(chat)] == [1 + chat + 30 * turn for turn in range(10)] for chat in range(30))


async def test_what_waits_is_told_for_each_agent() -> None:
    """How many messages, in memory and behind it, and when the oldest of them came; nothing once all are answered."""
    async with chats(QueueSettings(session_memory=2, memory=10)) as found:
        first = found.says("a")
        for chat in "aaab":
            found.says(chat)
        assert found.backlog.overflow.depths() == {MAIN: Depth(5, first.received_at)}
        await found.all_done()
        await asyncio.sleep(0)
        assert found.backlog.overflow.depths() == {}


async def test_a_store_that_cannot_be_read_is_asked_again() -> None:
    """After a moment, and nothing is lost by it."""
    async with chats(QueueSettings(session_memory=2, memory=10)) as found:
        found.trouble = 1
        for _ in range(9):
            found.says("a")
        for _ in range(3):
            found.gate.release()
        await found.clock.waiters(1)
        found.clock.advance(1)
        await found.all_done()
        assert found.done["a"] == list(range(1, 10))


async def test_stop_reaches_a_chat_whose_queue_is_full() -> None:
    """It takes effect when it arrives, though it will be worked on long after."""
    async with chats(QueueSettings(session_memory=2, memory=10)) as found:
        rows = [found.says("a") for _ in range(5)]
        stop = found.says("a", "/stop")
        later = found.says("a")
        assert [found.queueing.is_stopped(key_of(row), row) for row in (*rows, stop, later)] == [True] * 5 + [False] * 2
        await found.all_done()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from("abcd"), st.integers(1, 6)), max_size=120),
    st.integers(1, 4),
    st.integers(1, 8),
)
def test_order_holds_whatever_comes_when(steps: list[str | int], session: int, every: int) -> None:
    """Messages come and are worked on in any mixture: each chat's are done in their order, each once."""

    async def run() -> None:
        async with chats(QueueSettings(session_memory=session, memory=every)) as found:
            said: defaultdict[str, list[int]] = defaultdict(list)
            for step in steps:
                if isinstance(step, str):
                    said[step].append(found.says(step).id)
                    continue
                for _ in range(step):
                    found.gate.release()
                    await asyncio.sleep(0)
            await found.all_done()
            assert found.done == said
            assert found.most <= every + 4

    asyncio.run(run())


def test_a_queue_loads_no_agent() -> None:
    """Bounded queues need neither git, nor the agent's loop, nor the lifecycle of sessions."""
    program = "import sys, gateway.inbound.backlog; print(*sys.modules)"
    asked = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(asked.stdout.split())
    assert not loaded & {"pygit2", "gateway.agent.agent", "gateway.sessions.lifecycle", "workspaces.history"}
