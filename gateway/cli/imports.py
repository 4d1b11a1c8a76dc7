"""`strandline import`: brings notes and conversations of other programs along."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from gateway.cli.call import Call
from gateway.cli.invocation import config_of
from gateway.cli.scaffold import prepare_home, zone_of
from gateway.errors import ConfigError
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.cli.import_writer import ImportTarget, Step
    from gateway.config import Config
    from gateway.importers.imported import ImportedConversation

_WROTE_THEM = (
    "Did you write these notes, or do you know all of them? Then the agent uses them as your own words. Otherwise it "
    "finds them by a search, and asks you before it acts on them."
)
SHOWN = 20
"""Our choice: a screen's worth of what was left out."""
_OTHERS_WORDS = (
    "Its notes count as other people's words: the agent finds them by a search, and asks you before it acts on them. "
    "If you wrote them, take it back and import with --own."
)


def import_(  # noqa: PLR0913  # each option is a parameter to typer
    call: Call,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="FORMAT",
            help="chatgpt, claude, openclaw, oneclaw, hermes, markdown, locomo, realtalk, or a package's importer.",
        ),
    ] = None,
    file: Annotated[Path | None, typer.Argument(help="File or folder to import.", exists=True)] = None,
    conversation: Annotated[
        list[str] | None,
        typer.Option(
            "--conversation", help="Number, from 1, or name of a conversation; may be repeated. Default: all."
        ),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Import the one conversation into this agent.")] = None,
    agent_prefix: Annotated[str, typer.Option("--agent-prefix", help="Prefix for each agent's name.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be imported, and write nothing.")] = False,
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="IMPORT", help="Take back an import, by its name, such as claude-1.")
    ] = None,
    own: Annotated[
        bool, typer.Option("--own", help="Count the notes as your own words: you wrote them, or know all of them.")
    ] = False,
) -> None:  # each option is a parameter to typer
    """Import notes and conversations from other programs; your own files are not overwritten."""
    from gateway.importers.loading import imported

    invocation, place = call.invocation, call.home
    if undo is None and (source is None or file is None):
        raise ConfigError("name a format and a file: strandline import chatgpt export.zip; --help lists the formats")
    chosen = []
    if source is not None and file is not None:
        chosen = _with_agent_names(_selected(imported(source, file), conversation), agent, agent_prefix)
    is_own = own or (not dry_run and _wrote_them(chosen))
    with prepare_home(place, zone_of(invocation.environ), "strandline import") as (config, _):
        locked = set(config.agents) if config.redis.url is None else set()
        if undo is not None:
            name = _agent_of(place, config, undo, agent)
            with _target(place, name, "", is_locked=name in locked) as target:
                _take_back(target, name, undo)
            return
        for each in chosen:
            is_new = each.agent not in config.agents
            if is_new and dry_run:
                _preview_new(each)
                continue
            with _target(place, each.agent, source or "", is_locked=each.agent in locked, is_own=is_own) as target:
                if is_new:
                    print(f"Agent {each.agent} is new.")
                _take_in(target, each, is_dry=dry_run, command=partial(invocation.command, home=place))
    if not dry_run:
        print(f"Next: {invocation.command(f'memory index --agent {chosen[0].agent}', place)}")


def _wrote_them(found: "Sequence[ImportedConversation]") -> bool:
    """Ask whether notes are the owner's own words, where there are any and somebody can answer."""
    return any(each.notes for each in found) and sys.stdin.isatty() and typer.confirm(_WROTE_THEM)


def _agent_of(home: Home, config: "Config", undo: str, named: str | None) -> str:
    """Return the agent that has the import *undo*: the one that is *named*, if one is. Raises ConfigError."""
    from gateway.cli.import_writer import has_import

    if named is not None and named not in config.agents:
        raise ConfigError(f"agents.{named}: no such agent; known here: {', '.join(config.agents)}")
    having = [each for each in config.agents if has_import(home.agent(each), undo)]
    if named is None and len(having) > 1 and config.default_agent not in having:
        raise ConfigError(f"{', '.join(having)} each have an import {undo}; choose with --agent")
    return named or (config.default_agent if config.default_agent in having or not having else having[0])


