"""`strandline pair …`: pairing requests and paired guests."""

from collections.abc import Iterator
from typing import Annotated

import typer

from gateway.cli.command_group import command_app
from gateway.cli.connect import tell
from gateway.cli.invocation import HomeOption, JsonOption
from gateway.control.admission_wire import PairAnswer, PairOrder

app = command_app("Manage pairing requests: list, approve, refuse, revoke, people.")

Code = Annotated[str, typer.Argument(help="Pairing code, such as ABCDE-23456.")]
Person = Annotated[str, typer.Argument(help="Id of the guest, such as telegram:12345.")]


@app.command(name="list")
def list_(context: typer.Context, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List pairing requests with their codes; a code is valid for an hour."""
    tell(context, home, PairOrder("list"), as_json, _lines, "No pairing requests.")


@app.command()
def people(context: typer.Context, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List the guests admitted by a code."""
    tell(context, home, PairOrder("people"), as_json, _lines, "No guests were approved by pairing.")


@app.command()
def approve(context: typer.Context, code: Code, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Admit a person by their code or number (telegram:12345): as a guest, in direct chats only."""
    tell(context, home, PairOrder("approve", code), as_json, _lines)


@app.command()
def refuse(context: typer.Context, code: Code, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Refuse a pairing request; the person is not notified and gets no new code for a week."""
    tell(context, home, PairOrder("refuse", code), as_json, _lines)


@app.command()
def revoke(context: typer.Context, person: Person, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Revoke a guest's access; their pending messages are dropped."""
    tell(context, home, PairOrder("revoke", person), as_json, _lines)


def _lines(answer: PairAnswer) -> Iterator[str]:
    for each in answer.waiting:
        yield f"{each.code}  {each.person} at {each.account}, until {each.expires_at:%H:%M}: {each.name}"
    for guest in answer.guests:
        yield f"{guest.person} at {guest.account}, since {guest.since:%Y-%m-%d}: {guest.name}"
    if answer.outcome:
        yield answer.outcome
