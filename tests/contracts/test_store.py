"""What every store promises, whatever keeps it: SQLite, the Redis and Valkey that are installed here, a cluster."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from adapters.channel import Address, Button, ChatKind, InboundMessage, Quote, Sender
from gateway.errors import StoreError
from gateway.stores.ports import RowStateError, Store
from gateway.stores.quarantine import CRASHED_REPLY
from gateway.stores.redis.leases import RedisLeases
from gateway.stores.redis.server import RedisAddress
from gateway.stores.redis.store import RedisStore
from gateway.stores.retention import Retention
from gateway.stores.rows import (
    APPROVAL_EXPIRED,
    ChangeId,
    ChangeState,
    Enclosure,
    InboxId,
    InboxRow,
    OutboxId,
    OutboxRow,
    OutboxState,
    Outgoing,
    PendingChange,
    Proposal,
    TurnCommit,
    TurnId,
)
from gateway.stores.sqlite.store import SqliteStore
from strandline.testing.adapter import message
from tests.fakes.clock import START, ManualClock
from tests.fakes.redis_server import KINDS, running
from tests.fakes.redis_several import cluster
from workspaces.redact import PURGED, Redaction

HERE = Address("fake", "home", "alice")


async def _sqlite(folder: Path, clock: ManualClock, retention: Retention) -> Store:
    return await SqliteStore.open(folder / "state.db", clock=clock, retention=retention)


class _AloneInRedis(RedisStore):
    """The store of the only gateway on a server: its lease ends with it."""

    def __init__(self, leases: RedisLeases, clock: ManualClock, retention: Retention) -> None:
        super().__init__(leases, ["main"], lambda _: "main", clock=clock, retention=retention)
        self._leases = leases

    async def close(self) -> None:
        await super().close()
        await self._leases.leave()


def _redis(url: str) -> "Place":
    async def open_(folder: Path, clock: ManualClock, retention: Retention) -> Store:
        prefix = str(folder).replace("/", "-")
        leases = await RedisLeases.join(RedisAddress(url), prefix, "alone", lease_s=60, accept_loss=False)
        assert await leases.claim(["agent:main"]) == ["agent:main"]
        return _AloneInRedis(leases, clock, retention)

    return open_


Place = Callable[[Path, ManualClock, Retention], Awaitable[Store]]


class Kept:
    """A store that can be closed and opened again where it is kept."""

    def __init__(self, place: Place, folder: Path, retention: Retention | None = None) -> None:
        self.clock = ManualClock()
        self._place, self._folder, self._retention = place, folder, retention or Retention()
        self.store: Store

    async def open(self) -> Store:
        self.store = await self._place(self._folder, self.clock, self._retention)
        return self.store

    async def reopen(self) -> Store:
        await self.store.close()
        return await self.open()


@pytest.fixture(params=["sqlite", *KINDS, "cluster"], scope="module")
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "sqlite":
        yield _sqlite
        return
    kind = "redis" if request.param == "cluster" else request.param
    with cluster(kind) if request.param == "cluster" else running(kind) as servers:
        yield _redis(servers.url)


@pytest.fixture
async def kept(place: Place, tmp_path: Path) -> AsyncIterator[Kept]:
    kept = Kept(place, tmp_path, Retention(unsure=3))
    await kept.open()
    yield kept
    await kept.store.close()


@pytest.fixture
def store(kept: Kept) -> Store:
    return kept.store


async def accepted(store: Store, id: str = "1", text: str = "hello") -> InboxRow:  # noqa: A002  # reads as the field
    row = await store.inbox.append(message(text, id=id))
    assert row is not None
    return row


async def committed(store: Store, *texts: str, id: str = "1") -> list[OutboxRow]:  # noqa: A002  # reads as the field
    row = await accepted(store, id)
    return list(await store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(HERE, text) for text in texts])))


async def one_reply(store: Store) -> OutboxRow:
    (row,) = await committed(store, "an answer")
    return row


async def unfinished(store: Store, id: OutboxId) -> OutboxRow:  # noqa: A002  # reads as the field
    (row,) = [row for row in await store.outbox.unfinished() if row.id == id]
    return row


async def test_an_appended_message_waits_through_a_restart(kept: Kept) -> None:
    """Every field of an accepted message comes back as it was."""
    full = InboundMessage(
        address=Address("telegram", "home", "-100", "7"),
        id="41",
        sender=Sender("9", "Zoë 😀", is_bot=False),
        kind=ChatKind.GROUP,
        text='line\n"quoted" \x00 \u2028',
        is_for_us=False,
        sent_at=START - timedelta(seconds=1.5),
        quote=Quote("Bob", "what he said"),
    )
    row = await kept.store.inbox.append(full)
    assert row is not None
    assert (row.message, row.received_at) == (full, START)
    assert await (await kept.reopen()).inbox.waiting() == [row]


async def test_no_number_comes_again_though_all_was_lost(place: Place, tmp_path: Path) -> None:
    """A turn has its message's number, and conversations, which are kept elsewhere, know the turns that were."""
    numbers: list[InboxId] = []
    for name in ("before", "afterwards"):
        kept = Kept(place, tmp_path / name)
        kept.clock.advance(len(numbers))
        store = await kept.open()
        numbers += [(await accepted(store, str(n))).id for n in range(3)]
        await store.close()
    assert sorted(set(numbers)) == numbers