def _preview_new(found: "ImportedConversation") -> None:
    count = _count(len(found.notes), len(found.sessions), sum(len(each.messages) for each in found.sessions))
    print(f"Agent {found.agent}: would be new, and get {count}")
    _print_some("Left out", found.left_out)


def _count(notes: int, conversations: int, messages: int) -> str:
    named = ((notes, "note"), (conversations, "conversation"), (messages, "message"))
    texts = [f"{number:,} {noun}{'' if number == 1 else 's'}" for number, noun in named]
    return f"{texts[0]} and {texts[1]} with {texts[2]}"


def _take_back(target: "ImportTarget", agent: str, name: str) -> None:
    receipt = target.receipt(name)
    with _bar(agent, len(receipt.files) + len(receipt.sessions)) as step:
        kept = target.take_back(receipt, step)
    print(f"Agent {agent}: {name} is taken back")
    _print_some("Changed since, and kept", kept)


def _take_in(
    target: "ImportTarget", found: "ImportedConversation", *, is_dry: bool, command: Callable[[str], str]
) -> None:
    plan = target.plan(found)
    target.refuse_full(plan)
    count = _count(len(plan.files), len(plan.sessions), plan.messages)
    known = f"; {plan.known:,} were here before" if plan.known else ""
    if is_dry:
        print(f"Agent {found.agent}: would get {count}{known}")
    elif not plan.files and not plan.sessions and target.unfinished() is None:
        print(f"Agent {found.agent}: nothing new{known}")
    else:
        with _bar(found.agent, len(plan.files) + len(plan.sessions)) as step:
            receipt = target.write(plan, step)
        print(f"Agent {found.agent}: imported {count}{known}")
        print(f"Take it back: {command(f'import --undo {receipt.id} --agent {found.agent}')}")
        if plan.files and not target.is_own:
            print(_OTHERS_WORDS)
        _print_some("Could not be written", receipt.left_out)
    _print_some("Left out", plan.left_out)
    _print_some("Jobs and bindings that it had, none of which is set up here; for those that you want", found.proposals)


@contextmanager
def _bar(label: str, length: int) -> "Iterator[Step]":
    """Yield the step of a progress bar."""
    steps, is_hidden = 1 + length // 200, not sys.stderr.isatty()
    with typer.progressbar(
        length=length, label=label, file=sys.stderr, update_min_steps=steps, hidden=is_hidden
    ) as bar:
        yield lambda: bar.update(1)


def _print_some(title: str, lines: Sequence[str]) -> None:
    for line in [f"{title}:", *(f"  {line}" for line in lines[:SHOWN])] if lines else []:
        print(line.encode("utf-8", "backslashreplace").decode())
    if len(lines) > SHOWN:
        print(f"  and {len(lines) - SHOWN:,} more")


@contextmanager
def _target(home: Home, agent: str, source: str, *, is_locked: bool, is_own: bool = False) -> "Iterator[ImportTarget]":
    """Yield the agent, which is created first if there is none, with its workspace locked."""
    from gateway.cli.import_writer import ImportTarget
    from gateway.cluster.workspace_locks import workspace_locks, workspaces_of
    from workspaces.access import AgentId, owner_access
    from workspaces.files import FileCaps
    from workspaces.workspace import Workspace

    config = _configured(home, agent)
    folder = workspaces_of(home, config)[agent]
    with nullcontext() if is_locked else workspace_locks(home, {agent: folder}, create=True):
        caps = FileCaps(quotas=config.limits)
        workspace = Workspace.create(folder, AgentId(agent), caps)
        try:
            owner = owner_access(AgentId(agent), "terminal:owner")
            yield ImportTarget(home.agent(agent), workspace, owner, source, is_own)
        finally:
            workspace.folder.close()


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
        return [structs.replace(each, agent=prefix + each.agent) for each in chosen]
    if len(chosen) != 1:
        raise ConfigError(f"--agent takes one conversation, these are {len(chosen)}; choose with --conversation")
    return [structs.replace(chosen[0], agent=agent)]


def _configured(home: Home, agent: str) -> "Config":
    """Return the configuration, with `[agents.<id>]` added to the file if it is missing. Raises ConfigError."""
    from gateway.config.changes import change_config
    from gateway.config.editing import with_agent

    config = config_of(home)
    return config if agent in config.agents else change_config(home, lambda text: with_agent(text, agent))
