"""Replies arrive in order, once where that can be known, and never silently not at all."""

import asyncio
import errno
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from msgspec import structs

from adapters.channel import (
    Address,
    ChannelConfigError,
    ChannelUnavailableError,
    OutboundMessage,
    SendRefusedError,
    UnsureSendError,
)
from gateway.admission.internal_channels import result_address
from gateway.delivery.refused_messages import NOT_SHOWN
from gateway.delivery.retry_policy import RetryPolicy
from gateway.delivery.sender import Adapters, Delivery, DeliveryObservers, is_part_of
from gateway.stores.rows import OutboxId, OutboxRow, OutboxState, Outgoing, TurnCommit, TurnId
from gateway.stores.sqlite.store import SqliteStore
from strandline.testing.adapter import FakeAdapter, LostReceipt
from tests.fakes.clock import ManualClock
from tests.fakes.patience import PATIENCE_S
from workspaces.access import AgentId
from workspaces.secrets import REMOVED, guarding

LONG = "first part " + "." * 29 + "second part " + "." * 28 + "third"
LATE = "(This answer was written at 14:05 UTC; it could not be sent earlier.)"


class Gateway:
    """A store, a platform and the delivery between them; `restart` is what a new process does."""

    def __init__(self, path: Path, tasks: asyncio.TaskGroup) -> None:
        self.clock = ManualClock()
        self.adapter = FakeAdapter()
        self.adapters = Adapters([("fake", "home"), ("fake", "slow to load")])
        self.adapters.loaded["fake", "home"] = self.adapter
        self.retry_policy = RetryPolicy(self.clock, jitter=lambda: 1.0, turn_s=0.02)
        self.dead: list[tuple[int, str]] = []
        self.full = False
        self.store: SqliteStore
        self.delivery: Delivery
        self._path = path
        self._tasks = tasks
        self._turns = 0

    async def start(self) -> int:
        self.store = await SqliteStore.open(self._path, clock=self.clock, checkpoint=self._check)
        observers = DeliveryObservers(self._on_dead)
        self.delivery = Delivery(self._tasks, self.store.outbox, self.adapters, observers, self.retry_policy)
        return await self.delivery.recover(lambda _: True)

    async def stop(self, grace_s: float = 0) -> None:
        await self.delivery.drain(grace_s)
        await self.store.close()

    async def restart(self) -> int:
        await self.stop()
        return await self.start()

    async def commit(self, *texts: str, chat: str = "alice", account: str = "home") -> list[OutboxRow]:
        """Commit a turn that answers with *texts*."""
        self._turns += 1
        outgoing = [Outgoing(Address("fake", account, chat), text, reply_to="7") for text in texts]
        return list(await self.store.commit_turn(TurnCommit(TurnId(f"turn {self._turns}"), [], outgoing)))

    async def answer(self, *texts: str, chat: str = "alice", account: str = "home") -> OutboxRow:
        """Commit and wake *texts*; return the last row."""
        rows = await self.commit(*texts, chat=chat, account=account)
        self.delivery.wake(rows)
        return rows[-1]

    async def delivered(self, row: OutboxRow) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.delivery.finished(row.id)

    async def left(self) -> list[OutboxRow]:
        return list(await self.store.outbox.unfinished())

    async def _on_dead(self, row: OutboxRow, why: str) -> None:
        self.dead.append((row.id, why))

    def _check(self, step: str, size: int, /) -> int:
        if self.full and step == "store.commit":
            raise OSError(errno.ENOSPC, "full")
        return size


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with asyncio.TaskGroup() as tasks:
        gateway = Gateway(tmp_path / "state.db", tasks)
        await gateway.start()
        yield gateway
        await gateway.stop()


async def test_a_reply_is_sent_and_its_receipt_kept(gateway: Gateway) -> None:
    """A committed reply reaches its chat once, and the outbox is empty afterwards."""
    row = await gateway.answer("hello")
    await gateway.delivered(row)
    assert gateway.adapter.texts("alice") == ["hello"]
    assert gateway.adapter.taken[0].reply_to == "7"
    assert await gateway.left() == []
    assert (await gateway.store.report()).reasons == {}
    assert await gateway.restart() == 0
    assert gateway.adapter.texts() == ["hello"]