async def test_text_that_is_no_unicode_is_taken_all_the_same(store: Store) -> None:
    """Half a surrogate pair becomes U+FFFD, in the row that is answered too; it cannot stop the inbox."""
    row = await accepted(store, text="half \ud83d whole \ud83d\ude00")
    assert row.message.text == "half \ufffd whole 😀"
    assert await store.inbox.waiting() == [row]


async def test_the_same_message_is_stored_once(kept: Kept) -> None:
    """A platform that delivers again gets no second row: at once, after a restart, after the answer."""
    row = await accepted(kept.store)
    again = row.message
    assert await kept.store.inbox.append(again) is None
    assert await (await kept.reopen()).inbox.append(again) is None
    await kept.store.commit_turn(TurnCommit(row.turn_id, [row.id], []))
    assert await (await kept.reopen()).inbox.append(again) is None
    assert await kept.store.inbox.waiting() == []


async def test_the_same_id_elsewhere_is_another_message(store: Store) -> None:
    """A message's identity is its whole address and its id."""
    first = message("x", id="1")
    others = [
        replace(first, address=replace(first.address, chat="bob")),
        replace(first, address=replace(first.address, account="work")),
        replace(first, address=replace(first.address, channel="other")),
        replace(first, address=replace(first.address, thread="1")),
        replace(first, id="2"),
    ]
    assert all([await store.inbox.append(each) for each in [first, *others]])


async def test_a_message_id_may_come_again_after_two_weeks(kept: Kept) -> None:
    """Platforms restart their ids; a key is remembered for its time, and not for ever."""
    row = await accepted(kept.store)
    kept.clock.advance(timedelta(days=13.9).total_seconds())
    assert await kept.store.inbox.append(row.message) is None
    kept.clock.advance(timedelta(days=0.2).total_seconds())
    assert await kept.store.inbox.append(row.message) is not None
    assert await kept.store.inbox.append(row.message) is None


async def test_what_waits_is_read_in_pages(store: Store) -> None:
    """The first so many after a message, across what was answered; after the last one there is none."""
    rows = [await accepted(store, str(n)) for n in range(7)]
    await store.inbox.drop(rows[2].id, "test")
    waiting = store.inbox.waiting
    assert await waiting(limit=2) == rows[:2]
    assert await waiting(rows[1].id, 2) == rows[3:5]
    assert await waiting(rows[2].id) == rows[3:]
    assert await waiting(rows[6].id, 2) == []


async def test_many_appends_at_once_keep_their_order(store: Store) -> None:
    """Ids follow the order of the calls, not of the threads."""
    rows = await asyncio.gather(*(accepted(store, str(n)) for n in range(100)))
    assert [row.message.id for row in await store.inbox.waiting()] == [str(n) for n in range(100)]
    assert [row.id for row in rows] == sorted(row.id for row in rows)


async def test_a_turn_commits_replies_and_acknowledgement_together(kept: Kept) -> None:
    """After the commit the messages no longer wait and the replies do, in order, restart or not."""
    first, second = await accepted(kept.store, "1"), await accepted(kept.store, "2")
    files, buttons = (Enclosure("main", "t1.a", "notes/plan.md", 5, "my plan"),), (Button("Approve", "/approve 3"),)
    outgoing = [Outgoing(HERE, "one", "1", files, buttons), Outgoing(replace(HERE, thread="5"), "two \ud83d")]
    rows = await kept.store.commit_turn(TurnCommit(first.turn_id, [first.id, second.id], outgoing))
    assert [row.outgoing.text for row in rows] == ["one", "two \ufffd"]
    assert rows[0].outgoing == outgoing[0]
    assert {(row.state, row.turn_id, row.created_at) for row in rows} == {(OutboxState.QUEUED, first.turn_id, START)}
    await kept.reopen()
    assert await kept.store.inbox.waiting() == []
    assert await kept.store.outbox.unfinished() == rows


