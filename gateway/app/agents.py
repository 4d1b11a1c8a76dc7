"""Opens the configured agents, and closes their resources."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePosixPath

from pydantic import SecretStr

from gateway.agent.agent import Agent
from gateway.agent.history_writer import SETTLE_S as HISTORY_SETTLE_S
from gateway.agent.history_writer import HistoryWriter, kept_folders
from gateway.agent.loop import TurnLimits
from gateway.agent.models.choose import choose
from gateway.agent.models.image_budget import MEGABYTE, ImageBudget
from gateway.agent.models.port import Model
from gateway.agent.models.settings import HostedSettings
from gateway.agent.recall import RecallSettings
from gateway.agent.window.compact import ONECLAW_SHARE, CompactSettings
from gateway.agent.window.prune import PruneSettings
from gateway.app.memory_worker import SERVER_PATIENCE_S, memory_worker
from gateway.automation.subagents import SubagentRules
from gateway.config import AgentSettings, Config, ContextSettings, LimitSettings, MemorySettings
from gateway.config.heartbeat import hours_of, span_of
from gateway.errors import ConfigError
from gateway.home import Home
from gateway.inbound.backlog import Bounds
from gateway.inbound.queue_modes import QueueMode, QueueRules
from gateway.runtime.threads import Threads
from gateway.schedule.checklist import Rhythm
from gateway.schedule.jobs import Punctuality
from gateway.sessions.flush import FlushSettings
from gateway.sessions.lifecycle import LifecycleSettings
from gateway.transcripts.memory_source import SETTLE_S, TranscriptNotes
from gateway.turns.planning import TurnSettings
from workspaces.access import Access, AgentId
from workspaces.bootstrap import Limits
from workspaces.errors import HistoryUnusableError
from workspaces.files import FileCaps
from workspaces.history import History
from workspaces.memory.as_of import Lookback
from workspaces.memory.client import WorkerClient
from workspaces.memory.entry import Source
from workspaces.memory.search import MemoryClock, MemoryIndex
from workspaces.memory.watch import Watched, WatchSettings
from workspaces.memory.workspace_source import WorkspaceNotes, note_folders
from workspaces.usage import Quota, Quotas
from workspaces.workspace import Workspace


@asynccontextmanager
async def open_agents(
    home: Home,
    config: Config,
    environ: Mapping[str, str],
    clock: Callable[[], datetime],
    count: Callable[[str], Awaitable[None]],
) -> AsyncIterator[dict[AgentId, Agent]]:
    """Yield every configured agent, opened; *clock* returns the owner's time, *count* receives reason codes.

    Raises WorkspaceUnusableError before any change, and ConfigError for a missing secret, or for a workspace that
    belongs to several agents.
    """
    refuse_overlaps(home, config)
    hosted, room = {name: hosted_settings(name, config, environ) for name in config.models}, ImageBudget()
    agents: dict[AgentId, Agent] = {}
    started_with = memory_worker(config, environ)
    caps = file_caps(config.limits)
    async with AsyncExitStack() as stack:
        worker = await stack.enter_async_context(WorkerClient(started_with))
        for name, settings in config.agents.items():
            agent = AgentId(name)
            workspace = Workspace.open(settings.workspace or home.agent(name).workspace, agent, caps)
            stack.callback(workspace.folder.close)
            run = Threads(f"workspace-{name}")
            stack.callback(run.close)
            sources: list[Source] = [WorkspaceNotes(workspace.folder)]
            if config.memory.transcripts:
                sources.append(TranscriptNotes(agent, home.agent(name).sessions, clock().tzinfo or UTC))
            model = choose([settings.model, *settings.fallbacks], hosted, room)
            stack.push_async_callback(model.close)
            others = _others(settings, hosted, room)
            for other in others.values():
                stack.push_async_callback(other.close)
            memory = MemoryIndex(
                agent,
                home.agent(name).index,
                sources,
                worker,
                run,
                MemoryClock(time.monotonic, lambda: clock().date()),
            )
            memory.answers_within_s = SERVER_PATIENCE_S if started_with.qdrant else None
            memory.count = count
            beside = Threads(f"history-{name}")
            stack.callback(beside.close)
            history_writer = HistoryWriter(partial(_history, home.agent(name).history, workspace, clock), beside, count)
            texts_on = partial(_texts_on, history_writer)
            memory.past = Lookback(agent, home.agent(name).index, texts_on, worker, beside, time.monotonic)
            workspace.folder.on_change = partial(_changed, memory)
            workspace.folder.on_written = history_writer.written
            workspace.folder.on_trouble = history_writer.failed
            workspace.folder.on_left_out = history_writer.met
            agents[agent] = Agent(
                agent, workspace, memory, model, run, history_writer, others, tuple(settings.fallbacks)
            )
        yield agents


def _others(settings: AgentSettings, hosted: Mapping[str, HostedSettings], room: ImageBudget) -> dict[str, Model]:
    """Return the models that a session may choose: a model's library loads on its first request, so none costs anything
    yet."""
    return {
        name: choose([name, *(each for each in settings.fallbacks if each != name)], hosted, room)
        for name in dict.fromkeys([settings.model, *settings.fallbacks, *hosted])
    }


def queue_rules(config: Config) -> QueueRules:
    """Return the configured queue rules."""
    queue = config.queue
    of_agents = {AgentId(name): QueueMode(agent.queue) for name, agent in config.agents.items() if agent.queue}
    return QueueRules(QueueMode(queue.mode), of_agents, timedelta(milliseconds=queue.debounce_ms), queue.together)


def bounds_of(config: Config) -> Bounds:
    """Return the limits of messages in memory."""
    return Bounds(config.queue.session_memory, config.queue.memory)


def punctuality_of(config: Config) -> Punctuality:
    """Return the configured punctuality of jobs."""
    schedule = config.schedule
    return Punctuality(timedelta(minutes=schedule.grace_minutes), schedule.jitter_s, schedule.jobs)


def subagent_rules(config: Config) -> SubagentRules:
    """Return the configured rules for subagents."""
    given = config.subagents
    return SubagentRules(given.children, given.running, given.task_s, given.guests)


def rhythms(config: Config, zone: tzinfo) -> dict[AgentId, Rhythm]:
    """Return each agent's configured heartbeat; *zone* is the owner's."""
    settings = {AgentId(name): agent.heartbeat for name, agent in config.agents.items()}
    return {name: Rhythm(span_of(each.every), *hours_of(each.active), zone) for name, each in settings.items()}


def refuse_overlaps(home: Home, config: Config) -> None:
    """Refuse a workspace that overlaps another agent's, or the gateway's own files.

    Raises ConfigError, which names the agent.
    """
    places = {name: (agent.workspace or home.agent(name).workspace).resolve() for name, agent in config.agents.items()}
    kept = [place.resolve() for place in (home.agents, home.removed, home.hooks, home.control_file.parent)]
    for name, place in places.items():
        is_usual = place == home.agent(name).workspace.resolve()
        if not is_usual and any(_overlap(place, theirs) for theirs in kept):
            raise ConfigError(
                f"agents.{name}.workspace: the gateway keeps its own files in {place}; take another folder"
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


def file_caps(limits: LimitSettings) -> FileCaps:
    """Return the configured size limits of workspaces."""
    private = Quota("workspace", limits.workspace_mb, limits.workspace_files)
    shared = Quota("shared", limits.shared_mb, limits.shared_files)
    attachments = Quota("attachments", limits.attachments_mb, limits.attachments_files)
    return FileCaps(quotas=Quotas(private, shared, attachments))


def _history(git_dir: Path, workspace: Workspace, clock: Callable[[], datetime]) -> History:
    try:
        git_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise HistoryUnusableError(f"{git_dir.parent} cannot be made: {exc.strerror}") from exc
    return History.open(git_dir, workspace, clock)


async def _texts_on(history_writer: HistoryWriter, day: date, access: Access) -> Mapping[PurePosixPath, str]:
    return await history_writer.ask((await history_writer.history()).as_of, day, access)


def _changed(memory: MemoryIndex, _: PurePosixPath) -> None:
    memory.touched()


def watched_folders(home: Home, config: Config, agents: Iterable[Agent]) -> list[Watched]:
    """Return the folders to watch for the agents' memories and histories."""
    watched = []
    for agent in agents:
        kept = partial(agent.history_writer.ask, kept_folders, agent.workspace.folder)
        watched.append(Watched(agent.history_writer, kept, HISTORY_SETTLE_S))
        watched.append(Watched(agent.memory, partial(agent.run, note_folders, agent.workspace.folder)))
        if config.memory.transcripts:
            sessions = home.agent(agent.id).sessions
            watched.append(Watched(agent.memory, partial(agent.run, _existing, sessions), SETTLE_S))
    return watched


