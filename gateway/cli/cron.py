"""`strandline cron …`: scheduled agent jobs."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.connect import reach
from gateway.cli.invocation import HomeOption, Invocation, JsonOption, print_json
from gateway.control.cron_wire import CronAnswer, CronOrder
from gateway.home import Home
from gateway.runtime.escape import visible

app = typer.Typer(
    help="Schedule agent jobs: list, add, run, remove, enable, history.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Number = Annotated[int, typer.Argument(help="Number of the job, as shown by `list`.", min=1)]
When = Annotated[
    str, typer.Argument(help='Schedule: "at 2026-12-24 09:00", "in 20m", "every 2h" or "0 9 * * MON-FRI".')
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
    _print(_asked(context, home, CronOrder("list", agent)), as_json, "There are no jobs.")


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
    _print(_asked(context, home, order), as_json)


@app.command()
def run(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Run a job now, in addition to its schedule."""
    _print(_asked(context, home, CronOrder("run", number=number)), as_json)


@app.command()
def remove(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Remove a job and its history."""
    _print(_asked(context, home, CronOrder("remove", number=number)), as_json)


@app.command()
def enable(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Re-enable a job that was disabled after repeated failures."""
    _print(_asked(context, home, CronOrder("enable", number=number)), as_json)


@app.command()
def history(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Show the outcome of a job's latest runs: silent, delivered, failed, dead, missed."""
    _print(_asked(context, home, CronOrder("history", number=number)), as_json, "It was not due yet.")


def _asked(context: typer.Context, home: Path | None, order: CronOrder) -> CronAnswer:
    invocation: Invocation = context.obj
    return asyncio.run(_ask(invocation, invocation.home(home), order))


async def _ask(invocation: Invocation, home: Home, order: CronOrder) -> CronAnswer:
    async with reach(invocation, home, f"strandline cron {order.act}") as reached:
        return await reached.operator.cron(order)


def _print(answer: CronAnswer, as_json: bool, none: str = "") -> None:
    if as_json:
        print_json(asdict(answer))
        return
    lines = [*(job.line for job in answer.jobs), *(run.line for run in answer.runs)]
    for line in [answer.outcome] if answer.outcome else lines or [none]:
        print(visible(line))
