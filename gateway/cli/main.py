"""The command line: its commands, their shared options, and the report of failures.

Exit status: 0 done; 1 failed; 2 wrong configuration or usage; 3 another process owns the home; 130 interrupted.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from gateway.cli import (
    agents,
    approvals,
    backup,
    bench,
    chat,
    config,
    connections,
    cron,
    history,
    hooks,
    imports,
    init,
    keys,
    mcp,
    memory,
    pair,
    quarantine,
    route,
    sessions,
    status,
    up,
    web,
)
from gateway.cli.composition import compose_app
from gateway.cli.doctor import doctor
from gateway.cli.invocation import Compose, HomeOption, Invocation
from gateway.cli.redacted_output import redacted_output
from gateway.control.operator_api import EXPECTED
from gateway.errors import ConfigError, HomeLockedError, WorkspaceLockedError

FAILED, MISCONFIGURED, LOCKED = 1, 2, 3


def run(argv: Sequence[str], environ: Mapping[str, str], program: str, compose: Compose = compose_app) -> int:
    """Run the command that *argv* names and return the exit status; expected failures are one line each."""
    status, invocation = 0, Invocation(environ, compose, program)
    with invocation.until_its_end, redacted_output():
        try:
            status = _run(argv, invocation)
        except* EXPECTED as group:
            status = _tell(_leaves(group))
    return status


def _run(argv: Sequence[str], invocation: Invocation) -> int:
    try:
        typer.main.get_command(commands())(args=list(argv), prog_name="strandline", obj=invocation)
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else FAILED
    return 0


def commands() -> typer.Typer:
    """Return the tree of commands; each imports heavy libraries when it runs."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback()(_root)
    app.command()(init.init)
    app.command()(up.up)
    app.command()(chat.chat)
    app.command()(status.status)
    app.command()(doctor.doctor)
    app.command()(mcp.mcp)
    app.command()(backup.backup)
    app.command()(backup.verify)
    app.command()(backup.restore)
    app.add_typer(connections.app, name="connect")
    app.add_typer(config.app, name="config")
    app.add_typer(keys.app, name="keys")
    app.add_typer(agents.app, name="agents")
    app.add_typer(memory.app, name="memory")
    app.add_typer(history.app, name="history")
    app.add_typer(sessions.app, name="sessions")
    app.add_typer(approvals.app, name="approvals")
    app.add_typer(quarantine.app, name="quarantine")
    app.add_typer(pair.app, name="pair")
    app.add_typer(cron.app, name="cron")
    app.add_typer(hooks.app, name="hooks")
    app.add_typer(route.app, name="route")
    app.add_typer(web.app, name="web")
    app.command(name="import")(imports.import_)
    app.add_typer(bench.app, name="bench")
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


def _leaves(group: BaseExceptionGroup[Exception]) -> list[Exception]:
    found: list[Exception] = []
    for each in group.exceptions:
        found += _leaves(each) if isinstance(each, BaseExceptionGroup) else [each]
    return found


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
