"""Memory settings in the worker, and their effects."""

from datetime import date, timedelta
from pathlib import Path

from gateway.app.memory_worker import memory_worker
from gateway.config import Config
from tests.fakes.memory import TODAY, WordsEmbedder
from workspaces.access import PRIVATE
from workspaces.memory.client import WorkerSettings
from workspaces.memory.entry import Document
from workspaces.memory.index.embeddings.choose import Chosen
from workspaces.memory.index.engine import DayRange
from workspaces.memory.index.finder import Finder, SearchRequest
from workspaces.memory.index.index import Index, Layouts, layout
from workspaces.memory.index.request_handler import open_handler
from workspaces.memory.index.settings import Decay
from workspaces.memory.text.chunking import Chunking


def _take_in(index: Index, *documents: Document) -> None:
    for document in documents:
        for _ in index.building.put(document, document.digest):
            pass
    index.commit(complete=True)


def _note(day: date, text: str) -> Document:
    return Document(f"memory/{day}.md", PRIVATE, text, day, f"{day} {text}")


def test_what_the_configuration_says_is_what_the_worker_does() -> None:
    """Cut and decay go through the first frame; nothing said is the measured default."""
    config = Config.model_validate(
        {
            "memory": {
                "chunking": "windows",
                "decay_floor": 0,
                "decay_half_life_days": 7,
                "embeddings": {"provider": "none"},
            }
        }
    )
    nothing = Chosen(None)
    handler = open_handler(memory_worker(config, {}).init, nothing)
    assert (handler.layouts.chunking, handler.ordering.decay) == (Chunking.WINDOWS, Decay(0, 7))
    quiet = open_handler(WorkerSettings(embedder="none").init, nothing)
    assert (quiet.layouts.chunking, quiet.ordering.decay) == (Chunking.ENTRIES, Decay())
    assert memory_worker(Config(), {}).decay == Decay()


def test_windows_are_built_beside_entries(tmp_path: Path) -> None:
    """Another cut is another collection: the entries answer until all windows are there, then they go."""
    lines = "".join(f"- line {number} about apples\n" for number in range(5))
    embedder = WordsEmbedder()
    index = Index(tmp_path, embedder)
    _take_in(index, _note(TODAY, lines))
    assert len(index.answering.manifest.points) == 5
    index.close()
    index = Index(tmp_path, embedder, layouts=Layouts(Chunking.WINDOWS))
    assert (len(index.answering.manifest.points), index.is_rebuilding) == (5, True)
    _take_in(index, _note(TODAY, lines))
    assert (len(index.answering.manifest.points), index.is_rebuilding) == (1, False)
    index.close()
    assert [folder.name for folder in tmp_path.iterdir() if folder.is_dir()] == [layout(embedder, Chunking.WINDOWS)]


def test_decay_may_be_without_bounds(tmp_path: Path) -> None:
    """By default an old note that says more comes first; with the unbounded form the one of today does."""
    index = Index(tmp_path, None)
    old = _note(TODAY - timedelta(365), "- the red bicycle is in the shed\n")
    _take_in(index, old, _note(TODAY, "- a bicycle passed by, and a cat, and many other things that I forgot\n"))
    finder = Finder(index.answering.engine, index.answering.manifest, None)

    def first(decay: Decay) -> str:
        asked = SearchRequest("red bicycle shed", None, DayRange(None, None), 1, None, TODAY, decay)
        return finder.find(asked)[0].entry.path

    assert first(Decay()) == old.path
    assert first(Decay(floor=0.0)) == f"memory/{TODAY}.md"
    index.close()
