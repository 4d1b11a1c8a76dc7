"""`strandline pair …`: pairing requests and paired guests."""

from collections.abc import Iterator
from typing import Annotated

import typer

from gateway.cli.call import JsonCall
from gateway.cli.command_group import command_app
from gateway.control.admission_wire import PairAnswer, PairOrder

app = command_app("Manage pairing requests: list, approve, refuse, revoke, people.")

Code = Annotated[str, typer.Argument(help="Pairing code, such as ABCDE-23456.")]
Person = Annotated[str, typer.Argument(help="Id of the guest, such as telegram:12345.")]


@app.command(name="list")
def list_(call: JsonCall) -> None:
    """List pairing requests with their codes; a code is valid for an hour."""
    call.tell(PairOrder("list"), _lines, "No pairing requests.")


@app.command()
def people(call: JsonCall) -> None:
    """List the guests admitted by a code."""
    call.tell(PairOrder("people"), _lines, "No guests were approved by pairing.")


@app.command()
def approve(call: JsonCall, code: Code) -> None:
    """Admit a person by their code or number (telegram:12345): as a guest, in direct chats only."""
    call.tell(PairOrder("approve", code), _lines)


@app.command()
def refuse(call: JsonCall, code: Code) -> None:
    """Refuse a pairing request; the person is not notified and gets no new code for a week."""
    call.tell(PairOrder("refuse", code), _lines)


@app.command()
def revoke(call: JsonCall, person: Person) -> None:
    """Revoke a guest's access; their pending messages are dropped."""
    call.tell(PairOrder("revoke", person), _lines)


def _lines(answer: PairAnswer) -> Iterator[str]:
    for each in answer.waiting:
        yield f"{each.code}  {each.person} at {each.account}, until {each.expires_at:%H:%M}: {each.name}"
    for guest in answer.guests:
        yield f"{guest.person} at {guest.account}, since {guest.since:%Y-%m-%d}: {guest.name}"
    if answer.outcome:
        yield answer.outcome