async def test_a_key_counts_no_other_replies(gateway: Gateway) -> None:
    """What marks a reply for its platform is the same, however many replies other chats were sent before."""
    quiet = await gateway.answer("hello")
    await gateway.delivered(quiet)
    busy = replace(quiet, id=OutboxId(quiet.id + 41), turn_id=TurnId("t99"))
    assert is_part_of(gateway.adapter.taken[0], busy)
    assert not is_part_of(gateway.adapter.taken[0], replace(quiet, outgoing=replace(quiet.outgoing, text="hullo")))


async def test_a_long_reply_goes_out_in_parts(gateway: Gateway) -> None:
    """Every part in order, each with a key of its own; only the first replies to the question."""
    await gateway.delivered(await gateway.answer(LONG))
    assert "".join(gateway.adapter.texts()) == LONG
    assert len({each.key for each in gateway.adapter.taken}) == 3
    assert [each.reply_to for each in gateway.adapter.taken] == ["7", None, None]


async def test_a_chat_gets_its_replies_in_order(gateway: Gateway) -> None:
    """Later replies wait for the first one's retries."""
    gateway.adapter.faults["alice"] = [ChannelUnavailableError("down"), None, UnsureSendError("reset")]
    last = await gateway.answer("one", "two", "three")
    for _ in range(2):
        await gateway.clock.waiters(1)
        gateway.clock.advance(1)
    await gateway.delivered(last)
    assert gateway.adapter.texts() == ["one", "two", "three"]


async def test_a_stuck_chat_does_not_delay_the_others(gateway: Gateway) -> None:
    """A send that hangs gives up its turn; its own chat still waits for it."""
    stuck = gateway.adapter.stick("alice")
    first = await gateway.answer("one", "two", chat="alice")
    await gateway.adapter.tried(1)
    for chat in ("bob", "carol"):
        await gateway.delivered(await gateway.answer("hi", chat=chat))
    assert gateway.adapter.texts() == ["hi", "hi"]
    stuck.set()
    await gateway.delivered(first)
    assert gateway.adapter.texts("alice") == ["one", "two"]


async def test_a_chat_that_waits_for_its_retry_does_not_delay_the_others(gateway: Gateway) -> None:
    """While one address backs off, the same account's other addresses are served."""
    gateway.adapter.faults["alice"] = [ChannelUnavailableError("slow down", 3600)]
    await gateway.answer("one", chat="alice")
    await gateway.clock.waiters(1)
    await gateway.delivered(await gateway.answer("hi", chat="bob"))
    assert gateway.adapter.texts() == ["hi"]


async def test_one_send_of_an_account_is_in_doubt_at_most(gateway: Gateway, tmp_path: Path) -> None:
    """Whenever the platform gets a message, no other row of the account is marked as on its way: a crash at any
    moment leaves one duplicate at most."""
    doubts: list[int] = []
    gateway.retry_policy = structs.replace(gateway.retry_policy, turn_s=60)
    await gateway.restart()

    def look(_: OutboundMessage) -> None:
        with closing(sqlite3.connect(tmp_path / "state.db")) as other, other:
            doubts.append(other.execute("SELECT count(*) FROM outbox WHERE state = 'sending'").fetchone()[0])
        other.close()

    gateway.adapter.on_send = look
    last = [await gateway.commit(LONG, "short", chat=str(chat)) for chat in range(10)]
    gateway.delivery.wake(row for rows in last for row in rows)
    for rows in last:
        await gateway.delivered(rows[-1])
    assert doubts == [1] * 40


async def test_the_platforms_wait_is_kept_exactly(gateway: Gateway) -> None:
    """A reply put off for 37 seconds is tried again after 37 seconds, in a new process too."""
    gateway.adapter.faults["alice"] = [ChannelUnavailableError("slow down", 37)]
    await gateway.answer("hello")
    await gateway.clock.waiters(1)
    assert gateway.clock.waits() == [37]
    gateway.clock.advance(30)
    await gateway.restart()
    await gateway.clock.waiters(1)
    assert gateway.clock.waits() == [7]
    (row,) = await gateway.left()
    gateway.clock.advance(7)
    await gateway.delivered(row)
    assert len(gateway.adapter.tries) == 2
    assert (await gateway.store.report()).reasons == {"send_delayed": 1}


