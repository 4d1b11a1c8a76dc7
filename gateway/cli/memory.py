"""`strandline memory …`: the state of an agent's index, its update, and searches."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer

from gateway.agent.entries import HOW_USED
from gateway.cli.connect import reach
from gateway.cli.history import SHOWN_DIGITS
from gateway.cli.invocation import AgentOption, HomeOption, Invocation, JsonOption, print_json
from gateway.cli.migrate import migrate
from gateway.cli.status import memory_line
from gateway.control.operator_api import Progress
from gateway.control.status_wire import MemoryStatus
from gateway.control.wire import AgentOrder, MemorySearchAnswer, MemorySource, OriginOrder, SearchOrder, Why
from gateway.home import Home
from gateway.runtime.escape import visible

app = typer.Typer(
    help="Manage memory: status, index, search, why, origin, migrate.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def status(
    context: typer.Context, as_json: JsonOption = False, agent: AgentOption = None, home: HomeOption = None
) -> None:
    """Show the number of indexed entries, the search method, and the files left out."""
    invocation: Invocation = context.obj
    state = asyncio.run(_status(invocation, invocation.home(home), AgentOrder(agent)))
    if as_json:
        print_json(asdict(state))
        return
    print(visible(memory_line(state)))
    for path, reason in state.skipped.items():
        print(visible(f"not indexed: {path}: {reason}"))


@app.command()
def index(
    context: typer.Context, as_json: JsonOption = False, agent: AgentOption = None, home: HomeOption = None
) -> None:
    """Update the index from the files; only changed files are read again."""
    invocation: Invocation = context.obj
    outcome, state = asyncio.run(_index(invocation, invocation.home(home), AgentOrder(agent)))
    if as_json:
        print_json({"outcome": outcome, **asdict(state)})
    else:
        print(outcome)


@app.command()
def search(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="Query in your own words.")],
    as_json: JsonOption = False,
    agent: AgentOption = None,
    max_results: Annotated[
        int | None, typer.Option("--max-results", min=1, max=50, help="Maximum number of results.")
    ] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option("--as-of", formats=["%Y-%m-%d"], help="Search the notes as they were on this day."),
    ] = None,
    home: HomeOption = None,
) -> None:
    """Search MEMORY.md and the daily notes as their owner."""
    invocation: Invocation = context.obj
    order = SearchOrder(query, agent, max_results, as_of.date() if as_of else None)
    found = asyncio.run(_search(invocation, invocation.home(home), order))
    if as_json:
        print_json({"hits": [asdict(hit) for hit in found.hits], "mode": found.mode, "reason": found.reason})
        return
    for line in found_lines(found):
        print(visible(line))


@app.command()
def why(
    context: typer.Context, as_json: JsonOption = False, agent: AgentOption = None, home: HomeOption = None
) -> None:
    """Show the memories that the latest answer in your own conversation used, with their scores."""
    invocation: Invocation = context.obj
    known = asyncio.run(_why(invocation, invocation.home(home), AgentOrder(agent)))
    if as_json:
        print_json(asdict(known))
        return
    for line in _reasons(known):
        print(visible(line))


@app.command()
def origin(
    context: typer.Context,
    citation: Annotated[str, typer.Argument(help="Citation of a passage from a search, such as MEMORY.md#L3-L5.")],
    as_json: JsonOption = False,
    agent: AgentOption = None,
    home: HomeOption = None,
) -> None:
    """Show the change that wrote a passage, and the message that led to it."""
    invocation: Invocation = context.obj
    known = asyncio.run(_origin(invocation, invocation.home(home), OriginOrder(citation, agent)))
    if as_json:
        print_json(asdict(known))
        return
    for line in _steps(known):
        print(visible(line))


async def _status(invocation: Invocation, home: Home, order: AgentOrder) -> MemoryStatus:
    async with reach(invocation, home, "strandline memory status") as reached:
        return await reached.operator.memory_status(order)


async def _index(invocation: Invocation, home: Home, order: AgentOrder) -> tuple[str, MemoryStatus]:
    async with reach(invocation, home, "strandline memory index") as reached:
        with _bar() as progress:
            outcome = await reached.operator.index(order, progress)
        return outcome, await reached.operator.memory_status(order)


async def _search(invocation: Invocation, home: Home, order: SearchOrder) -> MemorySearchAnswer:
    async with reach(invocation, home, "strandline memory search") as reached:
        return await reached.operator.search(order)


async def _why(invocation: Invocation, home: Home, order: AgentOrder) -> Why:
    async with reach(invocation, home, "strandline memory why") as reached:
        return await reached.operator.why(order)


async def _origin(invocation: Invocation, home: Home, order: OriginOrder) -> MemorySource:
    async with reach(invocation, home, "strandline memory origin") as reached:
        return await reached.operator.origin(order)


def _steps(known: MemorySource) -> Iterator[str]:
    yield known.citation
    yield from (f"    {line}" for line in known.text.splitlines())
    if not known.steps:
        yield "Not in the history yet: written a moment ago, or in an editor since the gateway last looked."
    for step in known.steps:
        revision = f"{step.revision[:SHOWN_DIGITS]} " if step.revision else ""
        yield f"{revision}{step.at:%Y-%m-%d %H:%M} {step.subject}"
        if step.revision:
            yield f"from {step.session or 'no conversation'}{f', message {step.message}' if step.message else ''}"
        yield from (f"    > {line}" for line in step.said.splitlines() if step.revision)


def _reasons(known: Why) -> Iterator[str]:
    if not known.question:
        yield "Nothing was asked yet."
        return
    yield f"Asked: {' '.join(known.question.split())[:200]}"
    if not known.used:
        yield "No memory was used."
    for each in known.used:
        scores = f"relevance {each.relevance:.2f}, meaning {each.similarity:.2f}, words {each.keyword:.2f}"
        yield f"{each.citation}  {HOW_USED[each.how]}{'' if each.how == 'read' else f', {scores}'}"


def found_lines(found: MemorySearchAnswer) -> Iterator[str]:
    """Yield a search's hits as text for people."""
    if not found.hits:
        yield "Nothing found."
    for hit in found.hits:
        yield f"{hit.citation}  {hit.score:.2f}"
        yield from (f"    {line}" for line in hit.snippet.splitlines())
    if found.mode == "keyword":
        yield f"Searched by keyword alone{': ' + found.reason if found.reason else ''}."
    elif found.reason:
        yield f"({found.reason})"


app.command()(migrate)


@contextmanager
def _bar() -> Iterator[Progress]:
    """Show progress on standard error if it is a terminal; otherwise only the outcome is printed."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("Indexing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
