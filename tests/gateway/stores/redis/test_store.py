"""What holds beyond the contract when the store is kept in Redis: outages, refusals, and leases with their fence."""

import asyncio
import itertools
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError
from structlog.testing import capture_logs

from gateway.errors import ConfigError, StoreError
from gateway.runtime.clock import Clock, SystemClock
from gateway.stores.losses import latest_loss
from gateway.stores.ports import Arrivals, LeaseLostError, StoreServerError
from gateway.stores.redis.leases import RedisLeases
from gateway.stores.redis.link import RedisLink, script
from gateway.stores.redis.server import RedisAddress
from gateway.stores.redis.spool import Spool
from gateway.stores.redis.store import TRIM_EVERY_S, RedisStore
from gateway.stores.rows import STORE_TROUBLE, Outgoing, TurnCommit
from tests.contracts.test_store import HERE, accepted
from tests.fakes.clock import ManualClock
from tests.fakes.patience import PATIENCE_S
from tests.fakes.redis_server import KEEPS_ALL, RedisServer, running
from tests.fakes.redis_several import until

PREFIXES = count()


LEASE_S = 60


@pytest.fixture
def redis(kind: str) -> Iterator[RedisServer]:
    with running(kind, *KEEPS_ALL) as server:
        yield server


@dataclass
class Cluster:
    """Gateways on one server, each with a lease and a store."""

    server: RedisAddress
    stack: AsyncExitStack
    prefix: str = field(default_factory=lambda: f"p{next(PREFIXES)}")
    clock: Clock = field(default_factory=SystemClock)

    async def join(self, name: str, lease_s: float = LEASE_S) -> RedisLeases:
        leases = await RedisLeases.join(self.server, self.prefix, name, lease_s, accept_loss=False)
        self.stack.push_async_callback(leases.leave)
        return leases

    async def store(self, leases: RedisLeases, *agents: str) -> RedisStore:
        await leases.claim([f"agent:{agent}" for agent in agents or ("main",)])
        store = RedisStore(leases, agents or ("main",), lambda message: message.address.chat, clock=self.clock)
        self.stack.push_async_callback(store.close)
        return store

    async def alone(self) -> RedisStore:
        return await self.store(await self.join("alone"), "alice")


@pytest.fixture
async def cluster(redis: RedisServer) -> AsyncIterator[Cluster]:
    async with AsyncExitStack() as stack:
        yield Cluster(RedisAddress(redis.url, timeout_s=1, patience_s=2), stack)


async def admin(redis: RedisServer, *command: str) -> object:
    async with Redis.from_url(redis.url) as client:
        return await client.execute_command(*command)  # type: ignore[no-untyped-call]


# --- what the server loses


async def spooled(cluster: Cluster, path: Path) -> RedisStore:
    """Return a store that keeps what it accepts on its own disk too."""
    store = await cluster.alone()
    await store.use(Spool.open(path))
    return store


async def test_a_server_that_knows_less_than_it_confirmed_takes_nothing_more(
    redis: RedisServer, cluster: Cluster, tmp_path: Path
) -> None:
    """Neither a message nor a lease's renewal: whoever goes on puts back what is missing before."""
    leases = await cluster.join("alone")
    store = await cluster.store(leases, "alice")
    await store.use(Spool.open(tmp_path / "spool"))
    await accepted(store, "1")
    assert await leases.renew()
    await admin(redis, "DEL", f"{{{cluster.prefix}}}:accepted")
    with pytest.raises(LeaseLostError, match="has lost messages that it confirmed"):
        await accepted(store, "2")
    assert not await leases.renew()


async def test_what_the_server_lost_comes_back_once_under_its_number(
    redis: RedisServer, cluster: Cluster, tmp_path: Path
) -> None:
    """What was answered and delivered does not; what waits again is in its order; a second start changes nothing."""
    store = await spooled(cluster, tmp_path / "spool")
    rows = [await accepted(store, str(number)) for number in range(3)]
    (reply,) = await store.commit_turn(TurnCommit(rows[0].turn_id, [rows[0].id], [Outgoing(HERE, "answer")]))
    await store.outbox.finish(reply.id)
    await store.close()
    await admin(redis, "FLUSHALL")
    again = await spooled(cluster, tmp_path / "spool")
    assert await latest_loss(again, datetime.now(UTC)) is not None
    assert [row.id for row in await again.inbox.waiting()] == [row.id for row in rows[1:]]
    await again.close()
    third = await spooled(cluster, tmp_path / "spool")
    assert len(await third.inbox.waiting()) == 2
    assert (await third.report()).reasons == {"state_lost": 1, "message_restored": 2}


