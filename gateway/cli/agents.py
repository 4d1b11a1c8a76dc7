"""`strandline agents …`: lists, adds and removes agents, and adopts an agent's files among several gateways."""

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import date, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

import typer
from msgspec import Struct

from gateway.cli.call import Call, JsonCall
from gateway.cli.command_group import command_app
from gateway.cli.connect import reach
from gateway.cli.invocation import Invocation, config_of, plain_fields, print_json
from gateway.cli.status import memory_line
from gateway.control.status_wire import MemoryOrder, MemoryStatus, StatusOrder
from gateway.errors import ConfigError, StoreError, StrandlineError, WorkspaceLockedError
from gateway.home import FOLDER_MODE, Home
from workspaces.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from gateway.config import Config, RedisSettings

app = command_app("Manage agents: list, show, add, remove, adopt.")

NAME = Annotated[str, typer.Argument(help="Name of the agent: lowercase letters, digits and hyphens.")]
_WANTED = lazy_pattern(r"[a-z0-9][a-z0-9-]{0,63}")
_SHOWN_FILES = 30
_TAKEN = "removed.toml"
"""Configuration tables removed along with the agent's own."""


class AgentRow(Struct, frozen=True):
    """One agent in the configuration."""

    agent: str
    model: str
    workspace: str
    bindings: tuple[str, ...]
    """Descriptions of the messages routed to it, besides its own terminal."""
    is_default: bool
    """Receives messages that no binding claims."""


class FileRow(Struct, frozen=True):
    """A file of a workspace."""

    path: str
    size: int
    """In bytes."""


class AgentDetails(Struct, frozen=True):
    """One agent with its model, bindings, files, sessions and memory state."""

    listed: AgentRow
    files: tuple[FileRow, ...]
    sessions: tuple[str, ...]
    memory: MemoryStatus | None
    """`None` while the running gateway has not loaded the agent."""


@app.command("list")
def list_agents(call: JsonCall) -> None:
    """List the configured agents; a star marks the default, which receives messages that no binding claims."""
    place = call.existing_home
    listed = [_agent_row(place, config_of(place), agent) for agent in config_of(place).agents]
    if call.as_json:
        print_json({"agents": [plain_fields(each) for each in listed]})
        return
    width = max(len(each.agent) for each in listed)
    for each in listed:
        print(f"{'*' if each.is_default else ' '} {each.agent:<{width}}  {each.model}  {each.workspace}")
        for binding in each.bindings:
            print(f"  {'':<{width}}  {binding}")


@app.command()
def show(call: JsonCall, agent: NAME) -> None:
    """Show an agent's model, bindings, files, sessions and the state of its memory."""
    place = call.existing_home
    shown = _agent_details(call.invocation, place, agent)
    call.print(shown, _lines(shown))


@app.command()
def add(
    call: Call,
    agent: NAME,
    model: Annotated[str | None, typer.Option("--model", help="Name of a model in [models]; default: offline.")] = None,
) -> None:
    """Add an agent: its table in config.toml and a workspace created from the templates."""
    from gateway.cluster.workspace_locks import workspace_locks
    from gateway.config.changes import changing
    from gateway.config.editing import with_agent
    from gateway.config.reading import parse_config
    from workspaces.access import AgentId
    from workspaces.workspace import Workspace

    place = call.existing_home
    if not _WANTED.fullmatch(agent):
        raise ConfigError(
            f"{agent!r} is not a valid agent name: use lowercase letters, digits and hyphens, such as home-office"
        )
    with changing(place) as text:
        if agent in config_of(place).agents:
            raise ConfigError(f"agents.{agent} already exists; to see it: strandline agents show {agent}")
        changed = with_agent(text, agent, model)
        parse_config(changed, place.config_file)
        workspace = place.agent(agent).workspace
        with workspace_locks(place, {agent: workspace}, create=True):
            Workspace.create(workspace, AgentId(agent)).folder.close()
        place.write(place.config_file, changed)
    print(f"Added agent {agent}: {place.agent(agent).workspace}")
    print(f"Talk to it: {call.invocation.command(f'chat --agent {agent}', place)}")
    if asyncio.run(_is_running(place)):
        print("The running gateway uses it after its next start.")


