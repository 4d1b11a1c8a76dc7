"""Opens the configured agents, and closes their resources."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import asdict, replace
from datetime import date, datetime, tzinfo
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePosixPath

from msgspec import Struct
from pydantic import SecretStr

from gateway.agent.agent import Agent
from gateway.agent.cut_files import CutFiles
from gateway.agent.file_trouble import FileTroubleNotices
from gateway.agent.history_writer import SETTLE_S as HISTORY_SETTLE_S
from gateway.agent.history_writer import HistoryWriter, kept_folders
from gateway.agent.models.choose import SharedByModels, choose
from gateway.agent.models.failures import ModelTroubles
from gateway.agent.models.port import Model
from gateway.agent.models.settings import HostedSettings
from gateway.agent.prompt_files import prompt_extents
from gateway.agent.recall import RecallSettings
from gateway.agent.window.compact import ONECLAW_SHARE
from gateway.app.house import house_folders, is_here
from gateway.app.memory_worker import SERVER_PATIENCE_S
from gateway.app.open_home import OpenHome
from gateway.cluster.workspace_locks import workspaces_of
from gateway.config import Config, MemorySettings
from gateway.delivery.owner_notices import Notices
from gateway.errors import ConfigError, StoreError
from gateway.home import Home
from gateway.inbound.settings import QueueMode
from gateway.runtime.threads import Threads
from gateway.schedule.checklist import Rhythm
from gateway.sessions.lifecycle import LifecycleSettings
from gateway.settings.secrets import secret_gaps
from gateway.stores.ports import Store
from gateway.transcripts.memory_source import SETTLE_S, TranscriptNotes
from gateway.turns.planning import TurnSettings
from workspaces.access import Access, AgentId
from workspaces.errors import HistoryUnusableError
from workspaces.fault_points import Checkpoint
from workspaces.files import FileCaps, FolderEvent, WriteAttempt
from workspaces.history import ExposedTurns, History, LineOrigins, exposed_place
from workspaces.memory.as_of import Lookback
from workspaces.memory.client import WorkerClient, WorkerSettings
from workspaces.memory.entry import Source
from workspaces.memory.query import SearchDefaults
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.memory.status import MemoryFaults
from workspaces.memory.watch import Watched
from workspaces.memory.workspace_source import WorkspaceNotes, note_folders
from workspaces.run_blocking import RunBlocking
from workspaces.workspace import Workspace

THREADS = 32
"""Threads for the files and histories of all agents, started as they are needed: as many as wait for a disk at once."""

INDEXED_AT_ONCE = 4
"""Agents whose changed notes are indexed at once, besides those that search: an index that is written to stays open."""


class AgentModels(Struct, frozen=True):
    own: Model
    others: Mapping[str, Model]
    """Those that a session may choose, by name: a library loads on its model's first request, so none costs anything
    yet."""


@asynccontextmanager
async def open_models(
    config: Config, environ: Mapping[str, str], troubles: ModelTroubles
) -> AsyncIterator[dict[AgentId, AgentModels]]:
    """Yield every agent's models, whose failures are noted in *troubles*. Raises ConfigError for a missing client."""
    hosted, shared = (
        {name: hosted_settings(name, config, environ) for name in config.models},
        SharedByModels(troubles=troubles),
    )
    models: dict[AgentId, AgentModels] = {}
    async with AsyncExitStack() as stack:
        for name, settings in config.agents.items():
            own = choose([settings.model, *settings.fallbacks], hosted, shared)
            others = {
                other: choose([other, *(each for each in settings.fallbacks if each != other)], hosted, shared)
                for other in dict.fromkeys([settings.model, *settings.fallbacks, *hosted])
            }
            for each in (own, *others.values()):
                stack.push_async_callback(each.close)
            models[AgentId(name)] = AgentModels(own, others)
        yield models


@contextmanager
def open_workspaces(home: Home, config: Config, checkpoint: Checkpoint) -> Iterator[dict[AgentId, Workspace]]:
    """Yield the workspace of every agent.

    Raises WorkspaceUnusableError before any change, and ConfigError for a workspace that belongs to several agents.
    """
    refuse_overlaps(home, config)
    caps, workspaces = FileCaps(quotas=config.limits), dict[AgentId, Workspace]()
    with ExitStack() as stack:
        for name, place in workspaces_of(home, config).items():
            agent = AgentId(name)
            workspaces[agent] = Workspace.open(place, agent, caps, checkpoint, house_folders(config.house))
            stack.callback(workspaces[agent].folder.close)
        yield workspaces


