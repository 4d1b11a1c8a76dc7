"""The real worker process: it answers between steps, dies without loss, ends with its parent."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.memory import TODAY, SetClock, run_here
from tests.fakes.notes import IndexedNotes
from tests.fakes.patience import PATIENCE_S
from tests.workspaces.turns import AGENT, MAIN
from tests.zygote import FORKED
from workspaces.access import PRIVATE
from workspaces.files import Folder
from workspaces.memory.circuit_breaker import PAUSES
from workspaces.memory.client import MemoryUnavailableError, WorkerClient, WorkerDiedError, WorkerSettings
from workspaces.memory.entry import Document
from workspaces.memory.index.index import STORE
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import ALIVE_WITHIN_S, DEGRADED, MemoryClock
from workspaces.memory.status import CRASHED, MemoryFaults
from workspaces.memory.sync import DEADLY, Sync
from workspaces.memory.wire import Frame, document_out
from workspaces.memory.workspace_source import WorkspaceNotes

KEYWORDS = WorkerSettings(embedder="none")


@pytest.fixture
async def worker() -> AsyncIterator[WorkerClient]:
    async with WorkerClient(KEYWORDS) as worker:
        yield worker


def _put(path: str, text: str, stamp: str = "1") -> Frame:
    return {"document": document_out(Document(path, PRIVATE, text, None, f"{path} {stamp}")), "stamp": stamp}


def _search(text: str) -> Frame:
    asked: dict[str, Any] = {"text": text, "scopes": None, "since": None, "until": None}
    return asked | {"stays": False, "limit": 6, "min_score": None, "today": TODAY.isoformat()}


async def _texts(worker: WorkerClient, folder: Path, text: str) -> list[str]:
    return [hit["text"] for hit in (await worker.call("search", folder, _search(text)))["hits"]]


async def test_notes_are_found_through_the_process(tmp_path: Path) -> None:
    """The whole way with the shipped model: files, pipe, engine, and back, found by meaning."""
    async with WorkerClient(WorkerSettings()) as worker:
        home = IndexedNotes(tmp_path, worker)
        home.note("memory/2026-03-01.md", "09:10 the vet gave the dog a vaccine", "10:00 paid the gas bill")
        await home.index.sync()
        result = await home.search("when did our puppy see the doctor?")
    assert result.mode == "hybrid"
    assert result.hits[0].citation == "memory/2026-03-01.md#L1-L1"


async def test_a_worker_that_was_woken_runs_once_it_has_answered(worker: WorkerClient, tmp_path: Path) -> None:
    """It loads while nobody waits; who asks meanwhile waits as for one that starts, and starts no other."""
    await worker.wake()
    assert (worker.starts, worker.is_running) == (1, False)
    await worker.call("ping", tmp_path, {})
    await worker.wake()
    assert (worker.starts, worker.is_running) == (1, True)


async def test_a_worker_that_is_woken_ahead_of_a_search_rehearses_it(worker: WorkerClient, tmp_path: Path) -> None:
    """It opens the index, and says so to nobody; one that runs already is left alone."""
    await worker.wake(tmp_path)
    await worker.call("ping", tmp_path, {})  # in its turn
    assert (tmp_path / STORE).exists()
    await worker.wake(tmp_path / "other")
    await worker.call("ping", tmp_path, {})
    assert not (tmp_path / "other").exists()
    assert worker.starts == 1


async def test_a_search_overtakes_a_long_indexing(worker: WorkerClient, tmp_path: Path) -> None:
    """A search that comes after a large document is answered before it is indexed."""
    lines = "".join(f"- line {number} about gardens\n" for number in range(3000))
    await worker.call("put", tmp_path, _put("MEMORY.md", "likes tea"))
    async with asyncio.TaskGroup() as group:
        indexing = group.create_task(worker.call("put", tmp_path, _put("memory/a.md", lines)))
        await asyncio.sleep(0)  # lets the request be written first
        assert await _texts(worker, tmp_path, "tea") == ["likes tea"]
        assert not indexing.done()
    assert indexing.result()["stored"] == 3000


async def test_a_killed_worker_is_replaced_and_the_request_repeated(worker: WorkerClient, tmp_path: Path) -> None:
    """kill -9 in the middle of a request costs time, not the request, and nothing that was committed."""
    await worker.call("put", tmp_path, _put("MEMORY.md", "likes tea"))
    await worker.call("commit", tmp_path, {"complete": True})
    lines = "".join(f"- line {number} about gardens\n" for number in range(2000))
    async with asyncio.TaskGroup() as group:
        indexing = group.create_task(worker.call("put", tmp_path, _put("memory/a.md", lines)))
        await worker.call("stamps", tmp_path, {})
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
    assert indexing.result()["stored"] == 2000
    assert worker.starts == 2
    assert await _texts(worker, tmp_path, "tea") == ["likes tea"]


async def test_an_index_without_a_folder_is_a_sentence(
    worker: WorkerClient, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As without permission: file and remedy, and no traceback in the log."""
    in_the_way = tmp_path / "index"
    in_the_way.write_text("")
    for _ in range(2):
        with pytest.raises(MemoryUnavailableError, match=r"index cannot be used .*; check the path, its owner"):
            await worker.call("stamps", in_the_way, {})
    assert "Traceback" not in capfd.readouterr().err


