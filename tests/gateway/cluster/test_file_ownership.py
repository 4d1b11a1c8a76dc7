"""An agent is looked after where its files are: gateways on one Redis whose homes share no folder."""

import shutil
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import product
from pathlib import Path
from threading import Barrier

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from gateway.cluster.file_ownership import (
    EARLIER_KEPT,
    ClaimMark,
    FolderState,
    inspect_folder,
    is_new,
    next_claim,
    objection,
    volume_of,
    write_mark,
)
from gateway.cluster.membership import AgentQuota, Share, open_share
from gateway.config import Config
from gateway.errors import StoreError
from gateway.home import Home
from gateway.stores.pins import KnownAgent, Pin
from gateway.stores.redis.leases import adopt
from tests.fakes.redis_server import USUAL, RedisServer, running

NOW, BEFORE, OTHER = Pin("here", 7, "c7"), Pin("here", 6, "c6"), Pin("there", 9, "d9")
MARK, MARK_BEFORE = ClaimMark(NOW, ("c6", "c5")), ClaimMark(BEFORE, ("c5",))


def free(pin: Pin | None) -> KnownAgent:
    """Return what the store knows of an agent that anybody may have."""
    return KnownAgent(pin, is_free=True)


@pytest.mark.parametrize(
    ("here", "known", "said"),
    [
        (FolderState(None, False), free(None), ""),
        (FolderState(None, True), free(None), ""),
        (FolderState(MARK, True), free(None), ""),
        (FolderState(MARK, True), free(NOW), ""),
        (FolderState(MARK, True), free(BEFORE), ""),
        (FolderState(MARK, True), free(Pin("here", 3, "forgotten")), ""),
        (FolderState(MARK, True), free(Pin("here", 7, "another")), "continued with another"),
        (FolderState(MARK, True), free(Pin("here", 6, "another")), "continued with another"),
        (FolderState(MARK, True), free(Pin("here", 5, "another")), "continued with another"),
        (FolderState(MARK_BEFORE, True), free(NOW), "an older copy"),
        (FolderState(None, True), free(NOW), "somewhere else"),
        (FolderState(ClaimMark(OTHER), True), free(NOW), "and others are here"),
        (FolderState(None, True, "a mark is damaged"), free(None), "a mark is damaged"),
    ],
)
def test_files_are_known_by_their_mark(here: FolderState, known: KnownAgent, said: str) -> None:
    """Those that the store tells of, or newer ones; where it tells of none, those that have a past, if it has one."""
    assert said in objection(here, known)
    assert bool(said) == bool(objection(here, known))


def test_each_claim_is_newer_and_has_a_number_of_its_own() -> None:
    """The identity stays, and the numbers before are remembered, up to so many; files without a mark get a new one."""
    claims = [next_claim(FolderState(MARK_BEFORE, True)) for _ in range(2)]
    assert {(mark.pin.identity, mark.pin.claims, mark.earlier) for mark in claims} == {("here", 7, ("c6", "c5"))}
    assert claims[0].pin.number != claims[1].pin.number
    mark = claims[0]
    for _ in range(100):
        mark = next_claim(FolderState(mark, True))
    assert (mark.pin.claims, len(mark.earlier)) == (107, EARLIER_KEPT)
    fresh = [next_claim(FolderState(None, True)) for _ in range(2)]
    assert fresh[0].pin.identity != fresh[1].pin.identity
    assert [is_new(FolderState(None, False), free(None)), is_new(FolderState(None, True), free(None))] == [True, False]


@pytest.mark.parametrize("mark", [MARK, MARK_BEFORE, ClaimMark(NOW)])
def test_a_mark_reads_what_it_writes(mark: ClaimMark) -> None:
    """What is no mark is none."""
    assert ClaimMark.read(f"{mark}\n") == mark
    assert [ClaimMark.read(text) for text in ("", "here", "here 7", "here x a", "here 7 a b")] == [None] * 5


@pytest.mark.parametrize(
    ("usable", "agents", "volumes", "part"),
    [
        (6, 6, ["v", "v", "v"], AgentQuota(2, 2)),
        (6, 6, ["v", "w"], AgentQuota(6, 3)),
        (4, 6, ["v", "v", "w"], AgentQuota(2, 2)),
        (0, 6, ["v", "w", "w"], AgentQuota(0, 0)),
        (1, 1, ["v"], AgentQuota(1, 1)),
    ],
)
def test_a_volumes_agents_are_divided_among_its_gateways(
    usable: int, agents: int, volumes: list[str], part: AgentQuota
) -> None:
    """Nobody else can have them; what is new is divided among all."""
    assert AgentQuota.of(usable, agents, "v", volumes) == part


