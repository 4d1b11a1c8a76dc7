"""This file is `strandline cron …`: what agents do at their times."""

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
    help="Have agents do something at its time: list, add, run, remove, enable, history.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Number = Annotated[int, typer.Argument(help="As the list gives it.", min=1)]
When = Annotated[str, typer.Argument(help='Such as "at 2026-12-24 09:00", "in 20m", "every 2h" or "0 9 * * MON-FRI".')]
What = Annotated[str, typer.Argument(help="What the agent is told then; you get its answer.")]
WhoseOption = Annotated[str | None, typer.Option("--agent", help="Of this agent.")]
ZoneOption = Annotated[str | None, typer.Option("--zone", help='Such as "Europe/Berlin"; yours if not given.')]
MainOption = Annotated[bool, typer.Option("--main", help="Run it in your own conversation, not in one of its own.")]
PrivateOption = Annotated[bool, typer.Option("--private", help="Let it work over your private notes.")]


@app.command(name="list")
def list_(
    context: typer.Context, agent: WhoseOption = None, as_json: JsonOption = False, home: HomeOption = None
) -> None:
    """List the jobs, when each comes next, and which were stopped."""
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
    """Run a job now, beside its schedule."""
    _print(_asked(context, home, CronOrder("run", number=number)), as_json)


@app.command()
def remove(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Forget a job and its history."""
    _print(_asked(context, home, CronOrder("remove", number=number)), as_json)


@app.command()
def enable(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Let a job come again that was stopped after failures."""
    _print(_asked(context, home, CronOrder("enable", number=number)), as_json)


@app.command()
def history(context: typer.Context, number: Number, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Say what became of a job's latest times: silent, delivered, failed, dead, missed."""
    _print(_asked(context, home, CronOrder("history", number=number)), as_json, "It was not due yet.")


def _asked(context: typer.Context, home: Path | None, order: CronOrder) -> CronAnswer:
    invocation: Invocation = context.obj
    return asyncio.run(_ask(invocation, invocation.home(home), order))


async def _ask(invocation: Invocation, home: Home, order: CronOrder) -> CronAnswer:
    async with reach(invocation, home, f"strandline cron {order.act}") as reached:
        return await reached.desk.cron(order)


def _print(answer: CronAnswer, as_json: bool, none: str = "") -> None:
    if as_json:
        print_json(asdict(answer))
        return
    lines = [*(job.line for job in answer.jobs), *(run.line for run in answer.runs)]
    for line in [answer.outcome] if answer.outcome else lines or [none]:
        print(visible(line))
