"""`strandline cron …`: scheduled agent jobs."""

from typing import Annotated

import typer

from gateway.cli.command_group import command_app
from gateway.cli.connect import tell
from gateway.cli.invocation import HomeOption, JsonOption
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
def list_(
    context: typer.Context, agent: WhoseOption = None, as_json: JsonOption = False, home: HomeOption = None
) -> None:
    """List jobs with their next run; stopped ones are marked."""
    tell(context, home, CronOrder("list", agent), as_json, _lines, "There are no jobs.")


@app.command()
def add(  # noqa: PLR0913  # each option is a parameter to typer
    context: typer.Context,
    when: When,
    what: What,
    agent: WhoseOption = None,
    zone: ZoneOption = None,
    main: MainOption = False,
    private: PrivateOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Add a job; its answer goes to your own chat with the agent."""
    order = CronOrder("add", agent, when=when, what=what, zone=zone, in_main=main, private=private)
    tell(context, home, order, as_json, _lines)


@app.command()
def run(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Run a job now, in addition to its schedule."""
    tell(context, home, CronOrder("run", number=number), as_json, _lines)


@app.command()
def remove(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Remove a job and its history."""
    tell(context, home, CronOrder("remove", number=number), as_json, _lines)


@app.command()
def enable(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Re-enable a job that was disabled after repeated failures."""
    tell(context, home, CronOrder("enable", number=number), as_json, _lines)


@app.command()
def history(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Show the outcome of a job's latest runs: silent, delivered, failed, dead, missed."""
    tell(context, home, CronOrder("history", number=number), as_json, _lines, "It was not due yet.")


def _lines(answer: CronAnswer) -> list[str]:
    listed = [*(job.line for job in answer.jobs), *(run.line for run in answer.runs)]
    return [answer.outcome] if answer.outcome else listed
