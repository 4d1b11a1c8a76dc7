"""`strandline quarantine …`: rows that stay unprocessed until the owner retries or drops them."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.connect import reach
from gateway.cli.invocation import HomeOption, Invocation, JsonOption, print_json
from gateway.control.wire import QuarantineAnswer, QuarantineOrder
from gateway.home import Home
from gateway.runtime.escape import visible

app = typer.Typer(
    help="List, retry or drop messages, replies and jobs that could not be processed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Row = Annotated[str, typer.Argument(metavar="ID", help="Row, as shown by `list`.")]


@app.command(name="list")
def list_(context: typer.Context, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List quarantined rows, oldest first, with the reason."""
    answer = _asked(context, home, QuarantineOrder("list"))
    if not as_json and not (answer.rows or answer.files):
        print("The quarantine is empty.")
        return
    _print(answer, as_json)


@app.command()
def retry(context: typer.Context, row: Row, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Process a row again, as if it had just come."""
    _print(_asked(context, home, QuarantineOrder("retry", row)), as_json)


@app.command()
def drop(context: typer.Context, row: Row, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Delete a row for good."""
    _print(_asked(context, home, QuarantineOrder("drop", row)), as_json)


def _asked(context: typer.Context, home: Path | None, order: QuarantineOrder) -> QuarantineAnswer:
    invocation: Invocation = context.obj
    return asyncio.run(_ask(invocation, invocation.home(home), order))


async def _ask(invocation: Invocation, home: Home, order: QuarantineOrder) -> QuarantineAnswer:
    async with reach(invocation, home, f"strandline quarantine {order.act}") as reached:
        return await reached.operator.quarantine(order)


def _print(answer: QuarantineAnswer, as_json: bool) -> None:
    if as_json:
        print_json(asdict(answer))
        return
    for line in _lines(answer):
        print(visible(line))


def _lines(answer: QuarantineAnswer) -> Iterator[str]:
    for row in answer.rows:
        yield f"{row.id}  {row.kind} of {row.at:%Y-%m-%d %H:%M}Z: {row.excerpt}"
        yield f"    {row.reason}: {row.why}"
    yield from (f"{file}  search crashes on it and leaves it out" for file in answer.files)
    if answer.outcome:
        yield answer.outcome