async def test_a_turn_commits_once(kept: Kept) -> None:
    """The same turn tried again, after a crash say, changes nothing."""
    row = await accepted(kept.store)
    commit = TurnCommit(row.turn_id, [row.id], [Outgoing(HERE, "answer")])
    assert len(await kept.store.commit_turn(commit)) == 1
    assert await kept.store.commit_turn(commit) == []
    await kept.reopen()
    assert await kept.store.commit_turn(commit) == []
    assert len(await kept.store.outbox.unfinished()) == 1


async def test_a_message_is_answered_by_one_turn(store: Store) -> None:
    """A turn whose messages another turn answered, or which were dropped, sends nothing."""
    first, second = await accepted(store, "1"), await accepted(store, "2")
    await store.commit_turn(TurnCommit(first.turn_id, [first.id, second.id], []))
    assert await store.commit_turn(TurnCommit(second.turn_id, [second.id], [Outgoing(HERE, "late")])) == []
    assert await store.outbox.unfinished() == []


async def test_a_turn_with_one_message_left_still_answers_it(store: Store) -> None:
    """Dropping one of the messages of a turn does not leave the others without an answer."""
    first, second = await accepted(store, "1"), await accepted(store, "2")
    await store.inbox.drop(first.id, "revoked")
    rows = await store.commit_turn(TurnCommit(first.turn_id, [first.id, second.id], [Outgoing(HERE, "both")]))
    assert len(rows) == 1
    assert await store.inbox.waiting() == []


async def test_a_turn_that_nobody_asked_for_commits(store: Store) -> None:
    """A heartbeat answers no message; its id alone makes it happen once."""
    commit = TurnCommit(TurnId("heartbeat:14:00"), [], [Outgoing(HERE, "look")])
    assert len(await store.commit_turn(commit)) == 1
    assert await store.commit_turn(commit) == []


async def test_an_inbox_id_is_never_used_again(kept: Kept) -> None:
    """Turn ids come from inbox ids, so an emptied inbox must not start over: its turns would count as done."""
    row = await accepted(kept.store, "1")
    await kept.store.commit_turn(TurnCommit(row.turn_id, [row.id], []))
    await kept.reopen()
    later = await accepted(kept.store, "2")
    assert later.id > row.id
    assert len(await kept.store.commit_turn(TurnCommit(later.turn_id, [later.id], [Outgoing(HERE, "a")]))) == 1


async def test_a_dropped_message_leaves_and_is_counted_once(kept: Kept) -> None:
    """Dropping closes the row and counts its reason; dropping again does neither."""
    row = await accepted(kept.store)
    await kept.store.inbox.drop(row.id, "revoked")
    await kept.store.inbox.drop(row.id, "revoked")
    await kept.store.inbox.drop(InboxId(999), "revoked")
    await kept.reopen()
    assert await kept.store.inbox.waiting() == []
    assert (await kept.store.report()).reasons == {"revoked": 1}
    assert await kept.store.inbox.append(row.message) is None


async def test_a_reply_goes_out_part_by_part(kept: Kept) -> None:
    """Each step of a send is there after a restart; only a begun part counts as on its way."""
    row = await one_reply(kept.store)
    begun = START + timedelta(minutes=1)
    expected = row
    for part, is_last in ((0, False), (1, False), (2, True)):
        await kept.store.outbox.begin_part(row.id, part, begun)
        await kept.reopen()
        expected = replace(expected, state=OutboxState.SENDING, begun_at=begun, parts_sent=part)
        assert await kept.store.outbox.unfinished() == [expected]
        await kept.store.outbox.part_sent(row.id, part, f"m{part}", is_last=is_last)
        await kept.reopen()
        expected = replace(expected, state=OutboxState.QUEUED, parts_sent=part + 1)
        assert await kept.store.outbox.unfinished() == ([] if is_last else [expected])


async def test_a_later_part_keeps_what_the_first_was_judged_by(store: Store) -> None:
    """`begun_at` belongs to the first part: a new try at it moves the time, a try at the second does not."""
    row = await one_reply(store)
    for minute in (1, 2):
        await store.outbox.begin_part(row.id, 0, START + timedelta(minutes=minute))
        if minute == 1:
            await store.outbox.put_back(row.id, START, "busy")
    await store.outbox.part_sent(row.id, 0, "m", is_last=False)
    await store.outbox.begin_part(row.id, 1, START + timedelta(minutes=3))
    assert (await unfinished(store, row.id)).begun_at == START + timedelta(minutes=2)


