"""Changes of the index's layout: a worse one is not taken into use, a good one is, and the owner decides otherwise."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from tests.fakes.memory import HandlerWorker, SetClock, WordsEmbedder, run_here
from tests.workspaces.turns import AGENT, MAIN
from workspaces.files import Folder
from workspaces.memory.index.embeddings import Embedder, Embedding, QueryEmbedding
from workspaces.memory.index.index import Layouts, layout, layout_start
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.status import MemoryFaults
from workspaces.memory.text.chunking import Chunking
from workspaces.memory.workspace_source import WorkspaceNotes

NAMES = ("Ida", "Noor", "Tomas", "Mirela", "Jonas", "Aiko", "Pavel", "Greta", "Samuel", "Lucia")
THINGS = ("bicycle", "kettle", "violin", "tent", "ladder", "printer", "canoe", "lamp", "saddle", "drill")


class Misleading(WordsEmbedder):
    """Takes every text for something else: a vector depends on the letters' order and on nothing that is meant."""

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return [self._embedding(text[::-1]) for text in texts]

    def embed_query(self, text: str) -> QueryEmbedding:
        query = super().embed_query("of the and")
        return structs.replace(query, tokens=np.ascontiguousarray(query.tokens[:1]), piece_ids=query.piece_ids[:1])


class House:
    """A home whose gateway can be started with another embedder or chunking."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "workspace/memory").mkdir(parents=True)
        for place, name in enumerate(NAMES):
            lines = (
                f"- {name} paid {place * 31 + n * 17 + 3} euros for the {thing}\n" for n, thing in enumerate(THINGS)
            )
            (home / f"workspace/memory/2026-03-{place + 1:02}.md").write_text("".join(lines))
        self.told: list[str] = []
        self.worker: HandlerWorker | None = None

    def start(self, embedder: Embedder | None, *former: Embedder, chunking: Chunking = Chunking.ENTRIES) -> MemoryIndex:
        self.close()
        self.worker = HandlerWorker(embedder)
        self.worker.handler.layouts = Layouts(chunking, lambda name: _named(name, former))

        async def hear(text: str) -> None:
            self.told.append(text)

        sources, clock = [WorkspaceNotes(Folder(self.home / "workspace"))], SetClock().clock()
        index = MemoryIndex(AGENT, self.home / "index", sources, self.worker, run_here, clock)
        index.faults = MemoryFaults(hear, hear, hear)
        return index

    def close(self) -> None:
        if self.worker:
            self.worker.handler.close()

    def layouts(self) -> set[str]:
        return {folder.name for folder in (self.home / "index").iterdir() if folder.is_dir()}


def _named(name: str, former: Sequence[Embedder]) -> Embedder | None:
    return next((each for each in former if name.startswith(layout_start(each))), None)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.close()


async def found(index: MemoryIndex, text: str) -> str:
    return (await index.search(Query(text, 1), MAIN)).hits[0].snippet


async def test_a_worse_embedder_is_not_taken_into_use(house: House) -> None:
    """The old one goes on, with new notes too and after a restart; status and owner are told why, once."""
    good, bad = WordsEmbedder("good"), Misleading("bad")
    await house.start(good).sync()
    index = house.start(bad, good)
    await index.sync()
    state = await index.status()
    assert state.embedder == "good"
    assert f"from {layout(good)} to {layout(bad)} is held back" in state.held
    assert house.layouts() == {layout(good)}
    assert house.told == ["memory_held", state.held]
    assert "strandline memory accept" in state.held
    (house.home / "workspace/memory/2026-03-20.md").write_text("- the heron nests by the mill\n")
    index = house.start(bad, good)
    await index.sync()
    assert await found(index, "heron") == "the heron nests by the mill"
    assert (await index.status()).embedder == "good"
    assert house.told == ["memory_held", state.held]


async def test_the_owner_may_accept_it_or_go_back(house: House) -> None:
    """Accepted, it is taken into use without another examination; going back to the old one forgets all."""
    good, bad = WordsEmbedder("good"), Misleading("bad")
    await house.start(good).sync()
    index = house.start(bad, good)
    await index.sync()
    await house.start(good).sync()
    assert (await house.start(good).status()).held == ""
    index = house.start(bad, good)
    await index.sync()
    assert await index.accept_change()
    state = await index.status()
    assert (state.embedder, state.held) == ("bad", "")
    assert house.layouts() == {layout(bad)}
    assert not await index.accept_change()


async def test_an_equal_one_is_taken_into_use(house: House) -> None:
    """Another embedder of the same quality, and other chunking, replace the old collection as before."""
    good, other = WordsEmbedder("good"), WordsEmbedder("other", 24)
    await house.start(good).sync()
    index = house.start(other, good)
    await index.sync()
    assert (await index.status()).embedder == "other"
    assert house.layouts() == {layout(other)}
    assert house.told == []


async def test_while_it_is_built_the_old_one_answers_with_its_own_embedder(house: House) -> None:
    """Where the former embedder can be loaded, a search goes by meaning all the time."""
    good, other = WordsEmbedder("good"), WordsEmbedder("other", 24)
    await house.start(good).sync()
    index = house.start(other, good)
    assert (await index.status()).mode == "hybrid"
    assert (await index.status()).rebuilding


async def test_the_old_chunking_goes_on_too(house: House) -> None:
    """A change of embedder and chunking that is held back leaves the notes cut as before."""
    good, bad = WordsEmbedder("good"), Misleading("bad")
    await house.start(good, chunking=Chunking.WINDOWS).sync()
    index = house.start(bad, good)
    await index.sync()
    state = await index.status()
    assert state.held
    assert (state.embedder, state.entries) == ("good", len(NAMES))
