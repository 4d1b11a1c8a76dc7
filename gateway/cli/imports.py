"""`strandline import …`: turns other people's conversations into an agent's daily notes."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.invocation import HomeOption, Invocation
from gateway.cli.scaffold import prepared, wishes_of
from gateway.errors import ConfigError, StrandlineError
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.importers.locomo import LocomoConversation

app = typer.Typer(help="Import other people's conversations as notes.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def imports() -> None:
    """Import other people's conversations as notes."""


@app.command()
def locomo(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="JSON file in LoCoMo's format.", exists=True, dir_okay=False)],
    conversation: Annotated[
        list[str] | None,
        typer.Option(
            "--conversation", help="Number, from 1, or name of a conversation; may be repeated. Default: all."
        ),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Import the one conversation into this agent.")] = None,
    agent_prefix: Annotated[str, typer.Option("--agent-prefix", help="Prefix for each agent's name.")] = "",
    home: HomeOption = None,
) -> None:
    """Import LoCoMo: one agent per conversation, one daily note per session, one entry per turn."""
    from gateway.importers.locomo import LocomoError, read_locomo

    invocation: Invocation = context.obj
    place = invocation.home(home)
    try:
        chosen = _named(_chosen(read_locomo(file), conversation), agent, agent_prefix)
    except LocomoError as exc:
        raise StrandlineError(str(exc)) from exc
    with prepared(place, wishes_of(invocation.environ), "strandline import") as (config, _):
        locked = set(config.agents) if config.redis.url is None else set()
        written = {each.agent: _take_in(place, each, is_locked=each.agent in locked) for each in chosen}
    for name, notes in written.items():
        print(f"Agent {name}: {notes} daily notes written")
    print(f"Next: {invocation.command(f'memory index --agent {chosen[0].agent}', place)}")


def _chosen(all_of_them: "Sequence[LocomoConversation]", wanted: list[str] | None) -> "list[LocomoConversation]":
    if not wanted:
        return list(all_of_them)
    known = {str(number): each for number, each in enumerate(all_of_them, 1)} | {
        each.agent: each for each in all_of_them
    }
    for name in wanted:
        if name not in known:
            names = ", ".join(each.agent for each in all_of_them)
            raise ConfigError(f"--conversation {name}: 1 to {len(all_of_them)}, or one of {names}")
    return [known[name] for name in dict.fromkeys(wanted)]


def _named(chosen: "list[LocomoConversation]", agent: str | None, prefix: str) -> "list[LocomoConversation]":
    if agent is None:
        return [replace(each, agent=prefix + each.agent) for each in chosen]
    if len(chosen) != 1:
        raise ConfigError(f"--agent takes one conversation, these are {len(chosen)}; choose with --conversation")
    return [replace(chosen[0], agent=agent)]


def _take_in(home: Home, conversation: "LocomoConversation", *, is_locked: bool) -> int:
    """Write the notes into the agent's workspace, creating the agent first; return the number of new notes."""
    from gateway.cluster.workspace_locks import workspace_locks

    _configure(home, conversation.agent)
    folder = _workspace_of(home, conversation.agent)
    with nullcontext() if is_locked else workspace_locks(home, {conversation.agent: folder}, create=True):
        return _write_notes(folder, conversation)


def _write_notes(folder: Path, conversation: "LocomoConversation") -> int:
    from workspaces.access import AgentId, owner_access
    from workspaces.errors import NoSuchFileError
    from workspaces.workspace import Workspace

    agent = AgentId(conversation.agent)
    workspace = Workspace.create(folder, agent)
    owner = owner_access(agent, "terminal:owner")
    written = 0
    for path, text in conversation.notes.items():
        try:
            there = workspace.read(PurePosixPath(path), owner).text
        except NoSuchFileError:
            workspace.write(path, text, owner, None)
            written += 1
            continue
        if there != text:
            raise StrandlineError(f"agent {agent} has another {path} already; choose another --agent or --agent-prefix")
    return written


def _workspace_of(home: Home, agent: str) -> Path:
    from gateway.config import read_config

    return read_config(home.config_file).agents[agent].workspace or home.agent(agent).workspace


def _configure(home: Home, agent: str) -> None:
    """Add `[agents.<id>]` to the configuration, keeping its comments; reject an invalid result."""
    from gateway.config import read_config
    from gateway.config.editing import with_agent
    from gateway.config.reading import parse_config

    if agent in read_config(home.config_file).agents:
        return
    text = with_agent(home.config_file.read_text("utf-8"), agent)
    parse_config(text, home.config_file)
    home.write(home.config_file, text)