async def test_a_request_that_fails_leaves_the_worker_alive(worker: WorkerClient, tmp_path: Path) -> None:
    """A broken request gets a reason; the next one is served by the same process."""
    with pytest.raises(MemoryUnavailableError, match="KeyError"):
        await worker.call("no such thing", tmp_path, {})
    with pytest.raises(MemoryUnavailableError, match="KeyError"):
        await worker.call("put", tmp_path, {"stamp": "1"})
    assert (await worker.call("stamps", tmp_path, {}))["stamps"] == {}
    assert worker.starts == 1


async def test_a_worker_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    """Past the deadline the caller gets an error; the worker may recover and then serves again."""
    async with WorkerClient(WorkerSettings(embedder="none", deadline_s=0.2)) as worker:
        await worker.call("stamps", tmp_path, {})  # it has begun
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGSTOP)
        try:
            with pytest.raises(MemoryUnavailableError, match=r"within 0\.2 seconds"):
                await worker.call("stamps", tmp_path, {})
        finally:
            os.kill(worker.pid, signal.SIGCONT)
        assert worker.starts == 1


@dataclass(frozen=True, slots=True)
class Slow(WorkerSettings):
    """A worker that is not there for some seconds."""

    sleeps_s: float = 2.0

    @property
    def command(self) -> tuple[str, ...]:
        begin = "runpy.run_module('workspaces.memory.index.worker', run_name='__main__')"
        return (sys.executable, "-c", f"{FORKED}import runpy, time; time.sleep({self.sleeps_s}); {begin}")


async def test_a_start_may_take_longer_than_an_answer(tmp_path: Path) -> None:
    """On a small machine, or a busy one; one that never comes is given up all the same."""
    async with WorkerClient(Slow(embedder="none", deadline_s=0.5)) as worker:
        assert (await worker.call("stamps", tmp_path, {}))["stamps"] == {}
        assert worker.starts == 1
    async with WorkerClient(Slow(embedder="none", start_s=0.2)) as worker:
        with pytest.raises(MemoryUnavailableError, match=r"within 0\.2 seconds"):
            await worker.call("stamps", tmp_path, {})


async def test_a_worker_that_cannot_start_says_so(tmp_path: Path) -> None:
    """Without an interpreter there is no memory, and the error says why."""

    class Missing(WorkerSettings):
        __slots__ = ()

        @property
        def command(self) -> tuple[str, ...]:
            return (str(tmp_path / "no-python"),)

    async with WorkerClient(Missing()) as worker:
        with pytest.raises(MemoryUnavailableError, match="cannot be started"):
            await worker.call("stamps", tmp_path, {})


async def test_closing_keeps_what_was_committed(tmp_path: Path) -> None:
    """A worker that is closed ends by itself, and the next one finds the same."""
    for expected in ({}, {"MEMORY.md": "1"}):
        async with WorkerClient(KEYWORDS) as worker:
            assert (await worker.call("stamps", tmp_path, {}))["stamps"] == expected
            await worker.call("put", tmp_path, _put("MEMORY.md", "likes tea"))
            await worker.call("commit", tmp_path, {"complete": True})
            pid = worker.pid
        assert pid is not None
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