async def test_without_word_from_the_platform_waits_grow(gateway: Gateway) -> None:
    """From one second, doubling, to five minutes; the count survives a restart."""
    gateway.adapter.faults["alice"] = [ChannelUnavailableError("down")] * 11
    row = await gateway.answer("hello")
    waits = []
    for tries in range(11):
        await gateway.clock.waiters(1)
        waits += gateway.clock.waits()
        if tries == 5:
            await gateway.restart()
            await gateway.clock.waiters(1)
        gateway.clock.advance(waits[-1])
        await gateway.adapter.tried(tries + 2)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    await gateway.delivered(row)


async def test_chats_that_failed_together_come_back_apart(gateway: Gateway) -> None:
    """The jitter shortens a wait by half at most, and never below the first."""
    retry_policy = structs.replace(gateway.retry_policy, jitter=lambda: 0.0)
    assert [retry_policy.retry_s(attempts) for attempts in (0, 1, 4, 60)] == [1, 1, 8, 150]


async def test_a_waiting_channel_can_be_woken(gateway: Gateway) -> None:
    """Somebody who begins to read gets what waits at once; other accounts keep waiting."""
    gateway.adapter.faults["alice"] = [ChannelUnavailableError("nobody reads", 600)]
    row = await gateway.answer("hello")
    await gateway.clock.waiters(1)
    gateway.delivery.wake_channel("fake", "another")
    gateway.delivery.wake_channel("another", "home")
    await asyncio.sleep(0)
    assert len(gateway.adapter.tries) == 1
    gateway.delivery.wake_channel("fake", "home")
    await gateway.delivered(row)
    assert gateway.adapter.texts() == ["hello"]


async def test_a_reply_that_waits_since_an_earlier_run_can_be_woken(gateway: Gateway) -> None:
    """The time that was stored for it does not hold when its reader comes."""
    gateway.adapter.faults["alice"] = [ChannelUnavailableError("nobody reads", 600)]
    row = await gateway.answer("hello")
    await gateway.clock.waiters(1)
    await gateway.restart()
    await gateway.clock.waiters(1)
    gateway.delivery.wake_channel("fake", "home")
    await gateway.delivered(row)
    assert gateway.adapter.texts() == ["hello"]


async def test_a_reply_that_a_clock_ahead_made_wait_is_sent_at_the_next_start(gateway: Gateway) -> None:
    """A wait of more than a day was stored by a clock that was wrong: without it the reply would wait until then."""
    gateway.clock.advance(timedelta(days=400).total_seconds())
    gateway.adapter.faults["alice"] = [ChannelUnavailableError("away", 600)]
    row = await gateway.answer("hello")
    await gateway.clock.waiters(1)
    gateway.clock.advance(-timedelta(days=400).total_seconds())
    await gateway.restart()
    async with asyncio.timeout(5):
        await gateway.delivered(row)
    assert gateway.adapter.texts() == ["hello"]


async def test_a_reply_that_is_woken_twice_is_sent_once(gateway: Gateway) -> None:
    """Waking what is under way already changes nothing."""
    rows = await gateway.commit("one", "two")
    gateway.delivery.wake([*rows, *rows])
    await gateway.delivered(rows[1])
    assert gateway.adapter.texts() == ["one", "two"]
    assert await gateway.delivery.drain(5) == []


async def test_a_channel_may_be_loaded_after_its_replies_wait(gateway: Gateway) -> None:
    """A configured account that is still loading loses nothing; loading it wakes its replies."""
    row = await gateway.answer("hello", account="slow to load")
    await gateway.clock.waiters(1)
    late = gateway.adapters.loaded["fake", "slow to load"] = FakeAdapter(account="slow to load")
    gateway.delivery.wake_channel("fake", "slow to load")
    await gateway.delivered(row)
    assert late.texts() == ["hello"]
    assert gateway.dead == []


