"""The command line: its commands, their shared options, and the report of failures.

Exit status: 0 done; 1 failed; 2 wrong configuration or usage; 3 another process owns the home; 130 interrupted.
"""

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.command_group import CommandEntry, lazy_group
from gateway.cli.invocation import Compose, Composed, HomeOption, Invocation
from gateway.cli.redacted_output import redacted_output
from gateway.errors import ConfigError, HomeLockedError, WorkspaceLockedError, leaves
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.config import Config

FAILED, MISCONFIGURED, LOCKED = 1, 2, 3

START, TALK, MEMORY, ACCESS, OPERATION = "Start", "Talk", "Memory", "People and channels", "Operation"
COMMANDS = tuple(
    CommandEntry(name, f"gateway.cli.{target}", subject, line)
    for name, target, subject, line in (
        ("init", "init:init", START, "Create a home: config.toml and the workspace of agent main."),
        ("up", "up:up", START, "Start the gateway."),
        ("doctor", "doctor.doctor:doctor", START, "Check everything a gateway needs."),
        (
            "connect",
            "connections:app",
            START,
            "Connect chat platforms, models and tools: telegram, discord, model, mcp, claim.",
        ),
        ("config", "config:app", START, "Show and change settings: get, set, unset, edit."),
        ("keys", "keys:app", START, "Manage keys and tokens: set, list, remove."),
        (
            "import",
            "imports:import_",
            START,
            "Import notes and conversations from other programs; your own files are not overwritten.",
        ),
        ("docs", "docs:docs", START, "Read the documentation: lists its pages, or shows one."),
        ("chat", "chat:chat", TALK, "Talk to an agent, with or without a running gateway."),
        ("status", "status:status", TALK, "Show running components, queues and dropped messages."),
        ("sessions", "sessions:app", TALK, "Read stored conversations: list, show, export, search."),
        (
            "memory",
            "memory:app",
            MEMORY,
            "Manage memory: status, index, search, exam, accept, checkup, why, origin.",
        ),
        ("history", "history:app", MEMORY, "Show and restore file versions: log, show, diff, restore, bundle."),
        ("approvals", "approvals:app", MEMORY, "Review pending file changes: list, show, approve, refuse."),
        ("mcp", "mcp:mcp", MEMORY, "Serve an agent's memory to another program over MCP (stdio)."),
        ("pair", "pair:app", ACCESS, "Manage pairing requests: list, approve, refuse, revoke, people."),
        ("route", "route:app", ACCESS, "Explain routes and unanswered messages: explain, why."),
        ("web", "web:app", ACCESS, "Manage browser sign-ins: login, sessions, revoke."),
        ("agents", "agents:app", OPERATION, "Manage agents: list, show, add, remove, adopt."),
        ("cron", "cron:app", OPERATION, "Schedule agent jobs: list, add, run, remove, enable, history."),
        ("hooks", "hooks:app", OPERATION, "Manage hooks, your own code: list, test, enable."),
        (
            "quarantine",
            "quarantine:app",
            OPERATION,
            "List, retry or drop messages, replies and jobs that could not be processed.",
        ),
        ("service", "autostart:app", OPERATION, "Have the system start the gateway: install, uninstall."),
        ("backup", "backup:backup", OPERATION, "Back up the gateway's whole state to one file."),
        ("verify", "backup:verify", OPERATION, "Check a backup to its last byte and preview its restore."),
        ("restore", "backup:restore", OPERATION, "Preview a backup; with --yes, restore it to an empty home."),
        (
            "upgrade",
            "upgrade:upgrade",
            OPERATION,
            "Try a new version on a copy of the home, show every difference, and switch to it or stay.",
        ),
        ("bench", "bench:app", OPERATION, "Measure memory search and indexing; needs the source."),
    )
)
"""Every command, in the order of the list."""


@asynccontextmanager
async def compose_app(
    home: Home, config: "Config", environ: Mapping[str, str], *, channels: bool
) -> AsyncIterator[Composed]:
    """Open the application of *home*, whose lock the caller holds, for a command that needs a gateway."""
    from gateway.app.app import App
    from gateway.runtime.crash_report import reporting

    async with App.open(home, config, environ, channels=channels) as app, reporting(home.crash_report):
        resources = app.parts.resources
        yield Composed(
            app.operator, app.parts.health, app.run, resources.meter, app.web(environ), resources.home.share.over.set
        )


def run(argv: Sequence[str], environ: Mapping[str, str], program: str, compose: Compose = compose_app) -> int:
    """Run the command that *argv* names and return the exit status; expected failures are one line each."""
    status, invocation = 0, Invocation(environ, compose, program)
    with invocation.until_its_end, redacted_output():
        try:
            status = _run(argv, invocation)
            with suppress(BrokenPipeError):
                sys.stdout.flush()
        except* Exception as group:
            told = _sentences(leaves(group))
            if not told:
                raise
            status = _tell(told)
    return status


def _run(argv: Sequence[str], invocation: Invocation) -> int:
    try:
        typer.main.get_command(commands())(args=list(argv), prog_name="strandline", obj=invocation)
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else FAILED
    return 0


def commands() -> typer.Typer:
    """Return the program with all commands."""
    app = typer.Typer(
        cls=lazy_group(COMMANDS), no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
    )
    app.callback()(_root)
    return app


def _version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        print(f"strandline {version('strandline')}")
        raise typer.Exit


def _root(
    context: typer.Context,
    home: HomeOption = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A gateway for your own agents, with a memory you can read."""
    invocation: Invocation = context.obj
    invocation.prefer(home)


def _sentences(failures: Sequence[Exception]) -> Sequence[Exception]:
    """Return *failures* as errors in plain sentences; nothing if one is a fault in the program."""
    from gateway.control.expected_errors import operator_error  # most commands need not load it

    told = [sentence for each in failures if (sentence := operator_error(each))]
    return told if len(told) == len(failures) else []


def _tell(failures: Sequence[Exception]) -> int:
    for failure in failures:
        print(f"strandline: {failure}", file=sys.stderr)
    match failures[0]:
        case ConfigError():
            return MISCONFIGURED
        case HomeLockedError() | WorkspaceLockedError():
            return LOCKED
        case _:
            return FAILED