BRIEF_S = 0.3


class Brief(WorkerSettings):
    """A worker that ends after a third of a second without a request."""

    @property
    def command(self) -> Sequence[str]:
        program = f"""
            from workspaces.memory.index import request_handler, worker
            request_handler.CLOSE_AFTER_S = worker.CLOSE_AFTER_S = {BRIEF_S}
            worker.main()
            """
        return sys.executable, "-c", FORKED + textwrap.dedent(program)


async def test_a_worker_that_nobody_asks_ends_and_comes_back(tmp_path: Path) -> None:
    """Nothing is lost, and who asks later only waits for the start; the end is no crash."""
    notes = tmp_path / "workspace"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("- likes tea\n")
    async with WorkerClient(Brief(embedder="none")) as worker:
        source, clock = WorkspaceNotes(Folder(notes)), MemoryClock(time.monotonic, lambda: TODAY)
        index = MemoryIndex(AGENT, tmp_path / "index", [source], worker, run_here, clock)
        for number in range(3):
            assert [hit.snippet for hit in (await index.search(Query("tea"), MAIN)).hits] == ["likes tea"]
            assert (worker.starts, index.is_open) == (number + 1, True)
            async with asyncio.timeout(PATIENCE_S):
                while worker.is_running:  # noqa: ASYNC110 — the end of a process
                    await asyncio.sleep(0.01)
            assert not index.is_open
        recalled = await index.search(Query("tea"), MAIN, is_patient=False)
        assert [hit.snippet for hit in recalled.hits] == ["likes tea"]


async def test_a_request_that_comes_while_the_worker_ends_is_answered(tmp_path: Path) -> None:
    """Whenever it comes: the next worker gets it."""
    async with WorkerClient(Brief(embedder="none")) as worker:
        await worker.call("put", tmp_path, _put("MEMORY.md", "likes tea"))
        await worker.call("commit", tmp_path, {"complete": True})
        for number in range(12):
            await asyncio.sleep(BRIEF_S + 0.005 * number)
            assert await _texts(worker, tmp_path, "tea") == ["likes tea"]
        assert worker.starts > 1


class Small(WorkerSettings):
    """A worker that has room for two indexes."""

    @property
    def command(self) -> Sequence[str]:
        program = """
            from workspaces.memory.index import request_handler, worker
            request_handler.MOST_OPEN = 2
            worker.main()
            """
        return sys.executable, "-c", FORKED + textwrap.dedent(program)


def _is_held(pid: int, folder: Path) -> bool:
    """Tell whether the process has a file of *folder* open or mapped."""
    return f"{folder}/" in Path(f"/proc/{pid}/maps").read_text() or any(
        str(each.readlink()).startswith(f"{folder}/") for each in Path(f"/proc/{pid}/fd").iterdir()
    )


@pytest.mark.skipif(sys.platform != "linux", reason="open files are listed on Linux alone")
async def test_indexes_that_were_unused_for_longest_make_way(tmp_path: Path) -> None:
    """But not one with changes that are not durable yet: all of them are found later."""
    folders = [tmp_path / f"index{number}" for number in range(5)]
    async with WorkerClient(Small(embedder="none")) as worker:
        for folder in folders:
            await worker.call("put", folder, _put("MEMORY.md", f"likes {folder.name}"))
        assert worker.pid is not None
        assert all(_is_held(worker.pid, folder) for folder in folders)
        for folder in folders:
            await worker.call("commit", folder, {"complete": True})
        for _ in range(2):  # what is too much goes before the next request
            await worker.call("stamps", folders[0], {})
        assert [_is_held(worker.pid, folder) for folder in folders] == [True, False, False, False, True]
        for folder in folders:
            assert await _texts(worker, folder, folder.name) == [f"likes {folder.name}"]