async def test_a_send_in_doubt_is_listed_and_sent_again(gateway: Gateway) -> None:
    """When the connection breaks after the platform took it, there is one duplicate, and `status` tells of it."""
    gateway.adapter.faults["alice"] = [LostReceipt()]
    row = await gateway.answer("hello")
    await gateway.clock.waiters(1)
    gateway.clock.advance(1)
    await gateway.delivered(row)
    assert gateway.adapter.texts() == ["hello", "hello"]
    assert len({each.key for each in gateway.adapter.taken}) == 1
    report = await gateway.store.report()
    assert [(each.outbox_id, each.part, each.why) for each in report.unsure] == [(row.id, 0, "the connection broke")]


async def test_endless_doubt_is_given_up_aloud(gateway: Gateway) -> None:
    """A platform that takes every message and then resets is not flooded for ever."""
    gateway.retry_policy = structs.replace(gateway.retry_policy, unsure_tries=3)
    await gateway.restart()
    gateway.adapter.faults["alice"] = [LostReceipt()] * 3
    row = await gateway.answer("hello", "next")
    for _ in range(2):
        await gateway.clock.waiters(1)
        gateway.clock.advance(300)
    await gateway.delivered(row)
    assert gateway.adapter.texts() == ["hello"] * 3 + ["next"]
    ((_, why),) = gateway.dead
    assert "3 sends in a row ended unsure" in why
    assert len((await gateway.store.report()).unsure) == 3


async def test_a_send_without_an_answer_counts_as_in_doubt(gateway: Gateway) -> None:
    """A platform that never answers does not hold its chat for ever."""
    gateway.retry_policy = structs.replace(gateway.retry_policy, send_timeout_s=0.5)
    await gateway.restart()
    stuck = gateway.adapter.stick("alice")
    row = await gateway.answer("hello")
    await gateway.clock.waiters(1)
    stuck.set()
    gateway.clock.advance(1)
    await gateway.delivered(row)
    assert gateway.adapter.texts() == ["hello"]
    assert (await gateway.store.report()).reasons == {"send_unsure": 1}


async def test_a_refused_reply_is_buried_aloud(gateway: Gateway) -> None:
    """What the platform will never take is out of the way, told, counted; the chat's next reply goes out."""
    gateway.adapter.faults["alice"] = [SendRefusedError("the bot was blocked")] * 3
    rows = await gateway.commit("one", "two")
    gateway.delivery.wake(rows)
    await gateway.delivered(rows[1])
    assert gateway.dead == [(rows[0].id, "the bot was blocked")]
    assert gateway.adapter.texts() == ["two"]
    report = await gateway.store.report()
    assert (report.outbox_dead, report.reasons) == (1, {"dead_letter": 1})


async def test_a_refused_reply_goes_out_as_plain_text(gateway: Gateway) -> None:
    """Without its target; the rest of it follows as it was, and it counts as delivered."""
    gateway.adapter.faults["alice"] = [SendRefusedError("message to be replied to is not found")]
    await gateway.delivered(await gateway.answer(LONG))
    assert gateway.adapter.texts() == [body.text for body in gateway.adapter.render(LONG)]
    assert [each.reply_to for each in gateway.adapter.taken] == [None, None, None]
    assert gateway.dead == []
    assert (await gateway.store.report()).outbox_dead == 0
    assert gateway.adapter.tries[0].key != gateway.adapter.tries[1].key


async def test_a_reply_that_is_refused_as_plain_text_too_is_told_of_in_its_chat(gateway: Gateway) -> None:
    """By one sentence, and it is given up as before: whoever must know is told."""
    gateway.adapter.faults["alice"] = [SendRefusedError("the first reason"), SendRefusedError("another")]
    row = await gateway.answer("hello")
    await gateway.delivered(row)
    assert gateway.adapter.texts() == [NOT_SHOWN]
    assert gateway.dead == [(row.id, "the first reason")]


