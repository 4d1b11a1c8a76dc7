"""What every store promises of rows that cannot be read: they are kept apart, told, and hold nothing up."""

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from adapters.channel import Address, OverheardMessage
from gateway.stores.admission import UNREADABLE_MESSAGE, Silence
from gateway.stores.codec import address_key
from gateway.stores.jobs import RunState
from gateway.stores.ports import Arrivals, Store
from gateway.stores.redis.store import RedisStore
from gateway.stores.rows import InboxRow, Outgoing, TurnCommit
from gateway.stores.unreadable import UNREADABLE_HEARD, UNREADABLE_JOB, UNREADABLE_REPLY
from tests.contracts.test_jobs_store import added, taken
from tests.contracts.test_store import Kept, accepted
from tests.fakes.clock import START

HERE = Address("fake", "home", "alice")
NEWER = b'{"v":2,"body":{"address":["what","is","this"]}}'
TORN = b'{"v":1,"body":{"address":{"chann'
NO_TEXT = b'{"v":1,"body":"\xff\xfe"}'
DAMAGES = [NEWER, TORN, NO_TEXT, b""]
COLUMNS = {"inbox": "message", "outbox": "outgoing", "jobs": "errand"}
KEYS = {"outbox": "reply", "jobs": "job"}


async def spoil(kept: Kept, table: str, number: int, fields: Mapping[str, bytes]) -> None:
    """Replace, where the store keeps it, fields of one row by these bytes."""
    store = kept.store
    if not isinstance(store, RedisStore):
        with closing(sqlite3.connect(kept._folder / "state.db")) as db, db:
            for name, content in fields.items():
                db.execute(f"UPDATE {table} SET {name} = CAST(? AS TEXT) WHERE id = ?", (content, number))
        db.close()
        return
    async with _client(store) as client:
        if table in KEYS:
            await client.execute_command("HSET", f"{_prefix(store)}:{KEYS[table]}:{number}", *_flat(fields))
            return
        queue = f"{_prefix(store)}:inbox:main"
        entries: _Entries = await client.execute_command("XRANGE", queue, "-", "+")
        await client.delete(queue)  # an entry of a stream cannot be changed
        for id_, was in entries:
            spoilt = {name.encode(): content for name, content in fields.items()} if _is(id_, number) else {}
            await client.execute_command("XADD", queue, id_, *_flat({**was, **spoilt}))


async def set_aside(kept: Kept) -> list[bytes]:
    """Return what lies aside, each with all that is kept of it."""
    store = kept.store
    if not isinstance(store, RedisStore):
        with closing(sqlite3.connect(kept._folder / "state.db")) as db, db:
            found = db.execute("SELECT content FROM quarantine ORDER BY id").fetchall()
        db.close()
        return [content for (content,) in found]
    async with _client(store) as client:
        kept_there: _Entries = await client.execute_command("XRANGE", f"{_prefix(store)}:quarantine", "-", "+")
    contents = {name.encode() for name in COLUMNS.values()}
    return [content for _, fields in kept_there for name, content in fields.items() if name in contents]


_Entries = list[tuple[bytes, dict[bytes, bytes]]]


def _flat(fields: Mapping[Any, bytes]) -> list[Any]:
    return [each for pair in fields.items() for each in pair]


def _is(entry: bytes, number: int) -> bool:
    return entry == f"{number}-0".encode()


def _client(store: RedisStore) -> Any:
    return Redis.from_url(str(store._link._server), protocol=2)


def _prefix(store: RedisStore) -> str:
    return store._link._member.prefix


