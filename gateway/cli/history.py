"""`strandline history …`: changes of an agent's files, with time and origin, and how to undo them."""

from collections.abc import Iterator
from typing import Annotated

import typer

from gateway.cli.call import JsonCall
from gateway.cli.command_group import command_app
from gateway.cli.invocation import AgentOption, plain_fields
from gateway.control.wire import HistoryAnswer, HistoryCommit, HistoryOrder
from gateway.errors import ConfigError

app = command_app("Show and restore file versions: log, show, diff, restore, bundle.")

SHOWN_DIGITS = 10
"""Digits shown of a revision; seven are enough to name one."""

PathOption = Annotated[str | None, typer.Option("--path", help="Only this file or folder of the workspace.")]
Revision = Annotated[str, typer.Argument(help="Revision, as shown by `log`.")]


@app.command()
def log(
    call: JsonCall,
    agent: AgentOption = None,
    path: PathOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of changes.")] = 20,
) -> None:
    """List changes, newest first."""
    order = HistoryOrder("log", agent, path, limit=limit)
    answer = call.ask(order)
    commits = {"commits": [plain_fields(commit) for commit in answer.commits]}
    call.print(commits, map(_line, answer.commits))


@app.command()
def show(call: JsonCall, revision: Revision, agent: AgentOption = None, path: PathOption = None) -> None:
    """Show one change and the message it came from."""
    call.tell(HistoryOrder("show", agent, path, revision), _lines)


@app.command()
def diff(
    call: JsonCall,
    revisions: Annotated[
        list[str], typer.Argument(help="Two revisions, older one first; a single one is compared with the newest.")
    ],
    agent: AgentOption = None,
    path: PathOption = None,
) -> None:
    """Compare two revisions."""
    if len(revisions) > 2:
        raise ConfigError("strandline history diff compares two revisions at most")
    newer = revisions[1] if len(revisions) == 2 else None
    call.tell(HistoryOrder("diff", agent, path, revisions[0], newer), _lines)


@app.command()
def restore(
    call: JsonCall,
    revision: Revision,
    path: Annotated[str, typer.Argument(help="Path of the file, relative to the workspace.")],
    agent: AgentOption = None,
) -> None:
    """Restore a file to a revision; its current content stays in the history."""
    call.tell(HistoryOrder("restore", agent, path, revision), _lines)


@app.command()
def bundle(call: JsonCall, agent: AgentOption = None) -> None:
    """Export the whole history to one file for `git clone`, and print its path."""
    call.tell(HistoryOrder("bundle", agent), _lines)


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