@app.command()
def remove(
    call: Call, agent: NAME, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the prompt.")] = False
) -> None:
    """Remove an agent and its bindings from config.toml and archive its folder. No file is deleted."""
    place = call.existing_home
    config = config_of(place)
    is_known, folder = agent in config.agents, place.agent(agent).root
    if not is_known and not (_WANTED.fullmatch(agent) and folder.is_dir()):
        raise ConfigError(_unknown(config, agent))
    if is_known and len(config.agents) == 1:
        raise ConfigError(f"agents.{agent} is the only agent, and a gateway needs one; add another one first")
    if not yes:
        typer.confirm(f"Remove agent {agent} from {place.config_file}? Its files are kept.", abort=True)
    for line in _remove_agent(call.invocation, place, agent, config):
        print(line)


# --- list and show


def _agent_row(home: Home, config: "Config", agent: str) -> AgentRow:
    from gateway.cluster.workspace_locks import workspaces_of

    settings = config.agents[agent]
    return AgentRow(
        agent,
        " → ".join((settings.model, *settings.fallbacks)),
        str(workspaces_of(home, config)[agent]),
        tuple(str(each) for each in config.bindings if each.agent == agent),
        config.default_agent == agent,
    )


def _agent_details(invocation: Invocation, home: Home, agent: str) -> AgentDetails:
    config = config_of(home)
    if agent not in config.agents:
        raise ConfigError(_unknown(config, agent))
    listed = _agent_row(home, config, agent)
    sessions = sorted(unquote(file.stem) for file in home.agent(agent).sessions.glob("*.jsonl"))
    memory = asyncio.run(_memory(invocation, home, agent))
    return AgentDetails(listed, tuple(_files(Path(listed.workspace))), tuple(sessions), memory)


def _files(root: Path) -> Iterator[FileRow]:
    from workspaces.files import Folder

    folder = Folder(root)
    for found in folder.walk():
        yield FileRow(str(found.path), found.size)
    folder.close()


async def _memory(invocation: Invocation, home: Home, agent: str) -> MemoryStatus | None:
    async with reach(invocation, home, "strandline agents show") as reached:
        if agent not in {each.agent for each in (await reached.operator.ask(StatusOrder())).agents}:
            return None
        return await reached.operator.ask(MemoryOrder(agent))


def _lines(shown: AgentDetails) -> Iterator[str]:
    listed = shown.listed
    yield f"agent     {listed.agent}{' (takes messages without a binding)' if listed.is_default else ''}"
    yield f"model     {listed.model}"
    yield f"terminal  strandline chat --agent {listed.agent}"
    for binding in listed.bindings:
        yield f"binding   {binding}"
    yield memory_line(shown.memory) if shown.memory else "memory: available after the gateway restarts"
    for session in shown.sessions:
        yield f"session   {session}"
    yield f"workspace {listed.workspace}, {len(shown.files):,} files, {sum(f.size for f in shown.files):,} bytes"
    for file in shown.files[:_SHOWN_FILES]:
        yield f"          {file.path} ({file.size:,} bytes)"
    if len(shown.files) > _SHOWN_FILES:
        yield f"          … and {len(shown.files) - _SHOWN_FILES:,} more; --json lists all"


# --- add and remove


def _unknown(config: "Config", agent: str) -> str:
    from gateway.config.reading import nearest

    return f"agents.{agent}: no such agent; {nearest(agent, config.agents)}"


async def _is_running(home: Home) -> bool:
    control = home.control()
    if control is None:
        return False
    from gateway.control.remote import reach_gateway

    async with reach_gateway(control) as operator:
        return operator is not None


