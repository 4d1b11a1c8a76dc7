"""Fixtures: agents whose sessions pause and end, on real files, with a manual clock."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.agent.entries import Entry, ReplyEntry, Usage, UserEntry
from gateway.agent.models.port import Model
from gateway.runtime.threads import Threads
from gateway.sessions.due import DueSession
from gateway.sessions.lifecycle import Lifecycle, LifecycleSettings, Listener, SessionObservers
from gateway.stores.rows import TurnId
from gateway.transcripts.store import Sessions
from tests.fakes.clock import ManualClock
from tests.fakes.model import ScriptedModel
from tests.fakes.recording import history_writer_of
from workspaces.access import AgentId
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.memory.client import WorkerClient, WorkerSettings
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.workspace import Workspace

MAIN = AgentId("main")
KEY = SessionKey(MAIN, "main")
GROUP = SessionKey(MAIN, "group:telegram.home.-100")
BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 3, 1, 13, 5, tzinfo=UTC)
"""14:05 in Berlin."""


@dataclass
class Resting:
    """One agent, its sessions, and what looks after them; `again` is what another start finds."""

    root: Path
    clock: ManualClock
    threads: Threads
    agents: dict[AgentId, Agent]
    sessions: Sessions
    lifecycle: Lifecycle
    counts: Counter[str]
    due: list[DueSession] = field(default_factory=list)

    async def hear(self, key: SessionKey, turn: str, *entries: Entry) -> None:
        """Let a turn begin as the gateway does, and write down what it says."""
        await self.lifecycle.enter(key, TurnId(turn))
        await (await self.sessions.open(key)).append(TurnId(turn), *entries)

    async def talk(self, key: SessionKey, *exchanges: tuple[str, str], turn: int = 1) -> None:
        """Let a person say the first of each pair, and the agent answer the second."""
        for number, (said, answered) in enumerate(exchanges, turn):
            sender = "" if key.name == "main" else "Sam"
            await self.hear(
                key,
                f"t{number}",
                UserEntry(said, self.clock.now(), sender, str(number)),
                ReplyEntry(answered, (), "scripted", Usage()),
            )

    def file(self, path: str, agent: AgentId = MAIN) -> str:
        """Return a file of the workspace as it is on disk; empty where there is none."""
        place = self.agents[agent].workspace.folder.root / path
        return place.read_text("utf-8") if place.exists() else ""

    def archived(self) -> list[str]:
        return sorted(file.name for file in self.sessions.folder(MAIN).glob("archive/*"))


@asynccontextmanager
async def resting(
    root: Path,
    settings: LifecycleSettings,
    *,
    model: Model | None = None,
    names: Sequence[str] = ("main",),
    checkpoint: Checkpoint = unchecked,
    clock: ManualClock | None = None,
    listeners: Sequence[Listener] = (),
) -> AsyncIterator[Resting]:
    """Open what lies below *root*."""
    clock, threads, counts = clock or ManualClock(START), Threads("test"), Counter[str]()

    async def count(reason: str) -> None:
        counts[reason] += 1

    agents = {}
    for name in map(AgentId, names):
        home = root / name
        workspace = Workspace.create(home / "workspace", name)
        index = MemoryIndex(
            name,
            home / "index",
            [],
            WorkerClient(WorkerSettings()),
            threads,
            MemoryClock(lambda: 0.0, lambda: clock.now().date()),
        )
        history_writer = history_writer_of(workspace, home, threads, clock.now, count)
        workspace.folder.follow(history_writer.hear)
        agents[name] = Agent(name, workspace, index, model or ScriptedModel(name="offline"), threads, history_writer)
    sessions = Sessions({name: root / name / "sessions" for name in agents}, threads, checkpoint, clock.now)
    lifecycle = Lifecycle(agents, sessions, settings, clock, count, SessionObservers(listeners))
    yield Resting(root, clock, threads, agents, sessions, lifecycle, counts)
    threads.close()
    for agent in agents.values():
        agent.workspace.folder.close()