async def test_what_an_older_server_still_knows_stays_as_it_is(
    redis: RedisServer, cluster: Cluster, tmp_path: Path
) -> None:
    """A message that waits there, or was answered there, does not come twice."""
    store = await spooled(cluster, tmp_path / "spool")
    answered, waiting = await accepted(store, "1"), await accepted(store, "2")
    await store.commit_turn(TurnCommit(answered.turn_id, [answered.id], [Outgoing(HERE, "not delivered yet")]))
    await store.close()
    await admin(redis, "DEL", f"{{{cluster.prefix}}}:accepted")
    again = await spooled(cluster, tmp_path / "spool")
    assert (await again.report()).reasons == {"state_lost": 1}
    assert [row.id for row in await again.inbox.waiting()] == [waiting.id]


async def test_a_reply_that_the_server_lost_while_it_is_sent_begins_the_gateway_anew(
    redis: RedisServer, cluster: Cluster, tmp_path: Path
) -> None:
    """It is no defect of the caller, by which the process would end, nor is it tried again for ever."""
    leases = await cluster.join("alone")
    store = await cluster.store(leases, "alice")
    await store.use(Spool.open(tmp_path / "spool"))
    row = await accepted(store, "1")
    (reply,) = await store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(HERE, "answer")]))
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(leases.keep())
        await admin(redis, "DEL", f"{{{cluster.prefix}}}:reply:{reply.id}")
        with pytest.raises(LeaseLostError, match="has lost a change of reply"):
            await store.outbox.begin_part(reply.id, 0, datetime.now(UTC))


async def test_a_gateway_on_standby_leaves_what_is_to_be_told_to_others(cluster: Cluster, tmp_path: Path) -> None:
    """That the server lost messages is found out there too; it ended by an error, having no queue for a notice."""
    idle = RedisStore(await cluster.join("idle"), [], lambda message: message.address.chat)
    cluster.stack.push_async_callback(idle.close)
    await idle.use(Spool.open(tmp_path / "spool"))
    assert await idle.notify("state_loss", Outgoing(HERE, "some of it is lost")) is None
    store = await cluster.alone()
    notice = await store.notify("state_loss", Outgoing(HERE, "some of it is lost"))
    assert [row.id for row in await store.outbox.unfinished()] == [notice.id if notice else None]


@pytest.mark.parametrize("is_sure", [True, False])
async def test_the_server_is_told_again_of_a_send_whose_beginning_it_lost(
    redis: RedisServer, cluster: Cluster, tmp_path: Path, is_sure: bool
) -> None:
    """As a replica that took over just then: what was sent is not sent again, and what may have been is listed."""
    store = await spooled(cluster, tmp_path / "spool")
    row = await accepted(store, "1")
    (reply,) = await store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(HERE, "answer")]))
    await store.outbox.begin_part(reply.id, 0, datetime.now(UTC))
    await admin(redis, "HSET", f"{{{cluster.prefix}}}:reply:{reply.id}", "state", "queued")
    if is_sure:
        await store.outbox.part_sent(reply.id, 0, "7", is_last=True)
    else:
        await store.outbox.record_unsure(reply.id, 0, "no answer")
    assert (len(await store.outbox.unfinished()), len((await store.report()).unsure)) == (not is_sure, not is_sure)


async def test_a_gateway_with_another_name_goes_on_with_its_spool(cluster: Cluster, tmp_path: Path) -> None:
    """As a container has on each start: the server has lost nothing, and says so."""
    for name in "one", "two":
        store = await cluster.store(await cluster.join(name), "alice")
        await store.use(Spool.open(tmp_path / "spool"))
        await accepted(store, name)
        assert not (await store.report()).reasons


