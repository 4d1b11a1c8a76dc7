"""What every store that gateways share promises about the copy of an agent's files that is the one."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import count

import pytest

from gateway.stores.pins import KnownAgent, Pin
from gateway.stores.ports import LeaseLostError
from gateway.stores.redis.leases import RedisLeases, adopt
from gateway.stores.redis.server import RedisAddress
from gateway.stores.redis.store import RedisStore
from strandline.testing.adapter import message
from tests.fakes.redis_server import KINDS, running
from tests.fakes.redis_several import cluster

PREFIXES = count()
FIRST, SECOND, OTHER = Pin("here", 1, "a1"), Pin("here", 2, "a2"), Pin("there", 1, "b1")
TWIN = Pin("here", 2, "c2")
"""As often claimed as SECOND, by somebody else."""


@pytest.fixture(params=[*KINDS, "cluster"], scope="module")
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    kind = "redis" if request.param == "cluster" else request.param
    with cluster(kind) if request.param == "cluster" else running(kind) as servers:
        yield servers.url


class Gateways:
    """Those that share one prefix of a server."""

    def __init__(self, url: str, stack: AsyncExitStack) -> None:
        self.url = url
        self.prefix = f"pins{next(PREFIXES)}"
        self._stack = stack

    async def join(self, name: str) -> RedisLeases:
        leases = await RedisLeases.join(RedisAddress(self.url), self.prefix, name, 60, accept_loss=False)
        self._stack.push_async_callback(leases.leave)
        return leases

    async def adopt(self, fresh: Pin) -> str:
        return await adopt(RedisAddress(self.url), self.prefix, "a", fresh)


@pytest.fixture
async def gateways(url: str) -> AsyncIterator[Gateways]:
    async with AsyncExitStack() as stack:
        yield Gateways(url, stack)


async def test_an_agent_is_taken_once_and_its_pin_is_known_to_all(gateways: Gateways) -> None:
    """Who takes it tells the pin; nobody else can take it while that gateway lives, whatever pin they name."""
    one, two = await gateways.join("one"), await gateways.join("two")
    assert await two.known(["a", "b"]) == {"a": KnownAgent(None, is_free=True), "b": KnownAgent(None, is_free=True)}
    assert await two.known([]) == {}
    assert await one.take("a", None, FIRST)
    assert (await one.known(["a"]))["a"] == KnownAgent(FIRST, is_free=True)
    assert (await two.known(["a"]))["a"] == KnownAgent(FIRST, is_free=False)
    assert [await two.take("a", had, SECOND) for had in (FIRST, None)] == [False, False]
    assert await one.take("a", FIRST, SECOND)
    assert (await two.known(["a"]))["a"].pin == SECOND
    assert not await one.take("a", TWIN, Pin("here", 3, "a3"))


async def test_a_pin_outlives_its_gateway_and_is_compared(gateways: Gateways) -> None:
    """The next one takes the agent by the pin that stands there, and by no other."""
    one, two = await gateways.join("one"), await gateways.join("two")
    assert await one.take("a", None, FIRST)
    await one.release(["agent:a"])
    assert (await two.known(["a"]))["a"] == KnownAgent(FIRST, is_free=True)
    assert [await two.take("a", had, SECOND) for had in (None, OTHER, SECOND)] == [False, False, False]
    assert (await two.known(["a"]))["a"] == KnownAgent(FIRST, is_free=True)
    assert await two.take("a", FIRST, SECOND)
    again = await gateways.join("one")
    with pytest.raises(LeaseLostError):
        await one.take("a", SECOND, Pin("here", 3, "a3"))
    assert not await again.take("a", SECOND, Pin("here", 3, "a3"))


async def test_a_pin_is_replaced_by_hand_only_while_nobody_has_the_agent(gateways: Gateways) -> None:
    """A gateway that lives is named; otherwise the new pin stands, also for an agent that nobody knew."""
    assert await gateways.adopt(OTHER) == ""
    one = await gateways.join("one")
    assert await one.take("a", OTHER, SECOND)
    assert await gateways.adopt(FIRST) == str(one.member)
    assert (await one.known(["a"]))["a"].pin == SECOND
    await one.leave()
    assert await gateways.adopt(FIRST) == ""
    two = await gateways.join("two")
    assert (await two.known(["a"]))["a"] == KnownAgent(FIRST, is_free=True)


async def test_more_agents_than_a_script_takes_arguments_are_looked_after(gateways: Gateways) -> None:
    """They are asked for, claimed, served and released in turns."""
    agents = [f"agent{number}" for number in range(9_000)]
    one, two = await gateways.join("one"), await gateways.join("two")
    assert len(await one.known(agents)) == 9_000
    names = [f"agent:{agent}" for agent in agents]
    assert await one.claim(names) == names
    store = RedisStore(one, agents, lambda message: message.address.chat)
    for agent in (agents[0], agents[-1]):
        await store.inbox.append(message("hello", chat=agent, id=agent))
    assert [row.message.id for row in await store.inbox.waiting()] == ["agent0", "agent8999"]
    assert (await store.outbox.unfinished(), await store.jobs.all()) == ([], [])
    await store.close()
    await one.release(names[:-1])
    assert await two.claim(names) == names[:-1]


async def test_gateways_know_of_each_others_volumes(gateways: Gateways) -> None:
    """Each tells where its agents' files are; one that left is not among them."""
    one, two = await gateways.join("one"), await gateways.join("two")
    await one.dwell("here")
    await two.dwell("there")
    assert await one.members() == ["here", "there"]
    await two.leave()
    assert await one.members() == ["here"]


def test_a_pin_reads_what_it_writes_and_nothing_else() -> None:
    """What a power cut or a hand left there is no pin."""
    assert Pin.read(f"{SECOND}\n") == SECOND
    assert [Pin.read(text) for text in ("", "here", "here 1", "here x a", " 1 a", "here -1 a", "here 1 a b")] == [
        None
    ] * 7
