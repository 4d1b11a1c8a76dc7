"""Which agents a gateway looks after, alone and among others on one Redis."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from gateway.app.channels import routes_of
from gateway.cluster.membership import Share, fair_share, open_share
from gateway.cluster.workspace_locks import workspace_locks
from gateway.config import Config
from gateway.errors import StoreError, WorkspaceLockedError
from gateway.home import Home
from gateway.runtime.clock import SystemClock
from gateway.stores.pins import Pin
from gateway.stores.ports import Arrivals, Store
from gateway.stores.redis.leases import START_PATIENCE_S
from gateway.stores.sqlite.store import SqliteStore
from strandline.testing.adapter import message
from tests.fakes.patience import PATIENCE_S
from tests.fakes.redis_server import USUAL, RedisServer, running
from workspaces.fault_points import unchecked


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with running(USUAL) as server:
        yield server


def config(redis: RedisServer | None, prefix: str = "", agents: str = "abc") -> Config:
    """Return a configuration with these agents; the first takes what no binding claims."""
    store = {"redis": {"url": redis.url, "prefix": prefix}} if redis else {}
    bindings = [{"agent": agent, "chat": agent} for agent in agents]
    return Config.model_validate({"agents": {agent: {} for agent in agents}, "bindings": bindings, **store})


class House:
    """Homes whose agents lie in one folder."""

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder = folder
        self.config = config
        self.stack = AsyncExitStack()
        (folder / "agents").mkdir()

    async def share(self, name: str, agents: str = "abc", *, alone: bool = True) -> Share:
        """Open what the gateway called *name*, which takes all that is free of *agents*, looks after."""
        home = Home(self.folder / name)
        home.path.mkdir()
        home.agents.symlink_to(self.folder / "agents")
        some = self.config.model_copy(update={"agents": {agent: self.config.agents[agent] for agent in agents}})
        return await self.stack.enter_async_context(open_share(home, some, {}, alone=alone))

    async def store(self, share: Share) -> Store:
        """Open the part of the store that belongs to *share*."""
        store = await share.open_store(routes_of(share.config), SystemClock(), unchecked)
        self.stack.push_async_callback(store.close)
        return store


@pytest.fixture
async def house(redis: RedisServer, tmp_path: Path) -> AsyncIterator[House]:
    house = House(tmp_path, config(redis, tmp_path.name.replace("_", "-").lower()[-40:]))
    async with house.stack:
        yield house


@pytest.mark.parametrize(("agents", "members", "share"), [(6, 3, 2), (7, 3, 3), (1, 3, 1), (5, 1, 5), (2, 0, 2)])
def test_agents_are_divided_evenly(agents: int, members: int, share: int) -> None:
    """No gateway takes more than its part, and together they can take all."""
    assert fair_share(agents, members) == share


async def test_without_redis_one_gateway_has_everything_in_its_home(tmp_path: Path) -> None:
    """The store is the home's file, and the share never ends."""
    home = Home(tmp_path)
    async with open_share(home, config(None), {}, alone=False) as share:
        store = await share.open_store(routes_of(share.config), SystemClock(), unchecked)
        await store.close()
        await share.watch()
        await share.may_listen("telegram", "home")
        assert (share.agents, share.over.is_set()) == (["a", "b", "c"], False)
        assert isinstance(store, SqliteStore)


async def test_a_share_is_part_of_the_configuration(house: House) -> None:
    """A gateway has what is free of its agents, up to its part; where none is free, it says so."""
    one = await house.share("one", "ab")
    assert list(one.mine.agents) == ["a", "b"]
    two = await house.share("two")
    assert list(two.mine.agents) == ["c"]
    assert await two.claim([two.volume] * 3) == []
    with pytest.raises(StoreError, match="run by another gateway"):
        await house.share("three")


async def test_a_gateway_without_an_agent_waits_for_one(house: House) -> None:
    """It looks after nothing and reads no queue, until its share changes."""
    one = await house.share("one")
    two = await house.share("two", alone=False)
    assert (two.is_standby, one.is_standby, dict(two.mine.agents)) == (True, False, {})
    store = await house.store(two)
    assert isinstance(store.inbox, Arrivals)
    assert [row async for row in store.inbox.arrivals()] == []
    assert one.leases is not None
    await one.leases.release([f"agent:{agent}" for agent in "abc"])
    one.locks.close()
    async with asyncio.timeout(PATIENCE_S):
        await two.watch()
    assert two.over.is_set()


async def test_an_agent_whose_folder_somebody_holds_is_left_alone(house: House) -> None:
    """A gateway that stood still has lost its claim, and may still write to the folder that it has locked."""
    first = await house.share("first")
    assert first.leases is not None
    await first.leases.release([f"agent:{agent}" for agent in "abc"])
    with pytest.raises(StoreError, match=r"agent a lies in .*, which is in use by"):
        await house.share("second")
    assert await first.leases.claim(["agent:a"]) == ["agent:a"]