async def test_the_spool_lets_go_of_what_another_gateway_answered(cluster: Cluster, tmp_path: Path) -> None:
    """Nothing else tells the gateway that took it in; what still waits stays."""
    cluster.clock = clock = ManualClock(datetime.now(UTC))
    store, spool = await cluster.alone(), Spool.open(tmp_path / "spool")
    await store.use(spool)
    other = await cluster.store(await cluster.join("other"), "bob")
    first, second = await accepted(store, "1"), await accepted(store, "2")
    await other.commit_turn(TurnCommit(first.turn_id, [first.id], []))
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        trimming = tasks.create_task(store.trim_spool())
        await clock.waiters(1)
        clock.advance(TRIM_EVERY_S)
        await clock.waiters(1)
        assert [id_ for id_, _ in spool.kept()] == [second.id]
        trimming.cancel()


# --- outages


async def test_what_was_sent_to_a_server_that_stood_still_is_done_once(redis: RedisServer, cluster: Cluster) -> None:
    """It is sent again over new connections until the server answers; all the copies together count once."""
    store = await cluster.alone()
    await store.count("before")
    redis.signal(signal.SIGSTOP)
    counting = asyncio.ensure_future(store.count("during"))
    await asyncio.sleep(3.5)  # several times what a round trip may take
    assert not counting.done()
    redis.signal(signal.SIGCONT)
    await counting
    await store.count("after")
    assert (await store.report()).reasons == {"before": 1, "during": 1, "after": 1, STORE_TROUBLE: 1}


async def test_an_interruption_of_arrivals_is_logged_at_its_beginning_and_its_end(
    redis: RedisServer, cluster: Cluster
) -> None:
    """Not at each attempt; the pauses between these grow."""
    cluster.clock = clock = ManualClock()
    store = await cluster.alone()
    assert isinstance(store.inbox, Arrivals)
    row = await accepted(store)
    await asyncio.to_thread(redis.kill)
    with capture_logs() as logs:
        async with asyncio.timeout(PATIENCE_S), aclosing(store.inbox.arrivals()) as rows:
            first = asyncio.ensure_future(anext(rows))
            for pause_s in (0.2, 0.4, 0.8, 1.0, 1.0):
                await clock.waiters(1)
                assert clock.waits() == [pytest.approx(pause_s)]
                clock.advance(pause_s)
            await clock.waiters(1)
            await asyncio.to_thread(redis.start)
            clock.advance(1)
            assert (await first).id == row.id
            second = asyncio.ensure_future(anext(rows))
            await asyncio.to_thread(until, lambda: any(each["event"] == "arrivals are read again" for each in logs))
            second.cancel()
            await asyncio.wait([second])
    about = [each for each in logs if each["event"].startswith("arrivals")]
    assert [each["event"] for each in about] == ["arrivals interrupted", "arrivals are read again"]
    assert about[1]["attempts"] == 6


async def test_a_start_without_its_server_says_at_once_where_it_waits_and_how_to_mend_it(
    redis: RedisServer, cluster: Cluster
) -> None:
    """Once, with the seconds that it waits; it begins when the server is there, and ends with the remedy otherwise."""
    await asyncio.to_thread(redis.kill)
    remedy = "does not answer .*; start it, or correct redis.url in config.toml"
    with capture_logs() as logs:
        joining = asyncio.ensure_future(cluster.join("one"))
        await asyncio.to_thread(until, lambda: bool(logs))
        with pytest.raises(StoreError, match=remedy):
            await RedisLeases.join(cluster.server, "p", "another", 60, accept_loss=False, patience_s=0.3)
        await asyncio.to_thread(redis.start)
        await joining
    said = [(each["event"], each["seconds"], each["log_level"]) for each in logs]
    assert said == [("waiting for Redis", 30, "warning"), ("waiting for Redis", 0, "warning")]
    assert re.search(remedy, logs[0]["detail"])
    assert redis.url in logs[0]["detail"]