async def test_a_plain_send_that_is_delayed_is_tried_again(gateway: Gateway) -> None:
    """What is not known to be refused is not lost to the sentence."""
    gateway.adapter.faults["alice"] = [SendRefusedError("no"), ChannelUnavailableError("busy", retry_after_s=5)]
    row = await gateway.answer("hello")
    await gateway.clock.waiters(1)
    gateway.clock.advance(5)
    await gateway.delivered(row)
    assert gateway.adapter.texts() == ["hello"]
    assert gateway.dead == []


async def test_a_reply_to_an_account_that_nobody_configured_is_buried(gateway: Gateway) -> None:
    """It could never be sent; whoever must know is told which account is missing."""
    await gateway.delivered(await gateway.answer("hello", account="gone"))
    ((_, why),) = gateway.dead
    assert "'gone'" in why


async def test_a_dead_notice_is_told_of_like_any_reply(gateway: Gateway) -> None:
    """Whoever must know decides what follows from it."""
    gateway.adapter.faults["owner"] = [SendRefusedError("blocked")] * 2
    row = await gateway.store.notify("key", Outgoing(Address("fake", "home", "owner"), "a reply was given up"))
    assert row is not None
    gateway.delivery.wake([row])
    await gateway.delivered(row)
    assert gateway.dead == [(row.id, "blocked")]
    assert (await gateway.store.report()).outbox_dead == 1


async def test_an_account_that_cannot_work_is_tried_again_much_later(gateway: Gateway) -> None:
    """A wrong token is for somebody to mend; its replies are kept."""
    gateway.adapter.faults["alice"] = [ChannelConfigError("wrong token")]
    row = await gateway.answer("hello")
    await gateway.clock.waiters(1)
    assert gateway.clock.waits() == [900]
    gateway.clock.advance(900)
    await gateway.delivered(row)
    assert "hello" in "".join(gateway.adapter.texts())


async def test_a_reply_with_nothing_to_show_is_done(gateway: Gateway) -> None:
    """It sends no message, late or not, and does not come back."""
    await gateway.delivered(await gateway.answer(" \n"))
    (row,) = await gateway.commit(" ")
    gateway.clock.advance(3600)
    gateway.delivery.wake([row])
    await gateway.delivered(row)
    assert gateway.adapter.tries == []
    assert await gateway.left() == []


async def test_a_crash_during_a_send_costs_one_duplicate(gateway: Gateway) -> None:
    """What was on its way is listed and sent again; a second recovery finds nothing to do."""
    stuck = gateway.adapter.stick("alice")
    await gateway.answer("hello")
    await gateway.adapter.tried(1)
    await gateway.stop()  # cuts the send, as a kill does: the row stays as it is
    stuck.set()
    assert await gateway.start() == 1
    await gateway.delivery.drain(5)
    assert gateway.adapter.texts() == ["hello"]
    assert await gateway.restart() == 0
    report = await gateway.store.report()
    assert [each.why for each in report.unsure] == ["the gateway stopped while this was being sent"]


async def test_a_crash_between_parts_goes_on_with_the_next(gateway: Gateway) -> None:
    """Parts with a receipt are not sent again, and nothing is in doubt."""
    gateway.adapter.faults["alice"] = [None, ChannelUnavailableError("down", 5)]
    await gateway.answer(LONG)
    await gateway.clock.waiters(1)
    await gateway.restart()
    await gateway.clock.waiters(1)
    (row,) = await gateway.left()
    assert row.parts_sent == 1
    gateway.clock.advance(5)
    await gateway.delivered(row)
    assert "".join(gateway.adapter.texts()) == LONG
    assert (await gateway.store.report()).unsure == []


async def test_what_an_earlier_run_left_goes_first(gateway: Gateway) -> None:
    """A reply that is woken before or while the old ones are found does not overtake them, nor go out twice."""
    await gateway.delivery.drain(0)
    old = await gateway.commit("old 1", "old 2")
    observers = DeliveryObservers(gateway._on_dead)
    delivery = Delivery(gateway._tasks, gateway.store.outbox, gateway.adapters, observers, gateway.retry_policy)
    new = await gateway.commit("new")
    delivery.wake(new)
    assert gateway.adapter.tries == []
    assert await delivery.recover(lambda _: True) == 3
    await delivery.finished(new[0].id)
    assert gateway.adapter.texts() == ["old 1", "old 2", "new"]
    assert all(any(is_part_of(each, row) for each in gateway.adapter.taken) for row in old)
    await delivery.drain(0)