def _remove_agent(invocation: Invocation, home: Home, agent: str, config: "Config") -> list[str]:
    """Remove the agent; return one line per step done, and how to undo it.

    A running gateway has the folder open, so it stays in place; run the command again later to archive it.
    """
    from gateway.config import owner_zone

    is_running = asyncio.run(_is_running(home))
    with nullcontext() if is_running else home.lock("strandline agents remove"):
        said = _remove_from_config(home, agent, config) if agent in config.agents else []
        if is_running:
            again = invocation.command(f"agents remove {agent}", home)
            return [*said, f"The running gateway keeps it until it stops. Then archive its folder: {again}"]
        today = datetime.now(owner_zone(config.owner.time_zone, invocation.environ).zone).date()
        return [*said, *_archive_folder(home, agent, today)]


def _remove_from_config(home: Home, agent: str, config: "Config") -> list[str]:
    from gateway.config.changes import changing
    from gateway.config.editing import without_agent
    from gateway.config.reading import parse_config

    with changing(home) as text:
        removal = without_agent(text, agent)
        changed = parse_config(removal.text, home.config_file)
        home.agent(agent).root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        home.write(home.agent(agent).root / _TAKEN, removal.taken)
        home.write(home.config_file, removal.text)
    said = [f"Agent {agent} is removed from {home.config_file}; bindings removed with it: {_fewer(config, changed)}."]
    if config.default_agent == agent:
        said.append(f"Messages without a binding now go to agent {changed.default_agent}.")
    said.append("Its jobs stay listed and do not run; remove those that you no longer want: strandline cron list")
    if (elsewhere := config.agents[agent].workspace) is not None:
        said.append(f"Its workspace {elsewhere} stays where it is.")
    return said


def _fewer(before: "Config", after: "Config") -> int:
    return len(before.bindings) - len(after.bindings)


def _archive_folder(home: Home, agent: str, day: date) -> list[str]:
    folder = home.agent(agent).root
    home.removed.mkdir(mode=FOLDER_MODE, exist_ok=True)
    names = (home.removed / f"{agent}-{day}{f'-{number}' if number > 1 else ''}" for number in count(1))
    place = next(name for name in names if not name.exists())
    folder.rename(place)
    return [
        f"All its files are in {place}.",
        f"To restore it, move that folder to {folder} and the lines of {_TAKEN} in it to {home.config_file}.",
    ]


@app.command()
def adopt(
    call: Call,
    agent: Annotated[str, typer.Argument(help="Agent that no gateway runs.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the prompt.")] = False,
) -> None:
    """Among gateways on one Redis: let an agent use its files in this home and no other copy from now on."""
    place = call.home
    config = config_of(place)
    if agent not in config.agents:
        raise ConfigError(f"agents.{agent}: no such agent; the agents are: {', '.join(config.agents)}")
    if config.redis.url is None:
        raise StrandlineError("there is nothing to adopt: this home keeps its own state, so its files are the agent's")
    folder = place.agent(agent).root
    if not folder.is_dir():
        raise StrandlineError(f"there is no {folder}; put the agent's files there first")
    if not yes:
        question = f"Make {folder} the files of agent {agent}? Copies elsewhere are no longer used."
        typer.confirm(question, abort=True)
    asyncio.run(_adopt(call.invocation, place, agent, config.redis))
    print(f"Agent {agent} now uses {folder}; a gateway of this home takes it.")


async def _adopt(invocation: Invocation, home: Home, agent: str, settings: "RedisSettings") -> None:
    """Give the files a new unique name; if interrupted between store and folder, run it again."""
    from gateway.cluster.file_ownership import FolderState, next_claim, write_mark
    from gateway.cluster.workspace_locks import agent_lock
    from gateway.stores.redis.leases import adopt as adopted
    from gateway.stores.redis.server import server_of

    fresh, server = next_claim(FolderState(None, False)), server_of(settings, invocation.environ_of(home))
    try:
        with agent_lock(home, agent):
            if holder := await adopted(server, settings.prefix, agent, fresh.pin):
                raise StrandlineError(f"agent {agent} has a gateway ({holder}); stop that one first")
            write_mark(home, agent, fresh)
    except WorkspaceLockedError as exc:
        raise StrandlineError(f"a gateway works on the files of agent {agent}; stop that one first") from exc
    except OSError as exc:
        raise StoreError(f"{home.agent(agent).root} cannot be written: {exc.strerror}") from exc
