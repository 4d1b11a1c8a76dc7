"""What lies between the gateway and its servers delays, cuts, resets, goes silent, or cuts an answer in its middle."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gateway.stores.redis.leases import RedisLeases
from gateway.stores.redis.server import RedisAddress
from gateway.stores.redis.store import RedisStore
from gateway.stores.rows import STORE_TROUBLE, Outgoing, TurnCommit
from tests.contracts.test_store import HERE, accepted
from tests.fakes.fault_proxy import FaultProxy, NetFault
from tests.fakes.patience import PATIENCE_S
from tests.fakes.qdrant_stub import QdrantStub
from tests.fakes.redis_server import KINDS, RedisServer, free_port
from tests.workspaces.memory.index.test_server import Home, StoreWorker
from workspaces.memory.index.server import connect
from workspaces.memory.index.settings import QdrantServer
from workspaces.memory.source_index import DEGRADED
from workspaces.memory.status import MemoryFaults

TIMES = 3
BREAKING = [fault for fault in NetFault if fault is not NetFault.DELAY]
ASKED_AGAIN = {NetFault.CUT, NetFault.RESET, NetFault.HALF}
"""What breaks off at once; a request that met silence has had its time."""


@contextmanager
def proxied(kind: str, folder: Path) -> Iterator[FaultProxy]:
    server = RedisServer(kind, folder, port=free_port())
    server.start()
    try:
        with FaultProxy(server.port, meets=b"EVALSHA") as proxy:
            yield proxy
    finally:
        server.kill()


@pytest.fixture(params=KINDS)
def before_redis(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FaultProxy]:
    with proxied(request.param, tmp_path) as proxy:
        yield proxy


@pytest.fixture
async def store(before_redis: FaultProxy) -> AsyncIterator[RedisStore]:
    server = RedisAddress(f"redis://127.0.0.1:{before_redis.port}/0", timeout_s=2, patience_s=PATIENCE_S)
    async with AsyncExitStack() as stack:
        leases = await RedisLeases.join(server, "p", "alone", 60, accept_loss=False)
        stack.push_async_callback(leases.leave)
        await leases.claim(["agent:alice"])
        store = RedisStore(leases, ["alice"], lambda message: message.address.chat)
        stack.push_async_callback(store.close)
        yield store


@pytest.mark.parametrize("fault", NetFault)
async def test_each_operation_is_done_once_whatever_happens_on_its_way(
    before_redis: FaultProxy, store: RedisStore, fault: NetFault
) -> None:
    """A message, a turn and a counter meet the fault; each is there once, and each outage is counted."""
    row = await accepted(store, "1")
    before_redis.inject(fault)
    second = await accepted(store, "2")
    before_redis.inject(fault)
    replies = await store.commit_turn(TurnCommit(row.turn_id, [row.id], [Outgoing(HERE, "an answer")]))
    before_redis.inject(fault)
    await store.count("told")
    assert before_redis.met == [fault] * TIMES
    assert await store.inbox.waiting() == [second]
    assert await store.outbox.unfinished() == replies
    outages = {STORE_TROUBLE: TIMES} if fault in BREAKING else {}
    assert (await store.report()).reasons == {"told": 1, **outages}


@pytest.mark.parametrize("fault", NetFault)
async def test_a_search_is_answered_whatever_happens_on_the_way_to_qdrant(tmp_path: Path, fault: NetFault) -> None:
    """The files answer by words, which is said and counted, as often as the index could not be asked.

    What broke off once is asked again, and costs nothing.
    """
    with QdrantStub() as stub, FaultProxy(urlsplit(stub.url).port or 0, meets=b"/points/query") as proxy:
        worker = StoreWorker(connect(QdrantServer(f"http://127.0.0.1:{proxy.port}", timeout_s=3)))
        home = Home(tmp_path, worker)
        counted: list[str] = []

        async def count(reason: str) -> None:
            counted.append(reason)

        home.index.faults = MemoryFaults(count, count, count)
        home.write("MEMORY.md", "- likes tea\n- hates rain\n")
        assert (await home.search("tea")).mode == "hybrid"
        if fault in ASKED_AGAIN:
            proxy.inject(fault)
            assert (await home.search("tea")).mode == "hybrid"
            assert (proxy.met, counted) == ([fault], [])
            proxy.met.clear()
        faults = [fault] * TIMES * (2 if fault in ASKED_AGAIN else 1)
        proxy.inject(*faults)
        found = [await home.search("tea") for _ in range(TIMES)]
        assert proxy.met == faults
        assert [result.hits[0].snippet for result in found] == ["likes tea"] * TIMES
        is_told = fault in BREAKING
        assert [("in the files" in result.notice) for result in found] == [is_told] * TIMES
        assert counted == ([DEGRADED] * TIMES if is_told else [])
        assert (await home.search("tea")).mode == "hybrid"
        worker.handler.close()