@asynccontextmanager
async def open_agents(
    home: OpenHome,
    workspaces: Mapping[AgentId, Workspace],
    models: Mapping[AgentId, AgentModels],
    worker_settings: WorkerSettings,
) -> AsyncIterator[dict[AgentId, Agent]]:
    agents = dict[AgentId, Agent]()
    async with WorkerClient(worker_settings) as worker:
        with ExitStack() as stack:
            threads = stack.enter_context(closing(Threads("agents", THREADS)))
            for name, workspace in workspaces.items():
                run, beside = (stack.enter_context(closing(threads.in_order())) for _ in ("workspace", "history"))
                history_writer = _history_writer(home, workspace, run, beside)
                memory = _memory(home, workspace, history_writer, worker, run, beside)
                workspace.folder.follow(history_writer.hear)
                workspace.folder.follow(partial(_changed, memory))
                own, others = models[name].own, models[name].others
                fallbacks = tuple(home.config.agents[name].fallbacks)
                offered = tools_offered(home.config.memory)
                agents[name] = Agent(name, workspace, memory, own, run, history_writer, others, offered, fallbacks)
            yield agents


def _memory(
    home: OpenHome,
    workspace: Workspace,
    history_writer: HistoryWriter,
    worker: WorkerClient,
    run: Threads,
    beside: Threads,
) -> MemoryIndex:
    name, settings, origins = workspace.agent, worker.settings, history_writer.origins
    folder, texts_on = home.files.agent(name).index, partial(_texts_on, history_writer)
    past = (worker, beside, time.monotonic, origins.others_in_file, workspace.house, origins.held_house)
    return MemoryIndex(
        name,
        folder,
        memory_sources(home.files, home.config, workspace, home.zone.zone, origins),
        worker,
        run,
        MemoryClock(time.monotonic, lambda: home.now().date()),
        past=Lookback(name, folder, texts_on, *past),
        faults=memory_faults(home.store, home.notices, name),
        layout=settings.layout,
        defaults=SearchDefaults(home.config.memory.max_results, home.config.memory.min_score),
        answers_within_s=SERVER_PATIENCE_S if settings.qdrant else None,
    )


def tools_offered(memory: MemorySettings) -> Mapping[str, bool]:
    """Return whether a tool is offered, by its name, as the settings have it."""
    return dict.fromkeys(memory.offer_tools, True) | dict.fromkeys(memory.hide_tools, False)


def memory_sources(
    home: Home, config: Config, workspace: Workspace, zone: tzinfo, origins: LineOrigins
) -> list[Source]:
    """Return the sources of the memory of the agent of *workspace*; *zone* is the owner's.

    *origins* tell which lines of the notes hold others' words.
    """
    house, others = workspace.house, origins.others_in_file
    sources: list[Source] = [WorkspaceNotes(workspace.folder, others_lines=others, house=house)]
    if config.memory.transcripts:
        sources.append(TranscriptNotes(workspace.agent, home.agent(workspace.agent).sessions, zone))
    return sources


def _history_writer(home: OpenHome, workspace: Workspace, run: RunBlocking, beside: RunBlocking) -> HistoryWriter:
    """Return the history writer of an agent; *run* and *beside* run work on the threads of its files and history."""
    agent, tell = workspace.agent, home.notices.tell
    history = home.files.agent(agent).history
    look = partial(prompt_extents, workspace, run, home.now, turn_settings(home.config).bootstrap)
    return HistoryWriter(
        partial(_history, history, workspace, home.now),
        beside,
        home.store.count,
        FileTroubleNotices(agent, workspace.folder, tell, home.now),
        ExposedTurns(exposed_place(history)),
        CutFiles(agent, look, home.store, tell, home.now),
    )


def queue_modes(config: Config) -> dict[AgentId, QueueMode]:
    """Return the queue modes of the agents that have their own."""
    return {AgentId(name): agent.queue for name, agent in config.agents.items() if agent.queue}


def rhythms(config: Config, zone: tzinfo) -> dict[AgentId, Rhythm]:
    """Return each agent's configured heartbeat; *zone* is the owner's."""
    return {AgentId(name): Rhythm(agent.heartbeat, zone) for name, agent in config.agents.items()}


def refuse_overlaps(home: Home, config: Config) -> None:
    """Refuse a workspace that overlaps another agent's, or the gateway's own files.

    Raises ConfigError, which names the agent.
    """
    places = {name: place.resolve() for name, place in workspaces_of(home, config).items()}
    kept = [place.resolve() for place in (home.agents, home.removed, home.hooks, home.control_file.parent)]
    for name, place in places.items():
        is_usual = config.agents[name].workspace is None or place == home.agent(name).workspace.resolve()
        if not is_usual and any(_overlap(place, theirs) for theirs in kept):
            raise ConfigError(
                f"agents.{name}.workspace: the gateway keeps its own files in {place}; choose another folder"
            )
    # Sorted by their parts, a folder comes right before those inside it: comparing neighbours suffices.
    by_place = sorted(places.items(), key=lambda each: each[1].parts)
    for one, two in pairwise(by_place):
        if _overlap(one[1], two[1]):
            name, other = sorted((one[0], two[0]), key=list(places).index)
            raise ConfigError(
                f"agents.{name}.workspace: agent {other} would share files with it; give each its own folder"
            )


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _history(git_dir: Path, workspace: Workspace, clock: Callable[[], datetime]) -> History:
    try:
        git_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise HistoryUnusableError(f"{git_dir.parent} cannot be created: {exc.strerror}") from exc
    return History.open(git_dir, workspace, clock)


