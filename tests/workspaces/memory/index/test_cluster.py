"""The index on three real Qdrant nodes: two copies of each point, nodes that fail, and a shard that moves."""

import asyncio
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import httpx2
import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from gateway.app.memory_worker import SERVER_PATIENCE_S
from tests.fakes.memory import run_here
from tests.fakes.patience import PATIENCE_S
from tests.fakes.qdrant_server import Node, cluster, clustered
from tests.workspaces.memory.index.test_real_server import made_point
from tests.workspaces.turns import AGENT, MAIN
from workspaces.files import Folder
from workspaces.memory.client import MemoryUnavailableError, WorkerClient, WorkerSettings
from workspaces.memory.index.nodes import connected
from workspaces.memory.index.server import ServerShard
from workspaces.memory.index.settings import QdrantServer
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.memory.workspace_source import WorkspaceNotes

LONGEST_S = 1.5
"""The most that a search may take, whatever fails; on a machine that is not busy with other tests."""
TRIES = 12
"""Searches for a known note, and for a new one, while a node is away."""
WORDS = ["harbour", "bicycle", "candle", "violin", "tomato", "bridge", "parcel", "saddle", "garden", "engine"]


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[Node]]:
    with cluster() as nodes:
        yield nodes


class Agent:
    """An agent whose index is on *nodes*, asked through the real worker process as a gateway does."""

    def __init__(self, home: Path, worker: WorkerClient) -> None:
        self.notes = home / "agents" / AGENT / "workspace"
        self.notes.mkdir(parents=True)
        clock = MemoryClock(time.monotonic, lambda: date(2026, 3, 10))
        folder = home / "agents" / AGENT / "index"
        self.index = MemoryIndex(AGENT, folder, [WorkspaceNotes(Folder(self.notes))], worker, run_here, clock)
        self.written: list[str] = []
        self.by_words = 0
        self.notices: list[str] = []

    def write(self) -> str:
        """Add a note that holds one word of its own, and return that."""
        word = f"{WORDS[len(self.written) % len(WORDS)]}{len(self.written):04d}"
        self.written.append(word)
        path = self.notes / "memory" / f"2026-02-{len(self.written) % 28 + 1:02d}.md"
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"- the {word} was mended\n")
        self.index.touched()
        return word

    async def finds(self, word: str) -> None:
        """Search for *word*: it is found in time, by the index, or by words, which is said."""
        begun = time.monotonic()
        found = await self.index.search(Query(word), MAIN)
        took_s = time.monotonic() - begun
        assert took_s < LONGEST_S, (word, took_s)
        assert word in found.hits[0].snippet, (word, found)
        self.by_words += "in the files" in found.notice
        self.notices.append(found.notice)

    async def catches_up(self) -> None:
        """Wait until the index has everything again."""
        until = time.monotonic() + 2 * PATIENCE_S
        while True:
            try:
                await self.index.sync()
                return
            except MemoryUnavailableError:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.5)

    async def is_answered_by_the_index(self) -> None:
        """Wait until a search need not be answered by words any more."""
        until = time.monotonic() + PATIENCE_S
        while "in the files" in (await self.index.search(Query(self.written[0]), MAIN)).notice:
            assert time.monotonic() < until
            await asyncio.sleep(0.5)


def _texts(url: str, name: str) -> set[str]:
    """Return the texts that all copies have, once those of the node that came back are in step."""
    everywhere, deadline = models.ReadConsistencyType.ALL, time.monotonic() + 2 * PATIENCE_S
    with closing(QdrantClient(url=url, check_compatibility=False)) as client:
        while True:
            try:
                records, _ = client.scroll(name, limit=10_000, with_payload=["text"], consistency=everywhere)
                return {str((record.payload or {})["text"]) for record in records}
            except UnexpectedResponse:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)


def _killed(node: Node) -> Callable[[], None]:
    node.kill()
    return node.start


def _paused(node: Node) -> Callable[[], None]:
    node.signal(signal.SIGSTOP)
    return lambda: node.signal(signal.SIGCONT)