async def test_a_reply_put_back_waits_for_its_time(kept: Kept) -> None:
    """Until when to wait, and how often it was tried, survive a restart; a new try clears the time."""
    row = await one_reply(kept.store)
    until = START + timedelta(seconds=90)
    await kept.store.outbox.begin_part(row.id, 0, START)
    await kept.store.outbox.put_back(row.id, until, "busy")
    await kept.reopen()
    found = await unfinished(kept.store, row.id)
    assert (found.state, found.not_before, found.attempts) == (OutboxState.QUEUED, until, 1)
    await kept.store.outbox.put_back(row.id, until, "no such account yet")
    await kept.store.outbox.begin_part(row.id, 0, until)
    found = await unfinished(kept.store, row.id)
    assert (found.state, found.not_before, found.attempts) == (OutboxState.SENDING, None, 2)
    assert (await kept.store.report()).reasons == {"send_delayed": 2}


async def test_an_unsure_send_is_listed_and_sent_again(kept: Kept) -> None:
    """It is queued again with an entry that says which part to where, and counted; the newest entries are kept."""
    row = await one_reply(kept.store)
    for number in range(5):
        kept.clock.advance(1)
        await kept.store.outbox.begin_part(row.id, 0, START)
        await kept.store.outbox.record_unsure(row.id, 0, f"broke {number}")
    await kept.reopen()
    found = await unfinished(kept.store, row.id)
    assert (found.state, found.attempts) == (OutboxState.QUEUED, 5)
    report = await kept.store.report()
    assert [each.why for each in report.unsure] == ["broke 2", "broke 3", "broke 4"]
    last = report.unsure[-1]
    assert (last.outbox_id, last.address, last.part, last.at) == (row.id, HERE, 0, START + timedelta(seconds=5))
    assert report.reasons == {"send_unsure": 5}


async def test_a_dead_letter_is_out_of_the_way_and_counted(kept: Kept) -> None:
    """A buried row is no longer sent; the report counts it."""
    first, second = await committed(kept.store, "one", "two")
    await kept.store.outbox.begin_part(first.id, 0, START)
    await kept.store.outbox.bury(first.id, "chat is gone")
    await kept.store.outbox.bury(second.id, "no such account")
    await kept.reopen()
    assert await kept.store.outbox.unfinished() == []
    report = await kept.store.report()
    assert (report.outbox_dead, report.outbox_queued, report.reasons) == (2, 0, {"dead_letter": 2})


async def test_a_reply_with_nothing_left_to_send_is_sent(store: Store) -> None:
    """`finish` closes a row without a part."""
    row = await one_reply(store)
    await store.outbox.finish(row.id)
    assert await store.outbox.unfinished() == []
    assert (await store.report()).outbox_dead == 0


async def test_a_row_moves_only_from_the_states_that_allow_it(store: Store) -> None:
    """Sending a part twice, out of turn, or of a finished row is refused and changes nothing."""
    box = store.outbox
    row, other, gone = await committed(store, "one", "two", "three")

    async def refuses(change: Awaitable[None]) -> None:
        before = await box.unfinished(), await store.report()
        with pytest.raises(RowStateError, match=r"outbox row \d+"):
            await change
        assert (await box.unfinished(), await store.report()) == before

    await refuses(box.begin_part(OutboxId(999), 0, START))
    await refuses(box.part_sent(row.id, 0, "m", is_last=True))  # not begun
    await refuses(box.record_unsure(row.id, 0, "why"))  # not begun
    await refuses(box.begin_part(row.id, 1, START))  # out of turn
    await box.begin_part(row.id, 0, START)
    await refuses(box.begin_part(row.id, 0, START))  # twice
    await refuses(box.part_sent(row.id, 1, "m", is_last=True))  # another part
    await refuses(box.record_unsure(row.id, 1, "why"))
    await refuses(box.finish(row.id))  # a part is on its way
    await box.part_sent(row.id, 0, "m", is_last=True)
    await box.bury(other.id, "why")
    await box.finish(gone.id)
    for done in (row, other, gone):
        await refuses(box.begin_part(done.id, 0, START))
        await refuses(box.begin_part(done.id, 1, START))
        await refuses(box.put_back(done.id, START, "why"))
        await refuses(box.bury(done.id, "why"))
        await refuses(box.finish(done.id))


