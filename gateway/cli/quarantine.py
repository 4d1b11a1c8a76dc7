"""`strandline quarantine …`: rows that stay unprocessed until the owner retries or drops them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.command_group import command_app
from gateway.cli.connect import ask
from gateway.cli.invocation import HomeOption, JsonOption, print_answer
from gateway.control.quarantine_wire import QuarantineAnswer, QuarantineOrder

app = command_app("List, retry or drop messages, replies and jobs that could not be processed.")

Row = Annotated[str, typer.Argument(metavar="ID", help="Row, as shown by `list`.")]


@app.command(name="list")
def list_(context: typer.Context, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List quarantined rows, oldest first, with the reason."""
    _run(context, home, QuarantineOrder("list"), as_json, "The quarantine is empty.")


@app.command()
def retry(context: typer.Context, row: Row, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Process a row again, as if it had just come."""
    _run(context, home, QuarantineOrder("retry", row), as_json)


@app.command()
def drop(context: typer.Context, row: Row, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Delete a row for good."""
    _run(context, home, QuarantineOrder("drop", row), as_json)


def _run(context: typer.Context, home: Path | None, order: QuarantineOrder, as_json: bool, none: str = "") -> None:
    answer = ask(context, home, order)
    print_answer(answer, as_json, _lines(answer), none)


def _lines(answer: QuarantineAnswer) -> Iterator[str]:
    for row in answer.rows:
        yield f"{row.id}  {row.kind} of {row.at:%Y-%m-%d %H:%M}: {row.excerpt}"
        yield f"    {row.reason}: {row.why}"
    yield from (f"{file}  search crashes on it and leaves it out" for file in answer.files)
    if answer.outcome:
        yield answer.outcome
