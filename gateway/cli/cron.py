"""`strandline cron …`: scheduled agent jobs."""

from typing import Annotated

import typer

from gateway.cli.call import JsonCall
from gateway.cli.command_group import command_app
from gateway.control.cron_wire import CronAnswer, CronOrder

app = command_app("Schedule agent jobs: list, add, run, remove, enable, history.")

Number = Annotated[int, typer.Argument(help="Number of the job, as shown by `list`.", min=1)]
When = Annotated[
    str, typer.Argument(help='Schedule: "at 2026-12-24 09:00", "in 20m", "every 2h", "Sun 18:00" or cron.')
]
What = Annotated[str, typer.Argument(help="Prompt for the agent when the job fires; you receive the answer.")]
WhoseOption = Annotated[str | None, typer.Option("--agent", help="Name of the agent.")]
ZoneOption = Annotated[str | None, typer.Option("--zone", help='Time zone, such as "Europe/Berlin"; default: yours.')]
MainOption = Annotated[
    bool, typer.Option("--main", help="Run the job in your own conversation instead of a separate one.")
]
PrivateOption = Annotated[bool, typer.Option("--private", help="Give the job access to your private notes.")]


@app.command(name="list")
def list_(call: JsonCall, agent: WhoseOption = None) -> None:
    """List jobs with their next run; stopped ones are marked."""
    call.tell(CronOrder("list", agent), _lines, "There are no jobs.")


@app.command()
def add(  # noqa: PLR0913  # each option is a parameter to typer
    call: JsonCall,
    when: When,
    what: What,
    agent: WhoseOption = None,
    zone: ZoneOption = None,
    main: MainOption = False,
    private: PrivateOption = False,
) -> None:  # each option is a parameter to typer
    """Add a job; its answer goes to your own chat with the agent."""
    order = CronOrder("add", agent, when=when, what=what, zone=zone, in_main=main, private=private)
    call.tell(order, _lines)


@app.command()
def run(call: JsonCall, number: Number) -> None:
    """Run a job now, in addition to its schedule."""
    call.tell(CronOrder("run", number=number), _lines)


@app.command()
def remove(call: JsonCall, number: Number) -> None:
    """Remove a job and its history."""
    call.tell(CronOrder("remove", number=number), _lines)


@app.command()
def enable(call: JsonCall, number: Number) -> None:
    """Re-enable a job that was disabled after repeated failures."""
    call.tell(CronOrder("enable", number=number), _lines)


@app.command()
def history(call: JsonCall, number: Number) -> None:
    """Show the outcome of a job's latest runs: silent, delivered, failed, dead, missed."""
    call.tell(CronOrder("history", number=number), _lines, "No runs yet.")


def _lines(answer: CronAnswer) -> list[str]:
    listed = [*(job.line for job in answer.jobs), *(run.line for run in answer.runs)]
    return [answer.outcome] if answer.outcome else listed