async def _texts_on(history_writer: HistoryWriter, day: date, access: Access) -> Mapping[PurePosixPath, str]:
    return await history_writer.ask((await history_writer.history()).as_of, day, access)


def _changed(memory: MemoryIndex, event: FolderEvent) -> None:
    if isinstance(event, WriteAttempt):
        memory.touched()


def watched_folders(home: Home, config: Config, agents: Iterable[Agent]) -> list[Watched]:
    """Return the folders to watch for the agents' memories and histories."""
    watched, indexing = [], asyncio.Semaphore(INDEXED_AT_ONCE)
    for agent in agents:
        kept = partial(agent.history_writer.ask, kept_folders, agent.workspace.folder)
        watched.append(Watched(agent.history_writer, kept, HISTORY_SETTLE_S))
        watched.append(Watched(agent.memory, partial(agent.run, note_folders, agent.workspace.folder), room=indexing))
        if config.memory.transcripts:
            sessions = home.agent(agent.id).sessions
            watched.append(Watched(agent.memory, partial(agent.run, _existing, sessions), SETTLE_S, indexing))
    return watched


def _existing(folder: Path) -> list[Path]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return [folder]


def hosted_settings(name: str, config: Config, environ: Mapping[str, str]) -> HostedSettings:
    """Return the connection settings of the model *name*; without its key it refuses every request."""
    settings = config.models[name]
    key = settings.api_key(name)
    gaps = secret_gaps([key] if key else [], environ)
    secret = SecretStr(key.read(environ)) if key and not gaps else None
    hosted = HostedSettings.of(name, settings, secret, "".join(gaps), (key.env or "") if key else "")
    return replace(hosted, is_here=settings.is_known and is_here(config.house, settings.base_url))


def assumed_windows(config: Config) -> tuple[str, ...]:
    """Return a line for each model without a configured window, with its assumed size."""
    return tuple(
        f"the window of model {name} is {settings.window:,} tokens; window_tokens is not set"
        for name, settings in config.models.items()
        if settings.window_tokens is None
    )


def turn_settings(config: Config) -> TurnSettings:
    preset = ONECLAW_SHARE if config.memory.is_oneclaw else None
    temperatures = {AgentId(name): agent.temperature for name, agent in config.agents.items()}
    return TurnSettings(
        bootstrap=config.memory,
        recall=RecallSettings(config.memory.recall),
        limits=config.limits,
        context=replace(config.context, share=preset) if config.context.share is None else config.context,
        jobs_remember=config.schedule.remembers,
        temperature={name: value for name, value in temperatures.items() if value is not None},
        seeing=frozenset(name for name, model in config.models.items() if model.vision),
    )


def lifecycle_settings(config: Config, zone: tzinfo) -> LifecycleSettings:
    """Return the configured settings of sessions' rests, ends and retention; *zone* is the owner's."""
    return LifecycleSettings(
        **asdict(config.sessions), zone=zone, keep_days=config.subagents.keep_days, day_summaries=config.context.flush
    )


def memory_faults(store: Store, notices: Notices, agent: AgentId) -> MemoryFaults:
    """Return who learns of faults of the memory of *agent*: the counts, and the owner."""
    return MemoryFaults(
        store.count, partial(_tell_of_file, notices, agent), partial(_tell_of_held_change, notices, agent)
    )


async def _tell_of_file(notices: Notices, agent: AgentId, path: str) -> None:
    """Notify the owner that search omits the notes in a file, since the memory worker crashes on it."""
    with suppress(StoreError):  # status and doctor report it too
        await notices.tell(
            f"memory crashed:{agent}:{path}",
            f"The search of agent {agent} crashed twice on {path}, so it skips this file: its content is not found. "
            f"Change the file, or retry it: strandline quarantine retry file:{agent}:{path}.",
        )


async def _tell_of_held_change(notices: Notices, agent: AgentId, held: str) -> None:
    """Notify the owner that an index was not replaced, since the new one finds less."""
    with suppress(StoreError):  # status and doctor report it too
        await notices.tell(f"memory held:{agent}:{held}", f"The memory of agent {agent}: {held}.")