def test_a_volume_has_one_name_for_all_and_a_copy_has_another(tmp_path: Path) -> None:
    """It is the same by a link, and the second time."""
    home, linked, copy = Home(tmp_path / "home"), Home(tmp_path / "linked"), Home(tmp_path / "copy")
    home.create()
    linked.path.mkdir()
    linked.agents.symlink_to(home.agents)
    assert volume_of(home) == volume_of(home) == volume_of(linked)
    shutil.copytree(home.path, copy.path)
    assert volume_of(copy) != volume_of(home)


def test_a_volume_keeps_its_name_when_rights_and_owners_are_set_anew(tmp_path: Path) -> None:
    """A cluster does so at each mount, and a backup by links as well: the file is given another time, and is the same.

    One that an earlier version left, or that a power cut left empty, is given its name by the first who looks.
    """
    home = Home(tmp_path)
    home.create()
    (home.agents / ".volume").touch()
    before = volume_of(home)
    changed = (home.agents / ".volume").stat().st_ctime_ns
    (home.agents / ".volume").chmod(0o660)
    (tmp_path / "backup").hardlink_to(home.agents / ".volume")
    assert (home.agents / ".volume").stat().st_ctime_ns > changed
    assert volume_of(home) == before


def test_gateways_that_start_at_once_agree_on_the_name(tmp_path: Path) -> None:
    """Whoever comes first gives it."""
    together = Barrier(4)

    def name(home: Home) -> str:
        together.wait(60)
        return volume_of(home)

    with ThreadPoolExecutor(4) as threads:
        for number in range(30):
            home = Home(tmp_path / str(number))
            home.create()
            assert len(set(threads.map(name, [home] * 4))) == 1


# --- gateways with homes of their own


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with running(USUAL) as server:
        yield server


class Homes:
    """Homes with agent folders of their own, and one configuration."""

    def __init__(self, folder: Path, redis: RedisServer, agents: str) -> None:
        self._folder = folder
        self.prefix = folder.name.replace("_", "-").lower()[-40:]
        self.config = Config.model_validate(
            {"agents": {agent: {} for agent in agents}, "redis": {"url": redis.url, "prefix": self.prefix}}
        )

    def home(self, name: str) -> Home:
        """Return the home called *name*."""
        home = Home(self._folder / name)
        home.create()
        return home

    @asynccontextmanager
    async def up(self, name: str, *, alone: bool = False) -> AsyncIterator[Share]:
        """Let a gateway of that home run while the block runs."""
        async with open_share(self.home(name), self.config, {}, alone=alone) as share:
            yield share

    def talk(self, name: str, agent: str) -> None:
        """Leave the trace of a conversation."""
        sessions = self.home(name).agent(agent).sessions
        sessions.mkdir(parents=True)
        (sessions / "somebody.jsonl").write_text("{}\n")


@pytest.fixture
def homes(redis: RedisServer, tmp_path: Path) -> Homes:
    return Homes(tmp_path, redis, "ab")


async def test_an_agent_is_not_taken_over_without_its_files(homes: Homes) -> None:
    """Once, in one line, it is said which agent, why and how to mend it; where the files are, all goes on."""
    async with homes.up("one") as one:
        assert one.agents == ["a", "b"]
    with capture_logs() as logs:
        async with homes.up("two") as two:
            assert (two.agents, two.is_standby) == ([], True)
            assert two.leases is not None
            assert await two.claim(await two.leases.members()) == []
            assert "agent a has no gateway" in two.told()[0]
            assert "strandline agents adopt b" in two.told()[1]
            assert len([log for log in logs if log["event"] == "files are not here"]) == 2
            async with homes.up("one") as again:
                assert again.agents == ["a", "b"]
                assert await two.claim(await two.leases.members()) == []
                assert two.told() == ()  # they have a gateway again


async def test_a_gateway_that_stands_by_notices_that_it_may_begin(homes: Homes) -> None:
    """Nobody came or went: an operator said that its files are the ones from now on."""
    async with homes.up("one"):
        pass
    async with homes.up("two") as two:
        assert two.leases is not None
        assert not await two._has_changed(two.leases)
        fresh = Pin("chosen", 1, "e1")
        assert await adopt(two.leases.server, homes.prefix, "a", fresh) == ""
        write_mark(two.home, "a", ClaimMark(fresh))
        assert await two._has_changed(two.leases)
        assert two.agents == ["a"]


