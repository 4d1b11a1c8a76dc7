"""`strandline memory checkup …`: faults of an agent's notes, and decisions about proposals."""

from collections.abc import Iterator
from typing import Annotated, Literal

import typer

from gateway.cli.call import JsonCall
from gateway.cli.command_group import command_app
from gateway.cli.invocation import AgentOption
from gateway.control.checkup_wire import CheckupAnswer, CheckupOrder
from gateway.control.stream_wire import CheckOrder

SHOWN = 20
"""Proposals that are shown to people; `--json` has all."""

app = command_app("Check an agent's notes, and decide on the proposals.", runs_alone=True)

Marks = Annotated[list[str], typer.Argument(help="Marks of proposals, as `checkup` shows them.")]


@app.callback(invoke_without_command=True)
def checkup(
    call: JsonCall,
    agent: AgentOption = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Show only this kind, such as double.")] = None,
) -> None:
    """Find duplicate, copied, outdated and invented notes, and propose changes; nothing is changed."""
    if call.context.invoked_subcommand is not None:
        return
    outcome, answer = call.follow("Checking", CheckOrder(agent), CheckupOrder(agent=agent))
    call.print(answer, [outcome, *_lines(answer, kind)])


def _add_command(act: Literal["accept", "refuse"], text: str) -> None:
    """Add a command on some proposals; *text* is its help."""

    @app.command(act, help=text)
    def command(call: JsonCall, marks: Marks, agent: AgentOption = None) -> None:
        call.tell(CheckupOrder(act, tuple(marks), None, agent), _outcome)


_add_command("accept", "Carry out proposals; those that do not fit any more are left, and listed.")
_add_command("refuse", "Leave the notes as they are, and never propose it again.")


@app.command()
def edit(
    call: JsonCall,
    mark: Annotated[str, typer.Argument(help="Mark of a proposal, as `checkup` shows it.")],
    words: Annotated[str, typer.Argument(help="The note in your own words.")],
    agent: AgentOption = None,
) -> None:
    """Write your own words in the place of the note that a proposal is about."""
    call.tell(CheckupOrder("accept", (mark,), words, agent), _outcome)


@app.command()
def undo(
    call: JsonCall,
    mark: Annotated[str, typer.Argument(help="Mark of an accepted or refused proposal.")],
    agent: AgentOption = None,
) -> None:
    """Undo an accepted change, with those accepted in the same command, or a refusal."""
    call.tell(CheckupOrder("undo", (mark,), None, agent), _outcome)


def _outcome(answer: CheckupAnswer) -> Iterator[str]:
    yield answer.outcome


def _lines(answer: CheckupAnswer, kind: str | None) -> Iterator[str]:
    shown = [each for each in answer.proposals if kind in {None, each.kind}]
    for each in shown[:SHOWN]:
        yield f"\n{each.mark}  {each.kind}  {each.citation}: {each.reason}"
        yield from (f"    {line}" for line in each.diff.splitlines() if not line.startswith("@@"))
    if len(shown) > SHOWN:
        yield f"\n… {len(shown) - SHOWN:,} more: --json, or --kind KIND"
    if shown:
        yield "\nNothing was changed. Decide: strandline memory checkup accept MARK…, refuse MARK…, edit MARK WORDS"