async def test_a_copy_that_comes_late_out_of_a_broken_connection_does_nothing(cluster: Cluster) -> None:
    """What belongs to an earlier batch than the latest was settled, or given up with its outcome known."""
    leases = await cluster.join("one")
    link, member = RedisLink(cluster.server, leases.member, "test"), leases.member
    cluster.stack.push_async_callback(link.close)
    for _ in range(2):
        await link.run("count", "told", 1)
    head = (member.prefix, member.name, member.fence, link.name)
    async with Redis.from_url(cluster.server.url) as client:
        with pytest.raises(ResponseError, match="STALE"):
            await client.eval(script(), 1, member.lease_key, *map(str, head), "1", "7", "count", "told", "1")
    assert (await link.run("report", 0))[5] == ["told", "2"]


async def test_messages_come_through_a_server_that_is_killed_and_started_again(
    redis: RedisServer, cluster: Cluster
) -> None:
    """Each is there once and in order; one that was refused meanwhile is not there."""
    store = await cluster.alone()
    kept: list[str] = []
    more, is_over = asyncio.Event(), False

    async def take_in() -> None:
        for number in itertools.count():
            if is_over:
                return
            try:
                await accepted(store, str(number))
            except StoreError:
                continue
            kept.append(str(number))
            more.set()

    async def has_kept(messages: int) -> None:
        while len(kept) < messages:
            more.clear()
            await more.wait()

    taking = asyncio.ensure_future(take_in())
    for messages in (100, 200, 300):
        await has_kept(messages)
        await asyncio.to_thread(redis.kill)  # the loop goes on meanwhile
        redis.start()
    await has_kept(400)
    is_over = True
    await taking
    assert [row.message.id for row in await store.inbox.waiting()] == kept


async def test_a_server_that_is_away_is_told_in_time_and_nothing_is_done(redis: RedisServer, cluster: Cluster) -> None:
    """An operation that could not be sent fails in a sentence; once the server is back, the next one works."""
    store = await cluster.alone()
    await store.count("before")
    await asyncio.to_thread(redis.kill)  # the loop runs meanwhile and sees the connection end
    with pytest.raises(StoreServerError, match=r"does not answer .*; nothing was stored"):
        await store.count("lost")
    redis.start()
    await store.count("after")
    assert (await store.report()).reasons == {"before": 1, "after": 1, STORE_TROUBLE: 1}


async def test_scripts_that_an_operator_threw_away_come_back(redis: RedisServer, cluster: Cluster) -> None:
    """`SCRIPT FLUSH` costs a round trip, not a message."""
    store = await cluster.alone()
    await admin(redis, "SCRIPT", "FLUSH")
    row = await accepted(store)
    assert await store.inbox.waiting() == [row]


# --- refusals


@pytest.mark.parametrize(
    ("option", "said"),
    [(["appendonly", "no"], "appendonly is no"), (["maxmemory-policy", "allkeys-lru"], "allkeys-lru")],
)
async def test_a_server_that_would_forget_is_refused(redis: RedisServer, option: list[str], said: str) -> None:
    """The two settings are named; whoever means it may say so."""
    await admin(redis, "CONFIG", "SET", *option)
    with pytest.raises(ConfigError, match=said) as refusal:
        await RedisLeases.join(RedisAddress(redis.url), "p", "a", 60, accept_loss=False)
    for setting in ("appendonly yes", "maxmemory-policy noeviction", "redis.accept_loss"):
        assert setting in str(refusal.value)
    leases = await RedisLeases.join(RedisAddress(redis.url), "p", "a", 60, accept_loss=True)
    await leases.leave()


