"""`strandline memory …`: the state of an agent's index, its update, and searches."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer

from gateway.agent.entries import HOW_USED
from gateway.cli.call import Call, JsonCall
from gateway.cli.checkup import app as checkup
from gateway.cli.command_group import command_app
from gateway.cli.history import SHOWN_DIGITS
from gateway.cli.invocation import AgentOption, plain_fields
from gateway.cli.status import memory_line
from gateway.control.exam_wire import AcceptIndexOrder, ExamOrder, ExamReport
from gateway.control.status_wire import MemoryOrder
from gateway.control.stream_wire import IndexOrder
from gateway.control.wire import MemorySearchAnswer, MemorySource, OriginOrder, SearchOrder, Why, WhyOrder
from workspaces.memory.change_exam import LOST
from workspaces.memory.search_notes import NOTHING_CLEAR

MISSED = 10
"""Unanswered questions that are shown to people."""

app = command_app("Manage memory: status, index, search, exam, accept, checkup, why, origin.")


@app.command()
def status(call: JsonCall, agent: AgentOption = None) -> None:
    """Show the number of indexed entries, the search method, and the files left out."""
    state = call.ask(MemoryOrder(agent))
    skipped = (f"not indexed: {path}: {reason}" for path, reason in state.skipped.items())
    call.print(state, [memory_line(state), *filter(None, [state.foreign]), *skipped])


@app.command()
def index(call: JsonCall, agent: AgentOption = None) -> None:
    """Update the index from the files; only changed files are read again."""
    outcome, state = call.follow("Indexing", IndexOrder(agent), MemoryOrder(agent))
    call.print({"outcome": outcome, **plain_fields(state)}, [outcome])


@app.command()
def search(
    call: JsonCall,
    query: Annotated[str, typer.Argument(help="Query in your own words.")],
    agent: AgentOption = None,
    max_results: Annotated[
        int | None, typer.Option("--max-results", min=1, max=50, help="Maximum number of results.")
    ] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option("--as-of", formats=["%Y-%m-%d"], help="Search the notes as they were on this day."),
    ] = None,
) -> None:
    """Search MEMORY.md and the daily notes as their owner."""
    order = SearchOrder(query, agent, max_results, as_of.date() if as_of else None)
    found = call.ask(order)
    hits = [plain_fields(hit) for hit in found.hits]
    call.print({"hits": hits, "mode": found.mode, "reason": found.reason}, hit_lines(found))


@app.command()
def exam(call: JsonCall, agent: AgentOption = None) -> None:
    """Test the search with questions made from the agent's notes; exit status 1 if it lost more than 1 %."""
    report = call.ask(ExamOrder(agent))
    call.print(report, _exam_lines(report))
    if report.lost > LOST:
        raise typer.Exit(1)


@app.command()
def accept(call: Call, agent: AgentOption = None) -> None:
    """Use a change of embedder, chunking or version that memory held back since it finds less."""
    was_held = call.ask(AcceptIndexOrder(agent))
    print("The new index is in use." if was_held else "No change was held back.")


@app.command()
def why(call: JsonCall, agent: AgentOption = None) -> None:
    """Show the memories that the latest answer in your own conversation used, with their scores."""
    call.tell(WhyOrder(agent), _reasons)


@app.command()
def origin(
    call: JsonCall,
    citation: Annotated[str, typer.Argument(help="Citation of a passage from a search, such as MEMORY.md#L3-L5.")],
    agent: AgentOption = None,
) -> None:
    """Show the change that wrote a passage, and the message that led to it."""
    call.tell(OriginOrder(citation, agent), origin_lines)


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
        yield from (f"    {line}" for line in each.text.splitlines())
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


app.add_typer(checkup, name="checkup")
