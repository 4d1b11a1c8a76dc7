"""This file is `strandline history …`: what changed in an agent's files, when, from where, and how to undo it."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.connect import reach
from gateway.cli.invocation import AgentOption, HomeOption, Invocation, JsonOption, print_json
from gateway.control.wire import HistoryAnswer, HistoryCommit, HistoryOrder
from gateway.errors import ConfigError
from gateway.home import Home
from gateway.runtime.escape import visible

app = typer.Typer(
    help="Look into the versions of an agent's files: log, show, diff, restore, bundle.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SHOWN_DIGITS = 10
"""Of a revision; seven are enough to name one."""

PathOption = Annotated[str | None, typer.Option("--path", help="Only this file or folder of the workspace.")]
Revision = Annotated[str, typer.Argument(help="As the log gives it.")]


@app.command()
def log(
    context: typer.Context,
    as_json: JsonOption = False,
    agent: AgentOption = None,
    path: PathOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many.")] = 20,
    home: HomeOption = None,
) -> None:
    """List the changes, newest first."""
    answer = _asked(context, home, HistoryOrder("log", agent, path, limit=limit))
    if as_json:
        print_json({"commits": [asdict(commit) for commit in answer.commits]})
        return
    for commit in answer.commits:
        print(visible(_line(commit)))


@app.command()
def show(
    context: typer.Context,
    revision: Revision,
    as_json: JsonOption = False,
    agent: AgentOption = None,
    path: PathOption = None,
    home: HomeOption = None,
) -> None:
    """Show what one change did, and which message it came from."""
    _print(_asked(context, home, HistoryOrder("show", agent, path, revision)), as_json)


@app.command()
def diff(
    context: typer.Context,
    revisions: Annotated[list[str], typer.Argument(help="Two, the older one first; one is compared to the newest.")],
    as_json: JsonOption = False,
    agent: AgentOption = None,
    path: PathOption = None,
    home: HomeOption = None,
) -> None:
    """Compare two revisions."""
    if len(revisions) > 2:
        raise ConfigError("strandline history diff compares two revisions at most")
    newer = revisions[1] if len(revisions) == 2 else None
    _print(_asked(context, home, HistoryOrder("diff", agent, path, revisions[0], newer)), as_json)


@app.command()
def restore(
    context: typer.Context,
    revision: Revision,
    path: Annotated[str, typer.Argument(help="The file, relative to the workspace.")],
    as_json: JsonOption = False,
    agent: AgentOption = None,
    home: HomeOption = None,
) -> None:
    """Bring a file back as it was at a revision; what it is now stays in the history."""
    _print(_asked(context, home, HistoryOrder("restore", agent, path, revision)), as_json)


@app.command()
def bundle(
    context: typer.Context, as_json: JsonOption = False, agent: AgentOption = None, home: HomeOption = None
) -> None:
    """Export the whole history into one file, which `git clone` takes, and print where it is."""
    _print(_asked(context, home, HistoryOrder("bundle", agent)), as_json)


def _asked(context: typer.Context, home: Path | None, order: HistoryOrder) -> HistoryAnswer:
    invocation: Invocation = context.obj
    return asyncio.run(_ask(invocation, invocation.home(home), order))


async def _ask(invocation: Invocation, home: Home, order: HistoryOrder) -> HistoryAnswer:
    async with reach(invocation, home, f"strandline history {order.act}") as reached:
        return await reached.desk.history(order)


def _print(answer: HistoryAnswer, as_json: bool) -> None:
    if as_json:
        print_json(asdict(answer))
        return
    for lines in _lines(answer):
        print(visible(lines))


def _lines(answer: HistoryAnswer) -> Iterator[str]:
    for commit in answer.commits:
        yield _line(commit)
        if commit.session is not None:
            approved = f", approved by {commit.approved_by}" if commit.approved_by else ""
            yield f"from {commit.session}{f', message {commit.message}' if commit.message else ''}{approved}"
    for file in answer.files:
        yield file.text.rstrip("\n")
    if answer.omitted:
        yield f"… and {answer.omitted:,} more files; --path shows one"
    if answer.outcome:
        yield answer.outcome


def _line(commit: HistoryCommit) -> str:
    return f"{commit.revision[:SHOWN_DIGITS]} {commit.at:%Y-%m-%d %H:%M} {commit.subject}"
