"""`strandline approvals …`: changes of agents' files that wait for their owner."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.connect import reach
from gateway.cli.invocation import HomeOption, Invocation, JsonOption, print_json
from gateway.control.wire import ApprovalAnswer, ApprovalOrder, WaitingChange
from gateway.home import Home
from gateway.runtime.escape import visible

app = typer.Typer(
    help="Review pending file changes: list, show, approve, refuse.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Number = Annotated[int, typer.Argument(help="Number of the change, as shown by `list`.", min=1)]
WhoseOption = Annotated[str | None, typer.Option("--agent", help="Only this agent's; default: all agents.")]


@app.command(name="list")
def list_(
    context: typer.Context, as_json: JsonOption = False, agent: WhoseOption = None, home: HomeOption = None
) -> None:
    """List pending changes, oldest first."""
    answer = _asked(context, home, ApprovalOrder("list", None, agent))
    if not as_json and not answer.changes:
        print("Nothing waits for you.")
        return
    _print(answer, as_json)


@app.command()
def show(
    context: typer.Context,
    number: Number,
    as_json: JsonOption = False,
    agent: WhoseOption = None,
    home: HomeOption = None,
) -> None:
    """Show one change in full, its origin, and the reason it waits."""
    _print(_asked(context, home, ApprovalOrder("show", number, agent)), as_json)


@app.command()
def approve(
    context: typer.Context,
    number: Number,
    as_json: JsonOption = False,
    agent: WhoseOption = None,
    home: HomeOption = None,
) -> None:
    """Make the change, unless the file has changed since."""
    _print(_asked(context, home, ApprovalOrder("approve", number, agent)), as_json)


@app.command()
def refuse(
    context: typer.Context,
    number: Number,
    as_json: JsonOption = False,
    agent: WhoseOption = None,
    home: HomeOption = None,
) -> None:
    """Discard the change."""
    _print(_asked(context, home, ApprovalOrder("refuse", number, agent)), as_json)


def _asked(context: typer.Context, home: Path | None, order: ApprovalOrder) -> ApprovalAnswer:
    invocation: Invocation = context.obj
    return asyncio.run(_ask(invocation, invocation.home(home), order))


async def _ask(invocation: Invocation, home: Home, order: ApprovalOrder) -> ApprovalAnswer:
    async with reach(invocation, home, f"strandline approvals {order.act}") as reached:
        return await reached.operator.approvals(order)


def _print(answer: ApprovalAnswer, as_json: bool) -> None:
    if as_json:
        print_json(asdict(answer))
        return
    for line in _lines(answer):
        print(visible(line))


def _lines(answer: ApprovalAnswer) -> Iterator[str]:
    for change in answer.changes:
        yield _line(change)
        if change.diff:
            yield f"from {change.session}{f', message {change.message}' if change.message else ''}"
            yield change.diff
    if answer.outcome:
        yield answer.outcome


def _line(change: WaitingChange) -> str:
    until = f"until {change.expires_at:%Y-%m-%d %H:%M}Z"
    return f"#{change.number} agent {change.agent}: {change.path} ({change.reason}), {until}"