TROUBLES = {
    "replica": (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE"), "is a replica, which accepts no writes"),
    "memory": (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0"), "out of memory"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_what_cannot_be_kept_is_not_accepted(redis: RedisServer, cluster: Cluster, trouble: str) -> None:
    """One clear sentence, at a start too, nothing stored, and it goes on once the server takes writes again."""
    breaking, mending, said = TROUBLES[trouble]
    store = await cluster.alone()
    await store.count("before")
    await admin(redis, *breaking)
    with pytest.raises(StoreServerError, match=said):
        await accepted(store)
    assert await store.inbox.waiting() == []
    with pytest.raises(StoreError, match=said):
        await RedisLeases.join(cluster.server, "p", "another", 60, accept_loss=False, patience_s=0.3)
    await admin(redis, *mending)
    row = await accepted(store)
    assert await store.inbox.waiting() == [row]


async def test_a_wrong_password_is_told_and_tried_again(redis: RedisServer, cluster: Cluster) -> None:
    """At start it ends in one line; of a running gateway each message is refused until the password is right."""
    store = await cluster.alone()
    async with Redis.from_url(redis.url) as client:
        await client.config_set("requirepass", "right")
        await client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")  # type: ignore[no-untyped-call]
        with pytest.raises(StoreServerError, match=r"rejects the password .*redis\.password_env"):
            await accepted(store)
        wrong = replace(cluster.server, password="wrong")
        with pytest.raises(StoreError, match="rejects the password"):
            await RedisLeases.join(wrong, "p", "a", 60, accept_loss=False, patience_s=0.3)
        await client.config_set("requirepass", "")
    await accepted(store, "3")


# --- leases


async def test_a_second_start_of_a_home_ends_what_the_first_could_write(cluster: Cluster) -> None:
    """Who joins under the same name has the home's lock: the earlier fence is worth nothing from then on."""
    first = await cluster.join("home")
    store = await cluster.store(first, "alice")
    row = await accepted(store)
    again = await cluster.join("home")
    successor = await cluster.store(again, "alice")
    for write in (
        accepted(store, "2"),
        store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(HERE, "late")])),
        store.notify("key", Outgoing(HERE, "late")),
        store.count("late"),
        store.put("late", "late"),
        first.claim(["agent:bob"]),
    ):
        with pytest.raises(LeaseLostError):
            await write
    assert await successor.inbox.waiting() == [row]
    assert await successor.outbox.unfinished() == []
    assert (await successor.report()).reasons == {}


async def test_an_agent_is_held_by_one_gateway_until_its_lease_ends(redis: RedisServer, cluster: Cluster) -> None:
    """Another may claim it when it was released, when the holder left, and when the holder's lease ran out."""
    one, two = await cluster.join("one"), await cluster.join("two")
    assert await one.claim(["agent:a", "agent:b"]) == ["agent:a", "agent:b"]
    assert await two.claim(["agent:a", "agent:b", "agent:c"]) == ["agent:c"]
    await one.release(["agent:b", "agent:c"])
    assert await two.claim(["agent:a", "agent:b"]) == ["agent:b"]
    assert len(await one.members()) == 2
    assert await one.claim(["agent:c"]) == []
    assert 0 < redis.tell("PTTL", two.member.lease_key) <= LEASE_S * 1000
    redis.tell("PEXPIRE", two.member.lease_key, 1)  # nobody has renewed it
    until(lambda: not redis.tell("EXISTS", two.member.lease_key))
    assert await one.claim(["agent:b", "agent:c"]) == ["agent:b", "agent:c"]
    assert len(await one.members()) == 1


async def test_a_lease_is_kept_while_it_is_renewed_and_its_loss_is_noticed(
    redis: RedisServer, cluster: Cluster
) -> None:
    """It outlives its own length; a server that stands still for longer than that ends it, seen from here too."""
    leases = await cluster.join("one", lease_s=5)
    keeping = asyncio.ensure_future(leases.keep())
    await asyncio.sleep(6)
    assert await leases.claim(["agent:a"]) == ["agent:a"]
    redis.signal(signal.SIGSTOP)
    await asyncio.wait_for(leases.lost.wait(), PATIENCE_S)
    await asyncio.sleep(1)  # the server counts from when it heard of it, a moment later
    redis.signal(signal.SIGCONT)
    await keeping
    with pytest.raises(LeaseLostError):
        await leases.claim(["agent:a"])


async def test_what_one_gateway_takes_in_for_anothers_agent_is_answered_there(cluster: Cluster) -> None:
    """A message goes to its agent's own queue, whoever received it; replies are sent by whoever has the agent."""
    one = await cluster.store(await cluster.join("one"), "alice")
    two = await cluster.store(await cluster.join("two"), "bob")
    row = await accepted(two)  # the chat of alice
    assert await two.inbox.waiting() == []
    assert await one.inbox.waiting() == [row]
    await one.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(HERE, "answer")]))
    assert await two.outbox.unfinished() == []
    assert len(await one.outbox.unfinished()) == 1