async def test_a_late_reply_says_when_it_was_written(gateway: Gateway) -> None:
    """More than ten minutes old at its sending, and not before."""
    rows = await gateway.commit("just in time", "too late")
    gateway.clock.advance(600)
    gateway.delivery.wake(rows[:1])
    await gateway.delivered(rows[0])
    gateway.clock.advance(1)
    gateway.delivery.wake(rows[1:])
    await gateway.delivered(rows[1])
    assert gateway.adapter.texts()[0] == "just in time"
    assert "".join(gateway.adapter.texts()[1:]) == f"{LATE}\n\ntoo late"


async def test_what_no_person_reads_does_not_say_that_it_is_late(gateway: Gateway) -> None:
    """A helper's result goes to its parent as it is, whenever that is."""
    inner = gateway.adapters.loaded["helper", "main"] = FakeAdapter("helper", "main", 40)
    address = result_address(AgentId("main"), "main")
    rows = await gateway.store.commit_turn(TurnCommit(TurnId("t1"), [], [Outgoing(address, LONG)]))
    gateway.clock.advance(3_600)
    gateway.delivery.wake(rows)
    await gateway.delivered(rows[0])
    assert "".join(inner.texts()) == "".join(body.text for body in inner.render(LONG))


async def test_a_reply_that_becomes_late_by_waiting_says_so(gateway: Gateway) -> None:
    """What is sent again after ten minutes carries the note, though its first try did not; so does a doubtful one."""
    for fault in (ChannelUnavailableError("down", 601), LostReceipt()):
        gateway.adapter.taken.clear()
        gateway.adapter.faults["alice"] = [fault]
        row = await gateway.answer("hello")
        await gateway.clock.waiters(1)
        await gateway.restart()
        gateway.clock.advance(601)
        await gateway.delivered(row)
        sent = "".join(gateway.adapter.texts())
        assert sent.endswith("could not be sent earlier.)\n\nhello")


async def test_a_late_reply_of_another_day_names_the_day(gateway: Gateway) -> None:
    """A time alone would mislead."""
    (row,) = await gateway.commit("hello")
    gateway.clock.advance(timedelta(days=1).total_seconds())
    gateway.delivery.wake([row])
    await gateway.delivered(row)
    assert "at 14:05 on 2026-03-01 UTC" in "".join(gateway.adapter.texts())


def test_a_late_reply_states_its_time_with_the_zone() -> None:
    """The owner's zone, named: others read the reply too. The day is that zone's."""
    retry_policy, written = RetryPolicy(ManualClock(), ZoneInfo("Asia/Tokyo")), datetime(2026, 3, 1, 14, 5, tzinfo=UTC)
    assert "at 23:05 JST;" in retry_policy.late_note(written, written + timedelta(minutes=20))
    assert "at 23:05 on 2026-03-01 JST;" in retry_policy.late_note(written, written + timedelta(hours=1))


async def test_parts_keep_their_cut_while_time_passes(gateway: Gateway) -> None:
    """A reply that was begun with the note goes on with it, and one that was begun without goes on without."""
    (row,) = await gateway.commit(LONG)
    gateway.clock.advance(3600)
    gateway.adapter.faults["alice"] = [None, None, ChannelUnavailableError("down", 86400)]
    gateway.delivery.wake([row])
    await gateway.clock.waiters(1)
    await gateway.restart()
    await gateway.clock.waiters(1)
    gateway.clock.advance(86400)
    await gateway.delivered(row)
    assert (
        "".join(gateway.adapter.texts())
        == "(This answer was written at 14:05 UTC; it could not be sent earlier.)\n\n" + LONG
    )


