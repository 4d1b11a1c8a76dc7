"""`strandline history …`: changes of an agent's files, with time and origin, and how to undo them."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from gateway.cli.command_group import command_app
from gateway.cli.connect import ask, tell
from gateway.cli.invocation import AgentOption, HomeOption, JsonOption, print_answer
from gateway.control.wire import HistoryAnswer, HistoryCommit, HistoryOrder
from gateway.errors import ConfigError

app = command_app("Show and restore file versions: log, show, diff, restore, bundle.")

SHOWN_DIGITS = 10
"""Digits shown of a revision; seven are enough to name one."""

PathOption = Annotated[str | None, typer.Option("--path", help="Only this file or folder of the workspace.")]
Revision = Annotated[str, typer.Argument(help="Revision, as shown by `log`.")]


@app.command()
def log(
    context: typer.Context,
    as_json: JsonOption = False,
    agent: AgentOption = None,
    path: PathOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of changes.")] = 20,
    home: HomeOption = None,
) -> None:
    """List changes, newest first."""
    order = HistoryOrder("log", agent, path, limit=limit)
    answer = ask(context, home, order)
    commits = {"commits": [asdict(commit) for commit in answer.commits]}
    print_answer(commits, as_json, map(_line, answer.commits))


@app.command()
def show(
    context: typer.Context,
    revision: Revision,
    as_json: JsonOption = False,
    agent: AgentOption = None,
    path: PathOption = None,
    home: HomeOption = None,
) -> None:
    """Show one change and the message it came from."""
    tell(context, home, HistoryOrder("show", agent, path, revision), as_json, _lines)


@app.command()
def diff(
    context: typer.Context,
    revisions: Annotated[
        list[str], typer.Argument(help="Two revisions, older one first; a single one is compared with the newest.")
    ],
    as_json: JsonOption = False,
    agent: AgentOption = None,
    path: PathOption = None,
    home: HomeOption = None,
) -> None:
    """Compare two revisions."""
    if len(revisions) > 2:
        raise ConfigError("strandline history diff compares two revisions at most")
    newer = revisions[1] if len(revisions) == 2 else None
    tell(context, home, HistoryOrder("diff", agent, path, revisions[0], newer), as_json, _lines)


@app.command()
def restore(
    context: typer.Context,
    revision: Revision,
    path: Annotated[str, typer.Argument(help="Path of the file, relative to the workspace.")],
    as_json: JsonOption = False,
    agent: AgentOption = None,
    home: HomeOption = None,
) -> None:
    """Restore a file to a revision; its current content stays in the history."""
    tell(context, home, HistoryOrder("restore", agent, path, revision), as_json, _lines)


@app.command()
def bundle(
    context: typer.Context, as_json: JsonOption = False, agent: AgentOption = None, home: HomeOption = None
) -> None:
    """Export the whole history to one file for `git clone`, and print its path."""
    tell(context, home, HistoryOrder("bundle", agent), as_json, _lines)


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
