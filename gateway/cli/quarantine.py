"""`strandline quarantine …`: rows that stay unprocessed until the owner retries or drops them."""

from collections.abc import Iterator
from typing import Annotated

import typer

from gateway.cli.call import JsonCall
from gateway.cli.command_group import command_app
from gateway.control.quarantine_wire import QuarantineAnswer, QuarantineOrder

app = command_app("List, retry or drop messages, replies and jobs that could not be processed.")

Row = Annotated[str, typer.Argument(metavar="ID", help="Row, as shown by `list`.")]


@app.command(name="list")
def list_(call: JsonCall) -> None:
    """List quarantined rows, oldest first, with the reason."""
    call.tell(QuarantineOrder("list"), _lines, "The quarantine is empty.")


@app.command()
def retry(call: JsonCall, row: Row) -> None:
    """Process a row again, as if it had just arrived."""
    call.tell(QuarantineOrder("retry", row), _lines)


@app.command()
def drop(call: JsonCall, row: Row) -> None:
    """Delete a row for good."""
    call.tell(QuarantineOrder("drop", row), _lines)


def _lines(answer: QuarantineAnswer) -> Iterator[str]:
    for row in answer.rows:
        yield f"{row.id}  {row.kind} of {row.at:%Y-%m-%d %H:%M}: {row.excerpt}"
        yield f"    {row.reason}: {row.why}"
    yield from (f"{file}  search crashes on it and leaves it out" for file in answer.files)
    if answer.outcome:
        yield answer.outcome
