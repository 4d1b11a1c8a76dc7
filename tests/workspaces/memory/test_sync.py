"""Synchronisation of an index with its files: by difference, embedding nothing twice, through any crash."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.fakes.memory import HandlerWorker, KilledError, WordsEmbedder, run_here
from workspaces.files import Folder
from workspaces.memory.index.engine import CandidateRequest
from workspaces.memory.index.hybrid import ALWAYS
from workspaces.memory.index.index import Index, layout
from workspaces.memory.sync import Sync
from workspaces.memory.text.sparse import query_vector
from workspaces.memory.workspace_source import WorkspaceNotes


class Bench:
    """A workspace, an index folder and a worker that can be killed and started again."""

    def __init__(self, home: Path) -> None:
        self.notes = home / "workspace"
        self.index = home / "index"
        self.notes.mkdir()
        self.embedder = WordsEmbedder()
        self.start()

    def start(self, embedder: WordsEmbedder | None = None) -> None:
        """Open everything as a new worker would; what the old one had not committed is lost."""
        self.embedder = embedder or WordsEmbedder()
        self.worker = HandlerWorker(self.embedder)
        source = WorkspaceNotes(Folder(self.notes), lambda: 2**62)
        self.sync = Sync(self.index, [source], self.worker, run_here)

    def kill(self) -> None:
        """End the worker without a flush or a commit, as far as a test within one process can."""
        for held in self.worker.handler._open.values():
            held.index.building.manifest.close()
            held.index._close_vectors()
            held.index.building.shard._shard = None  # type: ignore[attr-defined]  # drops the lock
        self.worker.handler._open.clear()

    def write(self, path: str, *lines: str) -> None:
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"- {line}\n" for line in lines))

    def kept(self) -> list[bytes]:
        """Return the hashes of all texts whose embedding is on the disk."""
        with closing(sqlite3.connect(self.index / "texts.db")) as db:
            return [text for (text,) in db.execute("SELECT hash FROM texts")]

    def held(self) -> Index:
        return self.worker.handler._index(str(self.index))

    def texts(self) -> list[str]:
        """Return every text that the engine holds and the manifest knows."""
        collection = self.held().building
        assert collection.shard.ids() == collection.manifest.points.keys()
        return sorted(entry.text for entry in collection.engine.entries(sorted(collection.shard.ids())).values())


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.worker.handler.close()


async def test_only_what_changed_is_embedded(bench: Bench) -> None:
    """A second sync does nothing; a new line costs one embedding; unchanged lines that move cost none."""
    bench.write("memory/2026-03-01.md", "red apple", "green pear")
    bench.write("MEMORY.md", "likes tea")
    first = await bench.sync.bring_up_to_date()
    assert (first.changed, first.stored, first.embedded) == (2, 3, 3)
    second = await bench.sync.bring_up_to_date()
    assert (second.changed, second.stored, second.embedded) == (0, 0, 0)
    bench.write("memory/2026-03-01.md", "a new first line", "red apple", "green pear")
    third = await bench.sync.bring_up_to_date()
    assert (third.changed, third.embedded) == (1, 1)
    assert bench.embedder.texts.count("red apple") == 1
    assert bench.texts() == ["a new first line", "green pear", "likes tea", "red apple"]


async def test_removed_lines_and_files_are_forgotten(bench: Bench) -> None:
    """What is no longer in a file is no longer in the engine."""
    bench.write("memory/2026-03-01.md", "red apple", "green pear")
    bench.write("memory/2026-03-02.md", "blue plum")
    await bench.sync.bring_up_to_date()
    bench.write("memory/2026-03-01.md", "green pear")
    (bench.notes / "memory/2026-03-02.md").unlink()
    report = await bench.sync.bring_up_to_date()
    assert report.removed == 1
    assert bench.texts() == ["green pear"]


async def test_lines_that_move_keep_true_numbers(bench: Bench) -> None:
    """An entry whose line number changed is stored anew even though its text and place among entries are the same."""
    file = bench.notes / "MEMORY.md"
    file.write_text("- likes tea\n")
    await bench.sync.bring_up_to_date()
    file.write_text("\n\n\n- likes tea\n")
    await bench.sync.bring_up_to_date()
    collection = bench.held().building
    request = CandidateRequest(None, query_vector("tea"), None, None, ALWAYS, 10)
    [found] = collection.engine.entries(collection.engine.find(request).tolist()).values()
    assert found.start_line == 4


async def test_a_touched_file_costs_no_work(bench: Bench) -> None:
    """Another time of change with the same text stores nothing."""
    bench.write("MEMORY.md", "likes tea")
    await bench.sync.bring_up_to_date()
    (bench.notes / "MEMORY.md").touch()
    report = await bench.sync.bring_up_to_date()
    assert (report.changed, report.stored, report.embedded) == (1, 0, 0)
    assert (await bench.sync.bring_up_to_date()).changed == 0


async def test_progress_counts_documents(bench: Bench) -> None:
    """Progress goes from nothing to all, one document at a time."""
    for day in range(1, 4):
        bench.write(f"memory/2026-03-0{day}.md", f"day {day}")
    seen: list[tuple[int, int]] = []
    await bench.sync.bring_up_to_date(lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


async def test_unreadable_notes_are_skipped_with_a_reason_and_read_once(bench: Bench) -> None:
    """A binary note does not stop the others, is named with its reason, and comes in when it is mended."""
    bench.write("MEMORY.md", "likes tea")
    (bench.notes / "memory").mkdir()
    (bench.notes / "memory/blob.md").write_bytes(b"\0\1")
    report = await bench.sync.bring_up_to_date()
    why = "it is binary: it holds NUL bytes; an earlier version may be text: strandline history log"
    assert report.skipped == {"memory/blob.md": why}
    assert bench.texts() == ["likes tea"]
    assert (await bench.sync.bring_up_to_date()).changed == 0
    bench.write("memory/blob.md", "mended")
    assert (await bench.sync.bring_up_to_date()).skipped == {}
    assert bench.texts() == ["likes tea", "mended"]


async def test_a_note_that_becomes_unreadable_is_forgotten(bench: Bench) -> None:
    """Old text of a file that is now binary is not found any more."""
    bench.write("MEMORY.md", "likes tea")
    await bench.sync.bring_up_to_date()
    (bench.notes / "MEMORY.md").write_bytes(b"\0")
    await bench.sync.bring_up_to_date()
    assert bench.texts() == []


@pytest.mark.parametrize("step", range(6))
async def test_a_death_in_the_middle_is_made_good(bench: Bench, step: int) -> None:
    """Wherever a sync is cut off, the next one ends with exactly what the files say, and embeds no text twice that
    had come back from the model."""
    bench.write("memory/2026-03-01.md", *(f"old {n}" for n in range(40)))
    await bench.sync.bring_up_to_date()
    bench.write("memory/2026-03-01.md", *(f"new {n}" for n in range(40)), "old 7")
    bench.write("memory/2026-03-02.md", "another")
    bench.worker.killed_after = step
    with suppress(KilledError):  # the last steps lie beyond the end
        await bench.sync.bring_up_to_date()
    bench.kill()
    kept = bench.kept()
    bench.start()
    await bench.sync.bring_up_to_date()
    assert bench.texts() == sorted([*(f"new {n}" for n in range(40)), "old 7", "another"])
    assert len(kept) >= 40
    assert len(bench.embedder.texts) == 81 - len(kept)


async def test_a_death_after_an_edit_and_its_undoing_leaves_no_trace(bench: Bench) -> None:
    """Points of a text that was there only while the worker died are thrown out, even when the file is as before."""
    bench.write("MEMORY.md", "likes tea")
    await bench.sync.bring_up_to_date()
    bench.write("MEMORY.md", "a secret slip")
    bench.worker.killed_after = 1
    with pytest.raises(KilledError):
        await bench.sync.bring_up_to_date()
    bench.kill()
    bench.write("MEMORY.md", "likes tea")
    bench.start()
    await bench.sync.bring_up_to_date()
    assert bench.texts() == ["likes tea"]


async def test_a_deleted_index_comes_back_from_the_files(bench: Bench) -> None:
    """The folder may go at any time, also while it is open."""
    bench.write("MEMORY.md", "likes tea", "likes bread")
    await bench.sync.bring_up_to_date()
    shutil.rmtree(bench.index)
    await bench.sync.bring_up_to_date()
    assert bench.texts() == ["likes bread", "likes tea"]


async def test_a_damaged_index_is_built_anew(bench: Bench) -> None:
    """A manifest that is no database, or a shard that cannot be loaded, is replaced; embeddings stay."""
    bench.write("MEMORY.md", "likes tea")
    await bench.sync.bring_up_to_date()
    bench.worker.handler.close()
    folder = bench.index / layout(bench.embedder)
    for file in folder.glob("manifest.db*"):
        file.write_bytes(b"this is no database, whatever its name says" * 100)
    bench.start()
    await bench.sync.bring_up_to_date()
    assert bench.texts() == ["likes tea"]
    assert bench.embedder.texts == []


async def test_another_embedder_builds_beside_and_swaps(bench: Bench) -> None:
    """The old collection answers by words until the new one holds every document; then it is removed."""
    bench.write("MEMORY.md", "likes tea")
    await bench.sync.bring_up_to_date()
    old = set(bench.held().building.manifest.points)
    bench.worker.handler.close()
    other = WordsEmbedder("other", 8)
    bench.start(other)
    index = bench.held()
    assert index.is_rebuilding
    assert index.answering is not index.building
    assert index.answering_embedder is None
    assert set(index.answering.manifest.points) == old
    await bench.sync.bring_up_to_date()
    assert index.answering is index.building
    assert index.answering_embedder is other
    assert bench.texts() == ["likes tea"]
    assert [folder.name for folder in bench.index.iterdir() if folder.is_dir()] == [layout(other)]


async def test_a_missing_embedder_leaves_the_vectors_for_its_return(bench: Bench) -> None:
    """Without a model words alone are indexed; the hybrid collection stays and catches up without embedding again."""
    bench.write("MEMORY.md", "likes tea")
    await bench.sync.bring_up_to_date()
    bench.worker.handler.close()
    bench.worker = HandlerWorker(None)
    bench.sync = Sync(bench.index, [WorkspaceNotes(Folder(bench.notes))], bench.worker, run_here)
    await bench.sync.bring_up_to_date()
    assert bench.held().answering_embedder is None
    bench.worker.handler.close()
    bench.start()
    await bench.sync.bring_up_to_date()
    assert bench.embedder.texts == []
    assert bench.held().answering_embedder is bench.embedder