async def arrived(store: Store, count: int) -> list[InboxRow]:
    """Return the first messages that a gateway would take up."""
    if not isinstance(store.inbox, Arrivals):
        return list(await store.inbox.waiting())
    rows: list[InboxRow] = []
    async for row in store.inbox.arrivals():
        rows.append(row)
        if len(rows) == count:
            break
    return rows


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_message_that_cannot_be_read_holds_up_nothing(kept: Kept, damage: bytes) -> None:
    """It is kept to the byte, counted and told once; what is behind it is read, and a restart finds all as it was."""
    rows = [await accepted(kept.store, str(n)) for n in range(4)]
    for each in rows[:3:2]:
        await spoil(kept, "inbox", each.id, {"message": damage})
    with capture_logs() as logs:
        assert await kept.store.inbox.waiting() == rows[1::2]
        assert await arrived(await kept.reopen(), 2) == rows[1::2]
    told = [log for log in logs if log.get("reason") == UNREADABLE_MESSAGE]
    assert [(log["row"].partition("-")[0], log["log_level"]) for log in told] == [
        (str(each.id), "warning") for each in rows[:3:2]
    ]
    assert await set_aside(kept) == [damage, damage]
    report = await kept.store.report()
    assert (report.reasons, report.inbox_waiting) == ({UNREADABLE_MESSAGE: 2}, 2)
    await kept.store.prune(START + timedelta(days=1_000))
    assert await set_aside(kept) == [damage, damage]


async def test_a_gateway_takes_up_what_is_behind_an_unreadable_message(kept: Kept) -> None:
    """Also when nobody has looked through the queue before, and when only its time cannot be read."""
    rows = [await accepted(kept.store, str(n)) for n in range(3)]
    await spoil(kept, "inbox", rows[0].id, {"message": TORN})
    await spoil(kept, "inbox", rows[1].id, {"received_at": b"yesterday"})
    assert await arrived(kept.store, 1) == rows[2:]
    assert (await kept.store.report()).reasons == {UNREADABLE_MESSAGE: 2}


async def test_a_page_is_full_although_some_of_it_cannot_be_read(kept: Kept) -> None:
    """Or a reader would take a short page for the last one, and leave the rest waiting."""
    rows = [await accepted(kept.store, str(n)) for n in range(6)]
    for each in rows[:3]:
        await spoil(kept, "inbox", each.id, {"message": TORN})
    assert await kept.store.inbox.waiting(limit=2) == rows[3:5]
    assert await kept.store.inbox.waiting(rows[4].id, 2) == rows[5:]


async def test_who_gets_no_answer_to_an_unreadable_message_is_known(kept: Kept) -> None:
    """As far as it says who wrote it and where: a newer version's does."""
    row = await accepted(kept.store)
    said = b'{"v":2,"new":1,"body":{"address":{"channel":"fake","account":"home","chat":"alice","thread":null},'
    said += b'"sender":{"id":"9","name":"Zoe","is_bot":false},"kind":"hologram"}}'
    await spoil(kept, "inbox", row.id, {"message": said})
    assert await kept.store.inbox.waiting() == []
    assert await kept.store.silences.latest() == [Silence(START, HERE, "fake:9", UNREADABLE_MESSAGE)]


@pytest.mark.parametrize(
    "damage",
    [*({"outgoing": each} for each in DAMAGES), {"created_at": b"2026-01-01"}, {"turn_id": b"t\xff"}],
)
async def test_a_reply_that_cannot_be_read_holds_up_nothing(kept: Kept, damage: Mapping[str, bytes]) -> None:
    """The replies after it go out; it is kept, counted and told once."""
    first, second = await accepted(kept.store, "1"), await accepted(kept.store, "2")
    replies = [
        *await kept.store.commit_turn(
            TurnCommit(first.turn_id, [first.id], [Outgoing(HERE, "lost"), Outgoing(HERE, "b")])
        ),
        *await kept.store.commit_turn(TurnCommit(second.turn_id, [second.id], [Outgoing(HERE, "c")])),
    ]
    await spoil(kept, "outbox", replies[0].id, damage)
    with capture_logs() as logs:
        for _ in range(2):
            assert await (await kept.reopen()).outbox.unfinished() == replies[1:]
    assert len([log for log in logs if log.get("reason") == UNREADABLE_REPLY]) == 1
    (content,) = await set_aside(kept)
    assert content == damage.get("outgoing", content)
    assert b"lost" in content or "outgoing" in damage
    report = await kept.store.report()
    assert (report.reasons, report.outbox_queued) == ({UNREADABLE_REPLY: 1}, 2)