async def test_the_rest_of_a_reply_that_comes_late_says_so(gateway: Gateway) -> None:
    """Parts that follow after more than ten minutes are announced, and are cut as they were."""
    gateway.adapter.faults["alice"] = [None, ChannelUnavailableError("down", 700)]
    row = await gateway.answer(LONG)
    await gateway.clock.waiters(1)
    gateway.clock.advance(700)
    await gateway.delivered(row)
    texts = gateway.adapter.texts()
    assert "".join([texts[0], *texts[3:]]) == LONG
    assert "".join(texts[1:3]) == LATE
    assert len({each.key for each in gateway.adapter.taken}) == 5


async def test_that_a_rest_is_late_is_said_once(gateway: Gateway) -> None:
    """The sentence gets through and the part after it does not: the next attempt sends what is missing."""
    down = ChannelUnavailableError("down", 700)
    gateway.adapter.faults["alice"] = [None, down, None, down, None, down]
    row = await gateway.answer(LONG)
    for _ in range(3):
        await gateway.clock.waiters(1)
        gateway.clock.advance(700)
    await gateway.delivered(row)
    texts = gateway.adapter.texts()
    assert "".join(texts[1:3]) == LATE
    assert "".join([texts[0], *texts[3:]]) == LONG


async def test_a_full_disk_delays_and_repeats_nothing(gateway: Gateway) -> None:
    """A send that cannot be recorded beforehand waits; one that cannot be recorded afterwards is not sent again."""

    def fill(_: OutboundMessage) -> None:
        gateway.full = True

    gateway.adapter.on_send = fill
    rows = await gateway.commit("one", "two")
    gateway.delivery.wake(rows)
    await gateway.clock.waiters(1)
    assert gateway.adapter.texts() == ["one"]
    gateway.clock.advance(1)
    await gateway.clock.waiters(1)
    gateway.full, gateway.adapter.on_send = False, None
    gateway.clock.advance(2)
    await gateway.delivered(rows[1])
    assert gateway.adapter.texts() == ["one", "two"]
    assert (await gateway.store.report()).unsure == []


async def test_draining_sends_what_can_be_sent(gateway: Gateway) -> None:
    """Queued replies go out; what waits for a retry, and what comes later, is left for the next run."""
    gateway.adapter.faults["bob"] = [ChannelUnavailableError("down", 600)]
    waiting = await gateway.answer("wait", chat="bob")
    await gateway.clock.waiters(1)
    await gateway.answer(*"abc")
    assert await gateway.delivery.drain(5) == []
    assert gateway.adapter.texts() == ["a", "b", "c"]
    later = await gateway.answer("later")
    await gateway.delivered(waiting)
    await gateway.delivered(later)
    assert [row.outgoing.text for row in await gateway.left()] == ["wait", "later"]


async def test_draining_names_what_it_cut_off(gateway: Gateway) -> None:
    """A send that outlasts the grace is cancelled, told, and found again by the next run."""
    gateway.adapter.stick("alice")
    row = await gateway.answer("hello")
    await gateway.adapter.tried(1)
    assert [each.id for each in await gateway.delivery.drain(0.01)] == [row.id]
    await gateway.delivered(row)
    assert [each.state for each in await gateway.left()] == [OutboxState.SENDING]


async def test_a_reply_that_was_stored_before_a_key_was_known_is_sent_without_it(gateway: Gateway) -> None:
    """The platform gets the text of the outbox without known secrets."""
    (row,) = await gateway.commit("it is canary-of-delivery")
    with guarding(["canary-of-delivery"]):
        gateway.delivery.wake([row])
        await gateway.delivery.finished(row.id)
    assert gateway.adapter.texts("alice") == [f"it is {REMOVED}"]


async def test_what_a_platform_says_of_a_failure_is_kept_without_a_secret(gateway: Gateway) -> None:
    """An address with the bot's token in it goes into no notice and into no row."""
    with guarding(["canary-of-delivery"]):
        gateway.adapter.faults["alice"] = [SendRefusedError("POST /botcanary-of-delivery/send: gone")] * 3
        await gateway.delivered(await gateway.answer("hello"))
    assert [why for _, why in gateway.dead] == [f"POST /bot{REMOVED}/send: gone"]