async def test_a_refused_change_does_not_spoil_its_neighbours(store: Store) -> None:
    """Operations that are committed together fail alone."""
    row = await one_reply(store)
    outcomes = await asyncio.gather(
        accepted(store, "10"),
        store.outbox.part_sent(row.id, 0, "m", is_last=True),
        accepted(store, "11"),
        store.outbox.begin_part(row.id, 0, START),
        return_exceptions=True,
    )
    assert [type(each) for each in outcomes] == [InboxRow, RowStateError, InboxRow, type(None)]
    assert [each.message.id for each in await store.inbox.waiting()] == ["10", "11"]
    assert (await unfinished(store, row.id)).state is OutboxState.SENDING


async def test_a_notice_is_queued_once_for_its_key(kept: Kept) -> None:
    """The owner is told of one thing once, restarts included; a notice knows that it is one."""
    row = await kept.store.notify("disk-full", Outgoing(HERE, "the disk is full"))
    assert row is not None
    assert row.is_notice
    assert not (await one_reply(kept.store)).is_notice
    await kept.reopen()
    assert await kept.store.notify("disk-full", Outgoing(HERE, "again")) is None
    assert await kept.store.notify("disk-full-2", Outgoing(HERE, "another")) is not None
    assert (await kept.store.outbox.unfinished())[0] == row


async def test_values_and_counters_survive(kept: Kept) -> None:
    """What was put is got, the last one wins, and counters add up."""
    assert await kept.store.get("offset") is None
    for value in ("1", "2"):
        await kept.store.put("offset", value)
    await kept.store.count("refused.stranger")
    await kept.store.count("refused.stranger", 4)
    await kept.reopen()
    assert await kept.store.get("offset") == "2"
    assert (await kept.store.report()).reasons == {"refused.stranger": 5}


async def test_the_report_counts_what_waits(store: Store) -> None:
    """Waiting, queued and being sent are told."""
    row, _ = await committed(store, "one", "two")
    await accepted(store, "2")
    await store.outbox.begin_part(row.id, 0, START)
    report = await store.report()
    assert (report.inbox_waiting, report.outbox_queued, report.outbox_dead) == (1, 2, 0)


async def test_pruning_removes_what_is_done_with_and_nothing_else(kept: Kept) -> None:
    """Old sent and dead rows and expired keys go; what waits stays however old it is."""
    store = kept.store
    sent, dead, waiting = await committed(store, "sent", "dead", "waits")
    await store.outbox.begin_part(sent.id, 0, START)
    await store.outbox.part_sent(sent.id, 0, "m", is_last=True)
    await store.outbox.bury(dead.id, "why")
    unanswered = await accepted(store, "2")
    assert await store.prune(START + timedelta(days=6)) == 0
    assert await store.prune(START + timedelta(days=8)) == 1  # the sent reply
    assert await store.prune(START + timedelta(days=15)) == 2  # the keys of both messages
    assert await store.prune(START + timedelta(days=91)) == 1  # the dead letter
    assert await store.prune(START + timedelta(days=366)) == 1  # the turn
    await kept.reopen()
    assert await kept.store.outbox.unfinished() == [waiting]
    assert await kept.store.inbox.waiting() == [unanswered]


async def test_closing_finishes_what_was_begun(kept: Kept) -> None:
    """An operation that was called before `close` is durable; one after it is refused in a sentence."""
    appending = [asyncio.ensure_future(accepted(kept.store, str(n))) for n in range(20)]
    await asyncio.sleep(0)  # lets each of them call the store
    await kept.store.close()
    rows = await asyncio.gather(*appending)
    with pytest.raises(Exception, match="closed"):
        await kept.store.get("x")
    assert await (await kept.open()).inbox.waiting() == rows


PROPOSAL = Proposal("main", "MEMORY.md", "old\n", "new 😀\n", "others wrote it", "main/main", "7", "t7")
WEEK = timedelta(days=7)


def told(number: ChangeId) -> Outgoing:
    return Outgoing(HERE, f"#{number} waits")


async def proposed(kept: Kept, proposal: Proposal = PROPOSAL) -> PendingChange:
    change, _ = await kept.store.changes.propose(proposal, kept.clock.now() + WEEK, told)
    return change