async def test_an_agent_in_whose_workspace_another_home_works_is_told_of_and_taken_once_it_is_free(
    house: House,
) -> None:
    """The others are looked after meanwhile; with the claim comes the lock, and it goes with it."""
    workspace = house.folder / "agents" / "a" / "workspace"
    workspace.mkdir(parents=True)
    stranger = Home(house.folder / "stranger")
    with workspace_locks(stranger, {"theirs": workspace}, create=True):
        share = await house.share("one", alone=False)
        assert share.leases is not None
        assert (share.agents, share.told()) == (["b", "c"], ())  # it may be a gateway that claims it now
        assert not await share._has_changed(share.leases)
        (told,) = share.told()
        assert told.startswith("agent a has no gateway, and this one cannot take it: the workspace ")
        assert f"in use by process {os.getpid()} of the home {stranger.path}; stop that one first" in told
    assert await share._has_changed(share.leases)
    assert (share.agents, share.told()) == (["b", "c", "a"], ())
    with pytest.raises(WorkspaceLockedError, match="one"), workspace_locks(stranger, {"theirs": workspace}):
        pytest.fail("two work there")
    share.locks.close()
    with workspace_locks(stranger, {"theirs": workspace}):
        pass


async def first(count: int, store: Store) -> list[str]:
    """Return the ids of the first messages that arrive."""
    assert isinstance(store.inbox, Arrivals)
    found: list[str] = []
    async with aclosing(store.inbox.arrivals()) as rows:
        async for row in rows:
            found.append(row.message.id)
            if len(found) == count:
                break
    return found


async def test_what_any_gateway_takes_in_arrives_in_order_where_its_agent_is(house: House) -> None:
    """What waited comes first, then what comes; messages for others do not show."""
    one, two = await house.share("one", "ab"), await house.share("two", "abc")
    here, there = await house.store(one), await house.store(two)
    for number, (store, chat) in enumerate([(there, "a"), (here, "c"), (here, "b"), (there, "a")]):
        await store.inbox.append(message("hello", chat=chat, id=str(number)))
    assert sorted(await first(3, here)) == ["0", "2", "3"]
    assert [row.message.id for row in await there.inbox.waiting()] == ["1"]


async def test_a_message_follows_its_agent_when_the_bindings_change(house: House) -> None:
    """It was queued for one agent and is for another now: it moves there, and is not lost on the way."""
    share = await house.share("one")
    before = await house.store(share)
    await before.inbox.append(message("for b", chat="b", id="1"))
    await before.inbox.append(message("for c", chat="c", id="2"))
    share.config = share.config.model_copy(update={"bindings": share.config.bindings[:1]})  # a answers all the rest
    share.agents = ["b", "c"]
    moving = asyncio.ensure_future(first(1, await house.store(share)))
    share.agents = ["a"]
    assert sorted(await first(2, await house.store(share))) == ["1", "2"]
    moving.cancel()
    await asyncio.wait([moving])


def test_a_setting_that_leads_to_no_redis_is_refused() -> None:
    """The address is checked before anything is opened; a password does not belong in it."""
    for url in ("http://host", "redis://user:secret@host:6379/0", "nonsense"):
        with pytest.raises(ValueError, match=r"redis\n?.*url"):
            Config.model_validate({"redis": {"url": url}})


async def test_an_agent_taken_before_the_store_went_away_is_looked_after(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is claimed and its folder is locked: nobody else can have it, so the run ends and the next one has it."""
    one = await house.share("one")
    two = await house.share("two", alone=False)
    assert one.leases is not None
    assert two.leases is not None
    await one.leases.release(["agent:a", "agent:b"])
    one.locks.close()
    take, taken = two.leases.take, list[str]()

    async def once(agent: str, had: Pin | None, fresh: Pin) -> bool:
        if taken:
            raise StoreError("the server does not answer")
        taken.append(agent)
        return await take(agent, had, fresh)

    monkeypatch.setattr(two.leases, "take", once)
    assert await two._has_changed(two.leases)
    assert two.agents == taken == ["a"]


async def test_a_command_gives_up_soon_where_nothing_listens(tmp_path: Path) -> None:
    """Somebody looks at a terminal, while the start of a gateway waits for its store."""
    nowhere = Config.model_validate({"agents": {"a": {}}, "redis": {"url": f"unix://{tmp_path}/nobody"}})
    async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as stack:
        home = Home(tmp_path / "home")
        home.create()
        began = time.monotonic()
        with pytest.raises(StoreError, match="does not answer"):
            await stack.enter_async_context(open_share(home, nowhere, {}, alone=True))
        assert time.monotonic() - began < START_PATIENCE_S / 2