def _existing(folder: Path) -> list[Path]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return [folder]


def watch_settings(memory: MemorySettings) -> WatchSettings:
    """Return the configured settings of the file watch."""
    return WatchSettings(memory.watch, memory.sync_every_s)


def hosted_settings(name: str, config: Config, environ: Mapping[str, str]) -> HostedSettings:
    """Return the connection settings of the model *name*. Raises ConfigError for a missing key."""
    settings = config.models[name]
    key = settings.api_key(name)
    return HostedSettings(
        name,
        settings.provider,
        settings.model,
        SecretStr(key.read(environ)) if key else None,
        settings.base_url,
        settings.window,
        settings.request_timeout_s,
        settings.temperature,
        settings.vision,
        settings.output_tokens,
        settings.pictures_mb * MEGABYTE,
    )


def assumed_windows(config: Config) -> tuple[str, ...]:
    """Return a line for each model without a configured window, with its assumed size."""
    return tuple(
        f"the window of model {name} is {settings.window:,} tokens; window_tokens is not set"
        for name, settings in config.models.items()
        if settings.window_tokens is None
    )


def turn_settings(config: Config) -> TurnSettings:
    """Return the configured settings of turns."""
    limits = config.limits
    temperatures = {AgentId(name): agent.temperature for name, agent in config.agents.items()}
    return TurnSettings(
        bootstrap=_bootstrap_limits(config.memory),
        recall=RecallSettings(config.memory.recall),
        limits=TurnLimits(limits.steps, limits.identical_calls, limits.tokens, limits.turn_s, limits.calls),
        prune=_prune_settings(config.context),
        compact=_compact_settings(config.context, config.memory),
        flush=_flush_settings(config.context),
        jobs_remember=config.schedule.remembers,
        temperature={name: value for name, value in temperatures.items() if value is not None},
        seeing=frozenset(name for name, model in config.models.items() if model.vision),
    )