def _cut_off(node: Node) -> Callable[[], None]:
    node.cut_off()
    return node.mend


@pytest.mark.timeout(900)
@pytest.mark.parametrize("failing", [_killed, _paused, _cut_off])
async def test_no_note_is_lost_and_every_search_answers_while_a_node_is_away(
    nodes: list[Node], tmp_path: Path, failing: Callable[[Node], Callable[[], None]]
) -> None:
    """Each node fails in turn; notes are written and found meanwhile, and in the end all nodes hold the same."""
    settings = WorkerSettings(embedder="none", qdrant=replace(clustered(nodes), prefix=failing.__name__[1:]))
    async with WorkerClient(settings) as worker:
        agent = Agent(tmp_path, worker)
        for _ in range(60):
            agent.write()
        await agent.catches_up()
        agent.index.answers_within_s = SERVER_PATIENCE_S
        for node in nodes:
            comes_back = failing(node)
            for _ in range(TRIES):
                await agent.finds(random.choice(agent.written))
                await agent.finds(agent.write())
                await asyncio.sleep(0.25)
            comes_back()
            await agent.catches_up()
        await agent.is_answered_by_the_index()
        assert (await agent.index.status()).entries == len(agent.written)
        print(f"{failing.__name__}: {agent.by_words} of {2 * TRIES * len(nodes)} searches were answered by words")
    [name] = [each for each in _collections(nodes[0].url) if each.startswith(failing.__name__[1:])]
    wanted = {f"the {word} was mended" for word in agent.written}
    assert [_texts(node.url, name) for node in nodes] == [wanted] * 3


async def test_a_turns_own_note_is_found_right_after_it_was_written(nodes: list[Node]) -> None:
    """Whichever node took it, and whichever is asked: a write waits for both copies."""
    every = [connected(QdrantServer(node.url), "") for node in nodes]
    settings = clustered(nodes)
    shards = [ServerShard(each, "own-note", settings=settings).make(8) for each in every]
    chance = random.Random(5)
    for number in range(90):
        point = made_point(chance, number)
        shards[number % 3].upsert([point])
        for shard in shards:
            assert shard.entries([point.id]) == {point.id: point.entry}, number


async def test_searches_go_on_while_a_shard_moves(nodes: list[Node]) -> None:
    """Every answer is complete, before, meanwhile and afterwards."""
    nodes_ = connected(clustered(nodes), "")
    shard = ServerShard(nodes_, "moving", settings=clustered(nodes)).make(8)
    chance = random.Random(6)
    made = [made_point(chance, number) for number in range(400)]
    points = {point.id: point.entry for point in made}
    shard.upsert(made)
    url = f"{nodes[0].url}/collections/moving/cluster"
    state = httpx2.get(url).json()["result"]
    held: dict[int, set[int]] = {}
    for replica in state["local_shards"]:
        held.setdefault(replica["shard_id"], set()).add(state["peer_id"])
    for replica in state["remote_shards"]:
        held.setdefault(replica["shard_id"], set()).add(replica["peer_id"])
    peers = set().union(*held.values())
    moved, holders = next(iter(held.items()))
    [target] = peers - holders
    order = {"shard_id": moved, "from_peer_id": min(holders), "to_peer_id": target}
    assert httpx2.post(url, json={"move_shard": order}, timeout=30).status_code == 200
    until = time.monotonic() + PATIENCE_S
    while True:
        assert shard.entries(list(points)) == points
        state = httpx2.get(url).json()["result"]
        replicas = [*state["local_shards"], *state["remote_shards"]]
        places = {each.get("peer_id", state["peer_id"]) for each in replicas if each["shard_id"] == moved}
        if places == holders - {min(holders)} | {target} and not state["shard_transfers"]:
            break
        assert time.monotonic() < until, state
        await asyncio.sleep(0.05)
    assert shard.holds(list(points))


def _collections(url: str) -> list[str]:
    with closing(QdrantClient(url=url, check_compatibility=False)) as client:
        return [each.name for each in client.get_collections().collections]