async def test_a_worker_at_work_does_not_end(tmp_path: Path) -> None:
    """However long a document takes."""
    lines = "".join(f"- line {number} about gardens\n" for number in range(3_000))
    async with WorkerClient(Brief(embedder="none")) as worker:
        assert (await worker.call("put", tmp_path, _put("MEMORY.md", lines)))["stored"] == 3_000
        assert worker.starts == 1


class Fragile(WorkerSettings):
    """A worker that dies on documents with a certain word."""

    @property
    def command(self) -> Sequence[str]:
        program = """
            import os, signal
            from workspaces.memory.index import request_handler, worker
            put = request_handler.RequestHandler.put

            def dies(self, request):
                if "deadly" in str(request["document"]):
                    os.kill(os.getpid(), signal.SIGBUS if "full disk" in str(request["document"]) else signal.SIGKILL)
                return put(self, request)

            request_handler.RequestHandler.put = dies
            worker.main()
            """
        return sys.executable, "-c", FORKED + textwrap.dedent(program)


async def test_a_file_that_kills_the_worker_is_left_out(tmp_path: Path) -> None:
    """The other files are found, the one is named with the way back, and retried on the owner's word or a change."""
    notes = tmp_path / "workspace"
    (notes / "memory").mkdir(parents=True)
    for day in range(1, 6):
        (notes / f"memory/2026-03-0{day}.md").write_text(f"- tea of day {day}\n")
    poison = notes / "memory/2026-03-03.md"
    poison.write_text("- a deadly note\n")
    async with WorkerClient(Fragile(embedder="none")) as worker:
        sync = Sync(tmp_path / "index", [WorkspaceNotes(Folder(notes), lambda: 2**62)], worker, run_here)
        report = await sync.bring_up_to_date()
        assert dict(report.skipped) == {"memory/2026-03-03.md": DEADLY}
        stamps = (await worker.call("stamps", tmp_path / "index", {}))["stamps"]
        assert sorted(stamps) == [f"memory/2026-03-0{day}.md" for day in (1, 2, 4, 5)]
        starts = worker.starts
        await sync.bring_up_to_date()
        assert worker.starts == starts
        sync.retry_skipped()
        await sync.bring_up_to_date()
        assert worker.starts > starts
        poison.write_text("- a harmless note\n")
        assert dict((await sync.bring_up_to_date()).skipped) == {}


@pytest.mark.parametrize(
    ("note", "why"), [("a deadly note", "killed, perhaps by"), ("a deadly note on a full disk", "the index is full")]
)
async def test_a_worker_that_dies_on_everything_is_not_the_files_fault(tmp_path: Path, note: str, why: str) -> None:
    """A broken installation or a full disk is told as such after a few files, and no file is left out for it."""
    notes = tmp_path / "workspace"
    (notes / "memory").mkdir(parents=True)
    for day in range(1, 9):
        (notes / f"memory/2026-03-0{day}.md").write_text(f"- {note}\n")
    async with WorkerClient(Fragile(embedder="none")) as worker:
        sync = Sync(tmp_path / "index", [WorkspaceNotes(Folder(notes), lambda: 2**62)], worker, run_here)
        with pytest.raises(WorkerDiedError, match=why):
            await sync.bring_up_to_date()
        assert worker.starts <= 12
        assert sync.skipped == {}


