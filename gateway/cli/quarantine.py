"""`strandline quarantine …`: rows that stay unprocessed until the owner retries or drops them."""

from collections.abc import Iterator
from typing import Annotated

import typer

from gateway.cli.command_group import command_app
from gateway.cli.connect import tell
from gateway.cli.invocation import HomeOption, JsonOption
from gateway.control.quarantine_wire import QuarantineAnswer, QuarantineOrder

app = command_app("List, retry or drop messages, replies and jobs that could not be processed.")

Row = Annotated[str, typer.Argument(metavar="ID", help="Row, as shown by `list`.")]


@app.command(name="list")
def list_(context: typer.Context, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List quarantined rows, oldest first, with the reason."""
    tell(context, home, QuarantineOrder("list"), as_json, _lines, "The quarantine is empty.")


@app.command()
def retry(context: typer.Context, row: Row, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Process a row again, as if it had just come."""
    tell(context, home, QuarantineOrder("retry", row), as_json, _lines)


@app.command()
def drop(context: typer.Context, row: Row, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Delete a row for good."""
    tell(context, home, QuarantineOrder("drop", row), as_json, _lines)


def _lines(answer: QuarantineAnswer) -> Iterator[str]:
    for row in answer.rows:
        yield f"{row.id}  {row.kind} of {row.at:%Y-%m-%d %H:%M}: {row.excerpt}"
        yield f"    {row.reason}: {row.why}"
    yield from (f"{file}  search crashes on it and leaves it out" for file in answer.files)
    if answer.outcome:
        yield answer.outcome
