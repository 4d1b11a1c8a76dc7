"""What holds while another server comes to keep the store: a cluster moves our keys, a sentinel names a new primary."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest
from redis import RedisError
from redis.asyncio.sentinel import MasterNotFoundError
from structlog.testing import capture_logs

from gateway.errors import StoreError
from gateway.stores.redis.server import RedisAddress, describe_error
from gateway.stores.rows import Outgoing, TurnCommit
from tests.contracts.test_store import HERE, accepted
from tests.fakes.patience import PATIENCE_S
from tests.fakes.redis_server import RedisServer, free_port
from tests.fakes.redis_several import RedisCluster, Watched, cluster, until, watched
from tests.gateway.stores.redis.test_store import Cluster


@pytest.fixture(scope="module")
def slots(kind: str) -> Iterator[RedisCluster]:
    with cluster(kind) as nodes:
        yield nodes


@pytest.fixture
def sentinel(kind: str) -> Iterator[Watched]:
    with watched(kind) as three:
        yield three


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


def at(url: str, stack: AsyncExitStack, patience_s: float = 1) -> Cluster:
    """Return gateways to be, on the server at *url*, under a prefix of their own."""
    return Cluster(RedisAddress(url, timeout_s=2, patience_s=patience_s), stack)


class Telling(RedisAddress):
    """Says when a server had something against an operation."""

    def __init__(self, url: str, timeout_s: float, patience_s: float) -> None:
        super().__init__(url, timeout_s=timeout_s, patience_s=patience_s)
        self.refused = asyncio.Event()

    def heed(self, exc: RedisError | OSError) -> None:
        super().heed(exc)
        self.refused.set()


def elsewhere(slots: RedisCluster, prefix: str) -> RedisServer:
    """Return a node that does not keep the keys of *prefix*."""
    return next(node for node in slots.nodes if node.port != slots.owner(prefix).port)


async def test_a_gateway_starts_at_any_node_of_a_cluster(slots: RedisCluster, stack: AsyncExitStack) -> None:
    """The node that the settings name need not keep our keys: it says who does, and that is told in a line."""
    gateways = at("", stack)
    gateways.server.url = elsewhere(slots, gateways.prefix).url
    with capture_logs() as logs:
        store = await gateways.alone()
    row = await accepted(store)
    assert await store.inbox.waiting() == [row]
    (line,) = [log["detail"] for log in logs if log["event"] == "redis"]
    assert f"the cluster at {gateways.server.url} keeps our keys elsewhere" in line


@pytest.mark.parametrize("gone", [0, 1, 3, 5, 100])
async def test_while_our_keys_move_nothing_is_done_by_halves(
    slots: RedisCluster, stack: AsyncExitStack, gone: int
) -> None:
    """However many keys have gone, a message is refused as if it had never come, and taken in where they went."""
    gateways = at(slots.url, stack)
    store = await gateways.alone()
    answered, waiting = await accepted(store, "1"), await accepted(store, "2")
    await store.commit_turn(TurnCommit(answered.turn_id, [answered.id], [Outgoing(HERE, "an answer")]))
    before = await store.report(), await store.outbox.unfinished()
    target = elsewhere(slots, gateways.prefix)
    slots.begin_move(gateways.prefix, target, gone)
    with pytest.raises(StoreError, match="is moving our keys"):
        await accepted(store, "3")
    with pytest.raises(StoreError, match="is moving our keys"):
        await store.commit_turn(TurnCommit(waiting.turn_id, [waiting.id], [Outgoing(HERE, "another")]))
    slots.end_move(gateways.prefix, target)
    assert (await store.report(), await store.outbox.unfinished()) == before
    assert await store.inbox.waiting() == [waiting]
    third = await accepted(store, "3")
    assert await store.inbox.waiting() == [waiting, third]
    assert len(await store.commit_turn(TurnCommit(waiting.turn_id, [waiting.id], [Outgoing(HERE, "another")]))) == 1


async def test_a_short_move_costs_nothing_but_time(slots: RedisCluster, stack: AsyncExitStack) -> None:
    """What comes in meanwhile waits for the new place; arrivals go on there, in order."""
    gateways = at(slots.url, stack)
    gateways.server = server = Telling(slots.url, timeout_s=2, patience_s=PATIENCE_S)
    store = await gateways.alone()
    target = elsewhere(slots, gateways.prefix)
    slots.begin_move(gateways.prefix, target, 2)
    server.refused.clear()
    appending = asyncio.ensure_future(accepted(store, "1"))
    await server.refused.wait()
    assert not appending.done()
    await asyncio.to_thread(slots.end_move, gateways.prefix, target)
    assert await store.inbox.waiting() == [await appending]


async def test_closing_does_not_wait_for_a_move_to_end(slots: RedisCluster, stack: AsyncExitStack) -> None:
    """What waits is refused, with nothing done, and the gateway stops."""
    gateways = at(slots.url, stack)
    gateways.server = server = Telling(slots.url, timeout_s=2, patience_s=10 * PATIENCE_S)
    store = await gateways.alone()
    target = elsewhere(slots, gateways.prefix)
    slots.begin_move(gateways.prefix, target, 2)
    server.refused.clear()
    appending = asyncio.ensure_future(accepted(store, "1"))
    await server.refused.wait()
    async with asyncio.timeout(PATIENCE_S):
        await store.close()
    with pytest.raises(StoreError, match="is moving our keys"):
        await appending
    await asyncio.to_thread(slots.end_move, gateways.prefix, target)


async def test_a_node_that_is_gone_is_not_asked_for_ever(slots: RedisCluster, stack: AsyncExitStack) -> None:
    """Who was named once may have died since: the address of the settings is asked anew."""
    gateways = at(slots.url, stack)
    gateways.server.moved_to = "127.0.0.1", free_port()
    store = await gateways.alone()
    assert (await accepted(store)).message.id == "1"


_TOLD = re.compile(r"(does not answer|no sentinel .* knows a primary).*; nothing was stored$")


def refuses(server: RedisServer) -> bool:
    """Tell whether a server takes no writes: one that woke up learns within a second that its replica is gone."""
    try:
        server.tell("SET", "taken", 1)
    except RedisError as exc:
        return "NOREPLICAS" in str(exc)
    return False


async def test_a_primary_that_wakes_up_without_its_replica_is_left_for_its_heir(
    sentinel: Watched, stack: AsyncExitStack
) -> None:
    """With `min-replicas-to-write` it takes nothing that it would forget, and the sentinel knows who does."""
    asleep, heir = sentinel.primary, sentinel.replica
    store = await at(sentinel.url, stack, patience_s=PATIENCE_S).alone()
    await store.count("before")
    for name in ("to-write", "max-lag"):
        asleep.tell("CONFIG", "SET", f"min-replicas-{name}", 1)
    sentinel.settle()
    asleep.signal(signal.SIGSTOP)
    await asyncio.to_thread(until, lambda: sentinel.named is heir and heir.tell("ROLE")[0] == "master")
    asleep.signal(signal.SIGCONT)
    await asyncio.to_thread(until, lambda: refuses(asleep))
    await store.count("after")
    assert heir.tell("HGET", f"{store._leases.member.prefix}:ledger", "after") == "1"


async def test_messages_come_through_the_death_of_a_primary(sentinel: Watched, stack: AsyncExitStack) -> None:
    """The sentinel names the replica, which takes over; every message that was accepted is there, once and in order."""
    store = await at(sentinel.url, stack, patience_s=0.5).alone()
    kept: list[str] = []
    refused: list[str] = []
    dead = asyncio.Event()

    async def take_in() -> None:
        number = 0
        while not refused or len(kept) < 150:
            number += 1
            try:
                await accepted(store, str(number))
            except StoreError as exc:
                refused.append(str(exc))
            else:
                kept.append(str(number))
            if len(kept) == 100 and not dead.is_set():
                await asyncio.to_thread(sentinel.settle)  # replication has no promise of its own
                dead.set()
                await asyncio.to_thread(sentinel.primary.kill)

    await asyncio.wait_for(take_in(), PATIENCE_S)
    assert dead.is_set()
    assert all(_TOLD.search(each) for each in refused), refused
    assert [row.message.id for row in await store.inbox.waiting()] == kept


async def test_a_sentinel_that_knows_no_such_primary_is_told(sentinel: Watched) -> None:
    """Whatever is wrong with the name, the setting is named."""
    server = RedisAddress(sentinel.url.replace("/strandline/", "/other/"), timeout_s=10)
    with pytest.raises(MasterNotFoundError) as refusal:
        await server.connect()
    assert "check the name after the hosts in redis.url" in describe_error(refusal.value, server)