async def test_a_proposal_waits_through_a_restart_and_is_told_once(kept: Kept) -> None:
    """The change and the notice that names its number are stored together, every field as it was."""
    change = await proposed(kept)
    store = await kept.reopen()
    assert change == PendingChange(ChangeId(1), PROPOSAL, START, START + WEEK, ChangeState.WAITING)
    assert await store.changes.waiting() == [change]
    assert await store.changes.get(change.id) == change
    (notice,) = await store.outbox.unfinished()
    assert (notice.outgoing, notice.is_notice) == (told(change.id), True)
    assert (await store.report()).approvals_waiting == 1


async def test_a_notice_that_cannot_be_made_leaves_no_proposal(kept: Kept) -> None:
    """Nothing waits of which nobody was told."""

    def broken(_: ChangeId) -> Outgoing:
        raise StoreError("no")

    with pytest.raises(StoreError):
        await kept.store.changes.propose(PROPOSAL, START + WEEK, broken)
    assert await kept.store.changes.waiting() == []


@pytest.mark.parametrize("state", [ChangeState.APPROVED, ChangeState.REFUSED])
async def test_a_change_is_decided_once_and_its_texts_are_dropped(kept: Kept, state: ChangeState) -> None:
    """A second decision, of whichever kind, changes nothing; what it was about and why stays known."""
    change, other = await proposed(kept), await proposed(kept)
    assert await kept.store.changes.decide(change.id, state)
    for late in (ChangeState.APPROVED, ChangeState.REFUSED):
        assert not await kept.store.changes.decide(change.id, late)
    store = await kept.reopen()
    assert await store.changes.waiting() == [other]
    emptied = replace(PROPOSAL, before=None, after=None)
    assert await store.changes.get(change.id) == structs.replace(change, proposal=emptied, state=state)


async def test_a_change_that_nobody_decides_expires_and_is_counted(kept: Kept) -> None:
    """At its hour it waits no more and cannot be approved; the daily sweep drops its texts and counts it once."""
    change = await proposed(kept)
    kept.clock.advance(WEEK.total_seconds())
    store = kept.store
    assert await store.changes.waiting() == []
    assert not await store.changes.decide(change.id, ChangeState.APPROVED)
    late = await store.changes.get(change.id)
    assert late == structs.replace(change, state=ChangeState.EXPIRED)
    assert (await store.report()).approvals_waiting == 0
    for _ in range(2):
        await store.prune(kept.clock.now())
    swept = await store.changes.get(change.id)
    assert swept == structs.replace(late, proposal=replace(PROPOSAL, before=None, after=None))
    report = await store.report()
    assert (report.reasons, report.approvals_waiting) == ({APPROVAL_EXPIRED: 1}, 0)


async def test_numbers_of_changes_never_come_again(kept: Kept) -> None:
    """Whoever approves number 1 a year later does not approve another change, although number 1 was pruned."""
    change = await proposed(kept)
    await kept.store.changes.decide(change.id, ChangeState.REFUSED)
    kept.clock.advance(365 * 86_400)
    await kept.store.prune(kept.clock.now())
    store = await kept.reopen()
    assert await store.changes.get(change.id) is None
    assert (await proposed(kept)).id == change.id + 1


async def test_a_purged_passage_is_in_no_reply_that_was_sent_and_in_no_quarantined_row(kept: Kept) -> None:
    """Both stay what they were otherwise, and a second purge finds nothing; a reply with sent parts waits as it is."""
    first, second = await accepted(kept.store, "1"), await accepted(kept.store, "2")
    words = [Outgoing(HERE, "so: the vault opens with heron"), Outgoing(HERE, "tea at four"), Outgoing(HERE, "bye")]
    sent, other, _ = await kept.store.commit_turn(TurnCommit(first.turn_id, [first.id], words))
    for row in (sent, other):
        await kept.store.outbox.finish(row.id)
    begun, aside = await kept.store.commit_turn(TurnCommit(second.turn_id, [second.id], [words[0], words[0]]))
    await kept.store.outbox.begin_part(begun.id, 0, START)
    await kept.store.outbox.part_sent(begun.id, 0, "p1", is_last=False)
    assert await kept.store.quarantine.add(CRASHED_REPLY, aside.id, "it crashed")
    heron = Redaction("The vault opens with heron.")
    assert await kept.store.purge(heron) == 2
    assert await kept.store.purge(heron) == 0
    assert [row.excerpt for row in await kept.store.quarantine.all()] == [f"so: {PURGED}"]
    waiting = {row.id: row.outgoing for row in await kept.store.outbox.unfinished()}
    assert waiting[begun.id] == words[0]
    (spoiled,) = await kept.store.quarantine.all()
    assert await kept.store.quarantine.retry(spoiled.id) is not None
