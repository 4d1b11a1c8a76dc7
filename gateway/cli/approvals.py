"""`strandline approvals …`: changes that wait for their owner."""

from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from gateway.cli.call import JsonCall
from gateway.cli.command_group import command_app
from gateway.control.wire import ApprovalAnswer, ApprovalOrder, WaitingChange

app = command_app("Review pending file changes: list, show, approve, refuse.")

Number = Annotated[int, typer.Argument(help="Number of the change, as shown by `list`.", min=1)]
WhoseOption = Annotated[str | None, typer.Option("--agent", help="Only this agent's; default: all agents.")]


@app.command(name="list")
def list_(call: JsonCall, agent: WhoseOption = None) -> None:
    """List pending changes, oldest first."""
    call.tell(ApprovalOrder("list", None, agent), _lines, "No changes wait for you.")


def _add_command(act: Literal["show", "approve", "refuse"], text: str) -> None:
    """Add a command on one change; *text* is its help."""

    @app.command(act, help=text)
    def command(call: JsonCall, number: Number, agent: WhoseOption = None) -> None:
        call.tell(ApprovalOrder(act, number, agent), _lines)


_add_command("show", "Show one change in full, its origin, and the reason it waits.")
_add_command("approve", "Make the change, unless the file has changed since.")
_add_command("refuse", "Discard the change.")


def _lines(answer: ApprovalAnswer) -> Iterator[str]:
    for change in answer.changes:
        yield _line(change)
        if change.diff or change.words:
            yield f"from {change.session}{f', message {change.message}' if change.message else ''}"
            yield change.diff or change.words
    if answer.outcome:
        yield answer.outcome


def _line(change: WaitingChange) -> str:
    until = f"until {change.expires_at:%Y-%m-%d %H:%M}"
    return f"#{change.number} agent {change.agent}: {change.subject} ({change.reason}), {until}"