async def test_a_command_without_a_gateway_says_so_too(homes: Homes) -> None:
    """It fails with the reason, not with a gateway that does not exist."""
    async with homes.up("one"):
        pass
    with pytest.raises(StoreError, match=r"its files are somewhere else.*agents adopt a"):
        async with homes.up("two", alone=True):
            pass


async def test_each_volume_keeps_its_agents_and_new_ones_are_divided(redis: RedisServer, tmp_path: Path) -> None:
    """A gateway that is alone on its volume has all agents of it, however many gateways there are elsewhere."""
    homes = Homes(tmp_path, redis, "abcdef")
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(homes.up("one"))
        two = await stack.enter_async_context(homes.up("two"))
        assert (one.agents, two.agents) == (list("abcdef"), [])
        assert one.leases is not None
        assert not await one._has_changed(one.leases)  # the other one changes nothing here
        assert two.told() == ()
    homes.config = homes.config.model_copy(
        update={"agents": {**homes.config.agents, **dict.fromkeys("xyz", homes.config.agents["a"])}}
    )
    async with homes.up("two") as two, homes.up("one") as one:
        assert (two.agents, one.agents) == (list("xyz"), list("abcdef"))


async def test_a_copy_takes_the_place_of_what_it_was_made_of(homes: Homes) -> None:
    """Whichever of the two works first is the one; the other is an older copy from then on."""
    async with homes.up("one"):
        pass
    shutil.copytree(homes.home("one").agents, homes.home("two").agents, dirs_exist_ok=True)
    async with homes.up("two") as two:
        assert two.agents == ["a", "b"]
    async with homes.up("one") as one:
        assert one.agents == []
        assert "an older copy of its files is here" in one.told()[0]
    async with homes.up("two") as two:
        assert two.agents == ["a", "b"]


@pytest.mark.parametrize("tries", [1, 3])
async def test_a_claim_that_came_to_nothing_does_not_make_a_copy_the_newer_one(homes: Homes, tries: int) -> None:
    """Of two equal copies one wrote its marks, and nobody knows what Redis made of its claims; the other one worked.

    As long as that one has not, nothing stands in the way of the first.
    """
    async with homes.up("one"):
        pass
    shutil.copytree(homes.home("one").agents, homes.home("two").agents, dirs_exist_ok=True)

    def claim_in_vain() -> None:
        for agent, _ in product("ab", range(tries)):
            write_mark(homes.home("one"), agent, next_claim(inspect_folder(homes.home("one").agent(agent))))

    claim_in_vain()
    async with homes.up("one") as one:
        assert (one.agents, one.told()) == (["a", "b"], ())
    shutil.copytree(homes.home("one").agents, homes.home("two").agents, dirs_exist_ok=True)
    claim_in_vain()
    async with homes.up("two") as two:
        assert two.agents == ["a", "b"]
    async with homes.up("one") as one:
        assert one.agents == []
        assert "it continued with another" in one.told()[0]


async def test_a_claim_that_fails_leaves_the_mark_as_it_was(homes: Homes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a copy whose gateway lost the race would look newer than the one that won it."""
    async with homes.up("one") as one:
        marks = {agent: homes.home("one").agent(agent).mark for agent in "ab"}
        before = {agent: mark.read_text() for agent, mark in marks.items()}
        assert one.leases is not None
        known = await one.leases.known(["a"])
        assert await one.leases.take("a", known["a"].pin, Pin("else", 1, "e1"))
        one.locks.close()
        assert not await one._took("a", known["a"])  # what it knew is over
        assert {agent: mark.read_text() for agent, mark in marks.items()} == before


async def test_a_mark_that_cannot_be_read_is_told(homes: Homes) -> None:
    """The other agents are looked after."""
    async with homes.up("one"):
        pass
    homes.home("one").agent("a").mark.write_text("nonsense")
    async with homes.up("one") as one:
        assert one.agents == ["b"]
        assert "mark is damaged" in one.told()[0]


async def test_a_redis_that_forgot_the_pins_gets_them_anew(homes: Homes) -> None:
    """From files that have a mark, and from an older state of its own."""
    async with homes.up("one"):
        pass
    async with homes.up("one"):
        pass
    async with Redis.from_url(str(homes.config.redis.url)) as client:
        await client.hdel(f"{{{homes.prefix}}}:pins", "a")
        mark = inspect_folder(homes.home("one").agent("b")).mark
        assert mark is not None
        first = Pin(mark.pin.identity, 1, mark.earlier[0])
        await client.hset(f"{{{homes.prefix}}}:pins", "b", str(first))
    async with homes.up("one") as one:
        assert (one.agents, one.told()) == (["a", "b"], ())