def _prune_settings(context: ContextSettings) -> PruneSettings:
    return PruneSettings(
        cache_ttl=timedelta(seconds=context.prune_ttl_s) if context.prune == "cache-ttl" else None,
        trim_share=context.trim_share,
        clear_share=context.clear_share,
        least_cleared=context.least_cleared_chars,
        long=context.long_chars,
        head=context.head_chars,
        tail=context.tail_chars,
        kept_turns=context.whole_turns,
        only=context.prune_only,
        never=context.prune_never,
    )


def _compact_settings(context: ContextSettings, memory: MemorySettings) -> CompactSettings:
    preset = ONECLAW_SHARE if memory.preset == "oneclaw" else None
    return CompactSettings(
        is_on=context.compact,
        reserve_tokens=context.reserve_tokens,
        flush_tokens=context.flush_tokens,
        share=preset if context.share is None else context.share,
        kept_tokens=context.kept_tokens,
    )


def _flush_settings(context: ContextSettings) -> FlushSettings:
    prompt = FlushSettings().prompt if context.flush_prompt is None else context.flush_prompt
    return FlushSettings(context.flush, prompt, context.flush_steps, context.flush_temperature)


def lifecycle_settings(config: Config, zone: tzinfo) -> LifecycleSettings:
    """Return the configured settings of sessions' rests, ends and retention; *zone* is the owner's."""
    sessions, keep_days = config.sessions, config.subagents.keep_days
    return LifecycleSettings(
        rest=timedelta(minutes=sessions.rest_minutes) if sessions.rest_minutes else None,
        idle=timedelta(minutes=sessions.idle_minutes) if sessions.idle_minutes else None,
        daily_hour=sessions.daily_hour,
        zone=zone,
        helpers=timedelta(days=keep_days) if keep_days else None,
        day_summaries=config.context.flush,
    )


def _bootstrap_limits(memory: MemorySettings) -> Limits:
    return Limits(
        file_chars=memory.file_chars,
        total_chars=memory.total_chars,
        today_chars=memory.today_chars,
        yesterday_chars=memory.yesterday_chars,
        memory_share_chars=memory.memory_share_chars,
        file_share_chars=memory.file_share_chars,
        daily_notes=memory.daily_notes_in_prompt,
        oneclaw=memory.preset == "oneclaw",
    )
