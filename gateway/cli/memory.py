"""`strandline memory …`: the state of an agent's index, its update, and searches."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.agent.entries import HOW_USED
from gateway.cli.checkup import app as checkup
from gateway.cli.command_group import command_app
from gateway.cli.connect import ask, reach, tell
from gateway.cli.history import SHOWN_DIGITS
from gateway.cli.invocation import AgentOption, HomeOption, Invocation, JsonOption, invoked, print_answer, print_json
from gateway.cli.progress import progress_bar
from gateway.cli.status import memory_line
from gateway.control.exam_wire import AcceptIndexOrder, ExamOrder, ExamReport
from gateway.control.status_wire import MemoryOrder, MemoryStatus
from gateway.control.stream_wire import IndexOrder
from gateway.control.wire import MemorySearchAnswer, MemorySource, OriginOrder, SearchOrder, Why, WhyOrder
from gateway.errors import ConfigError
from gateway.runtime.escape import visible
from workspaces.memory.change_exam import LOST
from workspaces.memory.search_notes import NOTHING_CLEAR

if TYPE_CHECKING:
    from gateway.app.index_migration import Compared, Progress
    from gateway.config import Config, QdrantSettings
    from gateway.home import Home


def migrate(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the Qdrant server, such as http://qdrant:6333.")],
    api_key_env: Annotated[str | None, typer.Option(help="Environment variable that holds the API key.")] = None,
    layout: Annotated[
        Literal["agent", "shared"], typer.Option(help="One collection per agent, or one shared by all.")
    ] = "agent",
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Build every agent's index on a Qdrant server and compare its answers; then print the settings that use it.

    The gateway must not run meanwhile; its own index stays as it is.
    """
    from gateway.app.ownership import own
    from gateway.config import QdrantSettings, read_config

    invocation, place = invoked(context, home)
    invocation.refuse_absent(place)
    config = read_config(place.config_file)
    if config.qdrant.url is not None:
        raise ConfigError(f"qdrant.url: the index is already on {config.qdrant.url}")
    server = _server(QdrantSettings, url, api_key_env, layout)
    with own(place, "strandline memory migrate"), _bar() as progress:
        compared = asyncio.run(_build_and_compare(invocation, place, config, server, progress))
    _tell(compared, server, as_json)
    if not all(each.is_same for each in compared):
        raise typer.Exit(1)


def _server(kind: "type[QdrantSettings]", url: str, api_key_env: str | None, layout: str) -> "QdrantSettings":
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python({"url": url, "api_key_env": api_key_env, "layout": layout})
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_input=False)[0]
        raise ConfigError(f"qdrant.{fault['loc'][0]}: {fault['msg'].removeprefix('Value error, ')}") from exc


async def _build_and_compare(
    invocation: Invocation, home: "Home", config: "Config", server: "QdrantSettings", progress: "Progress"
) -> "list[Compared]":
    from gateway.app.index_migration import build_on_server

    return await build_on_server(home, config, server, invocation.environ_of(home), progress)


def _tell(compared: "list[Compared]", server: "QdrantSettings", as_json: bool) -> None:
    is_same = all(each.is_same for each in compared)
    if as_json:
        print_json({"same": is_same, "agents": [asdict(each) for each in compared]})
        return
    for each in compared:
        there = f"{each.entries_there:,} of {each.entries_here:,} entries copied"
        print(f"agent {each.agent}: {there}, {each.queries - len(each.different)} of {each.queries} answers the same")
        for question in each.different[:5]:
            print(f"    different: {visible(question)}")
    if not is_same:
        print("Nothing was changed here: the server's answers differ from those of this machine.")
        return
    print("The answers are the same. To use the server, add this to config.toml and restart the gateway:\n\n[qdrant]")
    print(f'url = "{server.url}"')
    if server.api_key_env:
        print(f'api_key_env = "{server.api_key_env}"')
    if server.layout != "agent":
        print(f'layout = "{server.layout}"')


@contextmanager
def _bar() -> "Iterator[Progress]":
    """Show progress on standard error if it is a terminal; otherwise only the outcome is printed."""
    if not sys.stderr.isatty():
        yield lambda _agent, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True)) as bar:
        tasks: dict[str, object] = {}

        def tell(agent: str, done: int, total: int) -> None:
            task = tasks.setdefault(agent, bar.add_task(agent)) if agent not in tasks else tasks[agent]
            bar.update(task, completed=done, total=total)  # type: ignore[arg-type]  # rich's own id

        yield tell


MISSED = 10
"""Unanswered questions that are shown to people."""

app = command_app("Manage memory: status, index, search, exam, accept, checkup, why, origin, migrate.")


@app.command()
def status(
    context: typer.Context, as_json: JsonOption = False, agent: AgentOption = None, home: HomeOption = None
) -> None:
    """Show the number of indexed entries, the search method, and the files left out."""
    state = ask(context, home, MemoryOrder(agent))
    skipped = (f"not indexed: {path}: {reason}" for path, reason in state.skipped.items())
    print_answer(state, as_json, [memory_line(state), *filter(None, [state.foreign]), *skipped])