def test_the_worker_ends_with_its_parent(tmp_path: Path) -> None:
    """However the gateway ends, its worker does not stay behind: its stdin ends."""
    parent = textwrap.dedent(
        f"""
        import asyncio, os, pathlib, signal
        from workspaces.memory.client import WorkerClient, WorkerSettings

        async def main():
            worker = WorkerClient(WorkerSettings(embedder="none"))
            await worker.call("stamps", pathlib.Path({str(tmp_path)!r}), {{}})
            print(worker.pid, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
        """
    )
    # The worker inherits stderr, so `run` returns when the worker has ended too.
    done = subprocess.run(
        [sys.executable, "-c", parent], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert int(done.stdout) > 0


def test_the_worker_starts_without_what_only_providers_and_new_notes_need() -> None:
    """With the local model the first search waits for no HTTP client and no Markdown parser."""
    program = textwrap.dedent(
        """
        import sys
        from workspaces.memory.client import WorkerSettings
        from workspaces.memory.index.embeddings.choose import configured_embedder
        from workspaces.memory.index.loop import Loop
        from workspaces.memory.index.request_handler import open_handler

        init = WorkerSettings().init
        open_handler(init, configured_embedder(init))
        print({"httpx2", "importlib.metadata", "markdown_it", "numpy.ma"} & set(sys.modules))
        """
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "set()"


def test_the_gateways_side_is_light() -> None:
    """Neither numpy nor the engine nor the model's runtime is loaded in the gateway."""
    heavy = "numpy", "qdrant_edge", "qdrant_client", "onnxruntime", "tokenizers"
    script = textwrap.dedent(
        f"""
        import sys
        import gateway.agent.tools.memory, workspaces.memory.client, workspaces.memory.workspace_source
        print([name for name in {heavy} if name in sys.modules])
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("has_changed", [False, True])
async def test_a_worker_that_hangs_costs_a_search_two_seconds_once(
    tmp_path: Path, has_changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files answer by words, say so and are counted; the next search does not wait; later the index is back."""
    (tmp_path / "workspace").mkdir()
    note, clock, counted = tmp_path / "workspace" / "MEMORY.md", SetClock(), []
    note.write_text("- likes tea\n")

    async def count(reason: str) -> None:
        counted.append(reason)

    async with WorkerClient(KEYWORDS) as worker:
        source = WorkspaceNotes(Folder(tmp_path / "workspace"))
        faults = MemoryFaults(count, count, count)
        index = MemoryIndex(AGENT, tmp_path / "index", [source], worker, run_here, clock.clock(), faults=faults)
        await index.sync()
        if has_changed:
            note.write_text("- likes green tea\n")
            index.touched()
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGSTOP)
        monkeypatch.setattr("workspaces.memory.source_index.ALIVE_WITHIN_S", ALIVE_WITHIN_S)
        try:
            began = time.monotonic()
            hung = await index.search(Query("tea"), MAIN)
            took_s = time.monotonic() - began
            assert ALIVE_WITHIN_S < took_s < ALIVE_WITHIN_S + 15
            began = time.monotonic()
            assert "a moment ago" in (await index.search(Query("tea"), MAIN)).notice
            assert time.monotonic() - began < took_s
        finally:
            os.kill(worker.pid, signal.SIGCONT)
        monkeypatch.setattr("workspaces.memory.source_index.ALIVE_WITHIN_S", PATIENCE_S)
        assert (hung.mode, hung.hits[0].path, "in the files" in hung.notice) == ("keyword", "MEMORY.md", True)
        assert counted == [DEGRADED, DEGRADED]
        clock.now_s += PAUSES.longest_s
        after = await index.search(Query("tea"), MAIN)
        assert "in the files" not in after.notice
        assert after.hits[0].snippet == note.read_text().strip().removeprefix("- ")
        assert (worker.starts, len(counted)) == (1, 2)


async def test_the_owner_is_told_of_a_file_that_kills_the_worker_once(tmp_path: Path) -> None:
    """It is counted and told when it is left out, and not again at each later look."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/MEMORY.md").write_text("- a deadly note\n")
    said: list[str] = []

    async def hear(what: str) -> None:
        said.append(what)

    async with WorkerClient(Fragile(embedder="none")) as worker:
        source = WorkspaceNotes(Folder(tmp_path / "workspace"), lambda: 2**62)
        clock, faults = SetClock().clock(), MemoryFaults(hear, hear, hear)
        memory = MemoryIndex(AGENT, tmp_path / "index", [source], worker, run_here, clock, faults=faults)
        await memory.sync()
        await memory.sync()
        assert memory.deadly == {"MEMORY.md"}
        await memory.sync(retry=True)
    assert said == [CRASHED, "MEMORY.md"]


def test_the_worker_reads_its_settings_before_it_imports_what_serves_requests() -> None:
    """Its model, named by the first frame, then loads beside numpy, the engine and the search."""
    program = (
        "import sys\nimport workspaces.memory.index.worker\n"
        "print({'numpy', 'qdrant_edge', 'workspaces.memory.index.finder'} & set(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "set()"