@pytest.mark.parametrize("damage", [*({"errand": each} for each in DAMAGES), {"next_slot": b"soon"}])
async def test_a_job_that_cannot_be_read_holds_up_no_other(kept: Kept, damage: dict[str, bytes]) -> None:
    """The others come at their times; its number does not come again, and its key may be used anew."""
    broken, job = await added(kept.store, key="change:1"), await added(kept.store)
    if isinstance(kept.store, RedisStore) and "next_slot" in damage:
        damage = {"next": damage["next_slot"]}
    await spoil(kept, "jobs", broken.id, damage)
    with capture_logs() as logs:
        for _ in range(2):
            assert await (await kept.reopen()).jobs.all() == [job]
    assert len([log for log in logs if log.get("reason") == UNREADABLE_JOB]) == 1
    assert (await kept.store.report()).reasons == {UNREADABLE_JOB: 1}
    assert len(await set_aside(kept)) == 1
    assert await kept.store.jobs.history(broken.id) == []
    again = await added(kept.store, key="change:1")
    assert again.id > job.id
    assert await kept.store.jobs.all() == [job, again]


async def test_a_job_whose_message_or_answer_cannot_be_read_has_failed(kept: Kept) -> None:
    """Its run does not stand as running for ever."""
    job = await added(kept.store)
    row = await taken(kept.store, job)
    await spoil(kept, "inbox", row.id, {"message": TORN})
    assert await kept.store.inbox.waiting() == []
    assert [run.state for run in await kept.store.jobs.history(job.id)] == [RunState.FAILED]
    later = await added(kept.store, replace(job.spec, prompt="another"))
    row = await taken(kept.store, later)
    (reply,) = await kept.store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(HERE, "tea")]))
    await spoil(kept, "outbox", reply.id, {"outgoing": TORN})
    assert await kept.store.outbox.unfinished() == []
    assert [run.state for run in await kept.store.jobs.history(later.id)] == [RunState.DEAD]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_what_a_group_said_and_cannot_be_read_keeps_no_question_out(kept: Kept, damage: bytes) -> None:
    """Each message would be refused, as it is taken in with what was said before: that is let go instead."""
    group, said = replace(HERE, chat="-100"), [OverheardMessage("Bob", f"line {n}", START) for n in range(3)]
    for number, each in enumerate(said):
        await kept.store.overheard.keep(group, str(number), each, 10)
    await spoil_heard(kept, group, "1", damage)
    with capture_logs() as logs:
        for _ in range(2):
            assert (await (await kept.reopen()).overheard.of(group)).heard == (said[0], said[2])
    assert len([log for log in logs if log.get("reason") == UNREADABLE_HEARD]) == 1
    assert (await kept.store.report()).reasons == {UNREADABLE_HEARD: 1}


async def spoil_heard(kept: Kept, place: Address, message: str, damage: bytes) -> None:
    """Replace what is kept of one overheard message by these bytes."""
    store = kept.store
    if isinstance(store, RedisStore):
        async with _client(store) as client:
            await client.execute_command("HSET", f"{_prefix(store)}:heard:{address_key(place)}", message, damage)
        return
    with closing(sqlite3.connect(kept._folder / "state.db")) as db, db:
        db.execute("UPDATE heard SET heard = CAST(? AS TEXT) WHERE message = ?", (damage, message))
    db.close()


async def test_a_text_that_no_store_can_hold_fails_nobody_else(kept: Kept) -> None:
    """Whatever becomes of such an operation, what is called beside it and after it is done."""
    store = kept.store
    await asyncio.gather(
        store.count("before"), store.put("half \ud83d", "of \udc80 it"), store.count("beside"), return_exceptions=True
    )
    await store.count("after")
    assert (await store.report()).reasons == {"before": 1, "beside": 1, "after": 1}
