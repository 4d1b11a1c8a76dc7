"""`strandline import`: turns conversations of other programs into agents' notes."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.invocation import HomeOption, Invocation
from gateway.cli.scaffold import prepare_home, wishes_of
from gateway.errors import ConfigError, StrandlineError
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.importers.imported import ImportedConversation


def import_(  # noqa: PLR0913  # each option is a parameter to typer
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="FORMAT", help="locomo, realtalk, or the name of an installed package's importer.")
    ],
    file: Annotated[Path, typer.Argument(help="File to import.", exists=True, dir_okay=False)],
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
    """Import conversations of another program as notes: one agent per conversation."""
    from gateway.importers.loading import imported

    invocation: Invocation = context.obj
    place = invocation.home(home)
    chosen = _with_agent_names(_selected(imported(source, file), conversation), agent, agent_prefix)
    with prepare_home(place, wishes_of(invocation.environ), "strandline import") as (config, _):
        locked = set(config.agents) if config.redis.url is None else set()
        written = {each.agent: _take_in(place, each, is_locked=each.agent in locked) for each in chosen}
    for name, notes in written.items():
        print(f"Agent {name}: {notes} notes written")
    print(f"Next: {invocation.command(f'memory index --agent {chosen[0].agent}', place)}")


def _selected(all_of_them: "Sequence[ImportedConversation]", wanted: list[str] | None) -> "list[ImportedConversation]":
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


def _with_agent_names(
    chosen: "list[ImportedConversation]", agent: str | None, prefix: str
) -> "list[ImportedConversation]":
    if agent is None:
        return [replace(each, agent=prefix + each.agent) for each in chosen]
    if len(chosen) != 1:
        raise ConfigError(f"--agent takes one conversation, these are {len(chosen)}; choose with --conversation")
    return [replace(chosen[0], agent=agent)]


def _take_in(home: Home, conversation: "ImportedConversation", *, is_locked: bool) -> int:
    """Write the notes into the agent's workspace, creating the agent first; return the number of new notes."""
    from gateway.cluster.workspace_locks import workspace_locks

    _configure(home, conversation.agent)
    folder = _workspace_of(home, conversation.agent)
    with nullcontext() if is_locked else workspace_locks(home, {conversation.agent: folder}, create=True):
        return _write_notes(folder, conversation)


def _write_notes(folder: Path, conversation: "ImportedConversation") -> int:
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
