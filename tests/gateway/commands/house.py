"""One agent with every resource of its commands: files, index, history, store, transcripts."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from msgspec import structs

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.gate import AdmissionGate
from gateway.admission.policy import AccountPolicy, DirectPolicy, GroupPolicy, Policy
from gateway.admission.rate_limits import Rates
from gateway.admission.routing import Routes, SessionKey, route
from gateway.agent.agent import Agent
from gateway.agent.history_writer import HistoryWriter
from gateway.agent.models.port import Model, ModelRequest
from gateway.agent.receipts import ReceiptLevel
from gateway.approvals.approvals import Approvals
from gateway.automation.heartbeat_runner import HeartbeatResources, Heartbeats
from gateway.automation.job_runner import JobRunner, OwnerContact
from gateway.commands.command import Command
from gateway.commands.loading import load_commands
from gateway.commands.offers import Offers
from gateway.commands.registry import Commands
from gateway.commands.resources import CommandResources
from gateway.commands.session import ENDS
from gateway.config import LimitSettings
from gateway.delivery.group_requests import GroupRequests
from gateway.delivery.owner_notices import Notices
from gateway.hooks import Hooks
from gateway.inbound.entrance import Entrance
from gateway.inbound.queue_modes import Queueing
from gateway.inbound.session_settings import Choices
from gateway.runtime.threads import Threads
from gateway.schedule.checklist import Rhythm
from gateway.schedule.jobs import JobSchedule
from gateway.schedule.settings import HeartbeatSettings, ScheduleSettings
from gateway.sessions.compaction import Compaction
from gateway.sessions.flush import Flush
from gateway.sessions.lifecycle import Lifecycle, LifecycleSettings, SessionObservers
from gateway.sessions.rest_flush import RestFlush
from gateway.sessions.session import Session
from gateway.stores.rows import InboxRow
from gateway.stores.sqlite.store import SqliteStore
from gateway.transcripts.store import Sessions
from gateway.turns.attachments import TakeIn
from gateway.turns.planning import Planner, TurnSettings
from gateway.turns.tools import TurnTools
from gateway.turns.turn import Turns
from tests.fakes.clock import ManualClock
from tests.fakes.memory import HandlerWorker, WordsEmbedder
from tests.fakes.model import ScriptedModel
from tests.fakes.recording import history_writer_of
from workspaces.access import Access, AgentId, Locality
from workspaces.files import WriteAttempt
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.memory.workspace_source import WorkspaceNotes
from workspaces.workspace import Workspace

MAIN = AgentId("main")
POLICY = Policy(
    frozenset({"telegram:7"}), {("telegram", "home"): AccountPolicy(DirectPolicy.OWNER, {"-100": GroupPolicy()})}
)
ROUTES = Routes([], MAIN, POLICY)
OWNER = InboundMessage(
    Address("telegram", "home", "7"), "0", Sender("7", "Owner"), ChatKind.DIRECT, "", True, datetime.now(UTC)
)
MEMBER = replace(OWNER, address=Address("telegram", "home", "-100"), kind=ChatKind.GROUP, sender=Sender("8", "Sam"))
OWNER_IN_GROUP = replace(MEMBER, sender=OWNER.sender)
STRANGER = replace(OWNER, address=Address("telegram", "home", "9"), sender=Sender("9", "Nobody"))
SHARED = "memory/shared/telegram.home.-100"


async def nowhere(_: AgentId) -> Address | None:
    """Know no chat of the owner."""
    return None


async def fine() -> str:
    """Say how the gateway is."""
    return "all is well"


@dataclass
class House:
    """One agent that answers; every message is a new turn, as after a restart."""

    folder: Path
    store: SqliteStore
    clock: ManualClock
    threads: Threads
    workspace: Workspace
    history_writer: HistoryWriter
    memory: MemoryIndex
    sessions: Sessions
    model: Model = field(default_factory=ScriptedModel)
    others: Mapping[str, Model] = field(default_factory=dict)
    chat_reader: Locality = Locality.HERE
    """Who carries its chats."""
    extra: Sequence[Command] = ()
    policy: Policy = POLICY
    settings: TurnSettings = field(default_factory=TurnSettings)
    receipts: ReceiptLevel = ReceiptLevel.OFF
    hooks: Hooks = field(default_factory=Hooks)
    takes_in: TakeIn | None = None
    choices: Choices = field(init=False)
    ends: Rates = field(init=False)
    queueing: Queueing = field(init=False)
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.choices = Choices(self.store)
        self.ends = Rates(ENDS / 60, ENDS, self.clock.now)
        self.queueing = Queueing(chosen=self.choices.mode)

    @property
    def agent(self) -> Agent:
        agent = Agent(MAIN, self.workspace, self.memory, self.model, self.threads, self.history_writer)
        return structs.replace(agent, others=self.others)

    @property
    def approvals(self) -> Approvals:
        days, jobs = timedelta(days=7), self.job_runner.job_schedule
        return Approvals({MAIN: self.agent}, self.store, lambda: self.clock.now() + days, lambda _: None, jobs)

    @property
    def lifecycle(self) -> Lifecycle:
        """What looks after the sessions; it knows them by their transcripts."""
        observers = SessionObservers([RestFlush(self.flush, self._at_rest, UTC), self.choices.ended])
        settings, count = LifecycleSettings(), self.store.count
        return Lifecycle({MAIN: self.agent}, self.sessions, settings, self.clock, count, observers)

    async def _at_rest(self, session: Session) -> ModelRequest:
        return await self.planner.at_rest(session)

    @property
    def flush(self) -> Flush:
        return Flush(self.settings.context, self.clock.now)

    @property
    def planner(self) -> Planner:
        """What plans turns for the model."""
        count, now = self.store.count, self.clock.now
        compaction = Compaction(self.settings.context, self.flush, self.lifecycle, count, now)
        tools = TurnTools(self.approvals, self.hooks, now)
        return Planner(self.settings, Hooks(), tools, compaction, now)

    @property
    def commands(self) -> Commands:
        return Commands(
            [*load_commands(self.parts).commands, *self.extra], self.policy, None, lambda _: self.chat_reader
        )

    @property
    def admission(self) -> AdmissionGate:
        rates = Rates(LimitSettings().person_a_minute, LimitSettings().person_burst, self.clock.now)
        return AdmissionGate(self.policy, self.store, rates, self.clock.now, lambda _: None)

    @property
    def groups(self) -> GroupRequests:
        async def allow(*_: str) -> None:
            """No configuration is written here."""

        notices = Notices(self.store, OWNER.address, lambda _: None)
        return GroupRequests(self.store, notices, Routes([], MAIN, self.policy), self.clock.now, allow)

    @property
    def parts(self) -> CommandResources:
        """What the commands reach."""
        return CommandResources(
            {MAIN: self.agent},
            self.sessions,
            fine,
            self.planner,
            self.lifecycle,
            self.admission.pairing,
            self.groups,
            self.store.silences,
            self.store.overheard,
            self.queueing,
            self.choices,
            tuple,
            self.heartbeats,
            self.job_runner,
            self.ends,
            self.store.purge,
        )

    @property
    def job_runner(self) -> JobRunner:
        """What runs jobs; nobody looks at the time here."""

        async def here(_: AgentId) -> Address:
            return OWNER.address

        async def tell(*_: object) -> None:
            """Tell nobody."""

        job_schedule = JobSchedule(self.store.jobs, ScheduleSettings(jobs=3), self.clock.now, self.store.count)
        return JobRunner(job_schedule, self.store, {MAIN}, OwnerContact(here, tell), self.clock)

    @property
    def heartbeats(self) -> Heartbeats:
        """What looks after `HEARTBEAT.md`; nothing is asked here."""
        rhythm = Rhythm(HeartbeatSettings("30m", "00:00-24:00"), UTC)
        around = HeartbeatResources(
            {MAIN: self.agent},
            {MAIN: rhythm},
            self.sessions,
            self.store,
            self.clock,
            nowhere,
            self.queueing.is_running,
            Entrance(self.store.inbox, ROUTES).enter,
        )
        return Heartbeats(around, lambda _: None)

    async def says(self, text: str, message: InboundMessage = OWNER) -> str:
        """Take in *text* as *message*'s sender writes it there, answer it, and return the answer."""
        row = await self.take_in(text, message)
        await self.answer(row)
        return await self.answered(row)

    async def take_in(self, text: str, message: InboundMessage = OWNER) -> InboxRow:
        row = await self.store.inbox.append(replace(message, id=str(next(self._ids)), text=text))
        assert row is not None
        return row

    async def answer(self, row: InboxRow) -> None:
        turns = Turns(
            {MAIN: self.agent},
            self.sessions,
            self.store,
            replace(ROUTES, policy=self.policy),
            self.planner,
            lambda _row, _replies: None,
            shortcut=self.commands,
            take_in=self.takes_in,
            queueing=self.queueing,
            voice=self.choices.voice,
            offer=Offers(self.policy, tells_undone=self.receipts is not ReceiptLevel.OFF),
            receipts=self.receipts,
            chat_reader=lambda _: self.chat_reader,
        )
        await self.lifecycle.enter(route(row.message, ROUTES).key, row.turn_id)
        await turns.answer(row, route(row.message, turns.routes))

    async def answered(self, row: InboxRow) -> str:
        texts = [each.outgoing.text for each in await self.store.outbox.unfinished() if each.turn_id == row.turn_id]
        return texts[0] if texts else ""

    async def buttons(self, text: str) -> dict[str, str]:
        """Return the commands of the buttons below the latest answer that begins with *text*, by their labels."""
        rows = [each.outgoing for each in await self.store.outbox.unfinished() if each.outgoing.text.startswith(text)]
        return {button.label: button.command for button in rows[-1].buttons}

    def key(self, message: InboundMessage = OWNER) -> SessionKey:
        return route(message, ROUTES).key

    def access(self, message: InboundMessage = OWNER) -> Access:
        return route(message, ROUTES).access

    def restart(self) -> None:
        """Let go of what a process remembers of its conversations."""
        self.sessions = Sessions({MAIN: self.folder / "sessions"}, self.threads, now=self.clock.now)

    def put(self, path: str, text: str) -> None:
        """Write a file as its owner's editor does."""
        place = self.folder / "workspace" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        saved = 1_700_000_000 + next(self._ids)
        os.utime(place, (saved, saved))
        self.memory.touched()

    def text(self, path: str) -> str:
        return (self.folder / "workspace" / path).read_text("utf-8")

    def files(self) -> dict[str, str]:
        """Return every file of the workspace."""
        root = self.folder / "workspace"
        return {str(file.relative_to(root)): file.read_text("utf-8") for file in root.rglob("*") if file.is_file()}


@asynccontextmanager
async def open_house(folder: Path) -> AsyncIterator[House]:
    """Set it up in *folder*, which may hold one from before."""
    clock = ManualClock()
    store = await SqliteStore.open(folder / "state.db", clock=clock)
    threads = Threads("test")
    workspace = Workspace.create(folder / "workspace", MAIN)
    history_writer = history_writer_of(workspace, folder, threads, clock.now, store.count)
    await history_writer.begin()
    memory = MemoryIndex(
        MAIN,
        folder / "index",
        [WorkspaceNotes(workspace.folder, others_lines=history_writer.origins.others_in_file)],
        HandlerWorker(WordsEmbedder()),
        threads,
        MemoryClock(lambda: 0.0, lambda: clock.now().date()),
    )

    workspace.folder.follow(lambda event: memory.touched() if isinstance(event, WriteAttempt) else None)
    workspace.folder.follow(history_writer.hear)
    sessions = Sessions({MAIN: folder / "sessions"}, threads, now=clock.now)
    yield House(folder, store, clock, threads, workspace, history_writer, memory, sessions)
    await history_writer.finish()
    workspace.folder.close()
    threads.close()
    await store.close()
