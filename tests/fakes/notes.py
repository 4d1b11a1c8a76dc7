"""An agent's notes on disk, and their index."""

from pathlib import Path

from tests.fakes.memory import SetClock, run_here
from tests.workspaces.turns import AGENT, MAIN
from workspaces.access import Access, AgentId
from workspaces.files import Folder
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.search_result import SearchResult
from workspaces.memory.sync import WorkerCalls
from workspaces.memory.workspace_source import WorkspaceNotes
from workspaces.run_blocking import RunBlocking


class IndexedNotes:
    """Notes below *home*, indexed by *worker*."""

    def __init__(
        self,
        home: Path,
        worker: WorkerCalls,
        run: RunBlocking = run_here,
        *,
        agent: AgentId = AGENT,
        clock: SetClock | None = None,
    ) -> None:
        self.notes = home / "workspace"
        self.notes.mkdir(parents=True, exist_ok=True)
        self.folder = home / "index"
        self.clock = clock or SetClock()
        self.source = WorkspaceNotes(Folder(self.notes))
        self.index = MemoryIndex(agent, self.folder, [self.source], worker, run, self.clock.clock())

    def write(self, path: str, text: str) -> None:
        """Write a file as its owner's editor does."""
        file = self.notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        self.index.touched()

    def note(self, path: str, *lines: str) -> None:
        """Write a file of list items."""
        self.write(path, "".join(f"- {line}\n" for line in lines))

    async def search(self, text: str, access: Access = MAIN) -> SearchResult:
        return await self.index.search(Query(text), access)