@app.command()
def index(
    context: typer.Context, as_json: JsonOption = False, agent: AgentOption = None, home: HomeOption = None
) -> None:
    """Update the index from the files; only changed files are read again."""
    invocation: Invocation = context.obj

    async def indexed() -> tuple[str, MemoryStatus]:
        async with reach(invocation, invocation.home(home), context.command_path) as reached:
            with progress_bar("Indexing") as progress:
                outcome = await reached.operator.index(IndexOrder(agent), progress)
            return outcome, await reached.operator.ask(MemoryOrder(agent))

    outcome, state = asyncio.run(indexed())
    print_answer({"outcome": outcome, **asdict(state)}, as_json, [outcome])


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
    order = SearchOrder(query, agent, max_results, as_of.date() if as_of else None)
    found = ask(context, home, order)
    hits = [asdict(hit) for hit in found.hits]
    print_answer({"hits": hits, "mode": found.mode, "reason": found.reason}, as_json, hit_lines(found))


@app.command()
def exam(
    context: typer.Context, as_json: JsonOption = False, agent: AgentOption = None, home: HomeOption = None
) -> None:
    """Ask the search questions made from the agent's own notes; 1 if it lost more than 1 % since the last time."""
    report = ask(context, home, ExamOrder(agent))
    print_answer(report, as_json, _exam_lines(report))
    if report.lost > LOST:
        raise typer.Exit(1)


@app.command()
def accept(context: typer.Context, agent: AgentOption = None, home: HomeOption = None) -> None:
    """Use a change of embedder, chunking or version that memory held back since it finds less."""
    was_held = ask(context, home, AcceptIndexOrder(agent))
    print("The new index is in use." if was_held else "No change was held back.")


@app.command()
def why(
    context: typer.Context, as_json: JsonOption = False, agent: AgentOption = None, home: HomeOption = None
) -> None:
    """Show the memories that the latest answer in your own conversation used, with their scores."""
    tell(context, home, WhyOrder(agent), as_json, _reasons)


@app.command()
def origin(
    context: typer.Context,
    citation: Annotated[str, typer.Argument(help="Citation of a passage from a search, such as MEMORY.md#L3-L5.")],
    as_json: JsonOption = False,
    agent: AgentOption = None,
    home: HomeOption = None,
) -> None:
    """Show the change that wrote a passage, and the message that led to it."""
    tell(context, home, OriginOrder(citation, agent), as_json, origin_lines)


def _exam_lines(report: ExamReport) -> Iterator[str]:
    if not report.asked:
        yield "No notes with facts to ask for."
        return
    share = f"{report.found / report.asked:.1%}"
    yield f"{report.found} of {report.asked} questions answered ({share}), {report.first} of them first."
    yield ", ".join(f"{kind} {found} of {asked}" for kind, (found, asked) in report.kinds.items())
    yield from (f"not found: {each}" for each in report.missed[:MISSED])
    if len(report.missed) > MISSED:
        yield f"… {len(report.missed) - MISSED} more: --json"
    if report.before:
        yield f"before    {report.before[-1]}"
        yield from (f"          {each}" for each in reversed(report.before[:-1]))
        change = f"{report.lost:.1%} of the same questions lost" if report.lost > 0 else "nothing lost"
        yield f"since     {change}"


def origin_lines(known: MemorySource) -> Iterator[str]:
    """Yield where a passage comes from as text for people."""
    yield known.citation
    yield from (f"    {line}" for line in known.text.splitlines())
    if not known.steps:
        yield "Not in the history yet: it was written a moment ago, or edited outside the gateway since its last check."
    for step in known.steps:
        revision = f"{step.revision[:SHOWN_DIGITS]} " if step.revision else ""
        yield f"{revision}{step.at:%Y-%m-%d %H:%M} {step.subject}"
        if step.revision:
            message = f", message {step.message}" if step.message else ""
            yield f"from {step.session}{message}" if step.session else "origin unknown"
        yield from (f"    > {line}" for line in step.said.splitlines() if step.revision)


def _reasons(known: Why) -> Iterator[str]:
    if not known.question:
        yield "No questions yet."
        return
    yield f"Asked: {' '.join(known.question.split())[:200]}"
    if not known.used:
        yield "No memory was used."
    for each in known.used:
        scores = f"score {each.score:.2f}, meaning {each.similarity:.2f}, words {each.keyword:.2f}"
        yield f"{each.citation}  {HOW_USED[each.how]}{'' if each.how == 'read' else f', {scores}'}"
        yield f"    {each.origin or 'origin unknown'}"


def hit_lines(found: MemorySearchAnswer) -> Iterator[str]:
    """Yield a search's hits as text for people."""
    if not found.hits:
        yield "Nothing found."
    elif not found.is_clear:
        yield NOTHING_CLEAR
    for hit in found.hits:
        yield f"{hit.citation}  {hit.score:.2f}{f'  ({hit.holds})' if hit.holds else ''}"
        yield from (f"    {line}" for line in hit.snippet.splitlines())
    if notice := found.reason or ("found by keywords only" if found.mode == "keyword" else ""):
        yield f"({notice})"


app.command()(migrate)
app.add_typer(checkup, name="checkup")
