"""`strandline sessions …`: stored conversations, read by their owner."""

import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from gateway.cli.call import Call, JsonCall
from gateway.cli.command_group import command_app
from gateway.cli.invocation import AgentOption, plain_fields
from gateway.control.wire import SessionMatch, SessionRecord, SessionRow, SessionsAnswer, SessionsOrder
from gateway.errors import StrandlineError

app = command_app("Read stored conversations: list, show, export, search.")

RESULT_CHARS = 300
"""Characters shown of a tool's arguments and result; `--json` and an export have all."""

WhoseOption = Annotated[str | None, typer.Option("--agent", help="Only this agent's; default: all agents.")]
Session = Annotated[str, typer.Argument(help="Name of the conversation, as shown by `list`.")]
DAY = ["%Y-%m-%d"]


class Form(StrEnum):
    """Format of an export."""

    MARKDOWN = "markdown"
    JSONL = "jsonl"


@app.command(name="list")
def list_(call: JsonCall, agent: WhoseOption = None) -> None:
    """List conversations: current ones first, then ended ones, latest first."""
    answer = call.ask(SessionsOrder("list", agent))
    rows = {"sessions": [plain_fields(row) for row in answer.sessions]}
    call.print(rows, map(_row, answer.sessions), "No conversations yet.")


@app.command()
def show(
    call: JsonCall,
    session: Session,
    agent: AgentOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of records.")] = 50,
) -> None:
    """Show the end of a conversation, newest last."""
    answer = call.ask(SessionsOrder("show", agent, session, limit=limit))
    records = [plain_fields(record) for record in answer.records]
    shown = {"records": records, "damaged": answer.damaged, "unknown": answer.unknown}
    call.print(shown, map(_record_text, answer.records))
    if not call.as_json:
        _tell_faults(answer.damaged, answer.unknown)


@app.command()
def export(
    call: Call,
    session: Session,
    form: Annotated[Form, typer.Option("--format", help="Readable text, or the records as stored.")] = Form.MARKDOWN,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write to this new file instead of standard output.")
    ] = None,
    agent: AgentOption = None,
) -> None:
    """Export a whole conversation as Markdown, or its records as stored, one JSON object a line."""
    asyncio.run(_export(call, SessionsOrder("export", agent, session), form, output))


@app.command()
def search(
    call: JsonCall,
    text: Annotated[str, typer.Argument(help="Text to find, in any case; at least two characters.")],
    agent: AgentOption = None,
    since: Annotated[datetime | None, typer.Option("--since", formats=DAY, help="First day to search.")] = None,
    until: Annotated[datetime | None, typer.Option("--until", formats=DAY, help="Last day to search.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=50, help="Maximum number of matches.")] = 20,
) -> None:
    """Search the conversations' text, newest first; the search includes both days."""
    days = since.date() if since else None, until.date() if until else None
    answer = call.ask(SessionsOrder("search", agent, None, text, *days, limit=limit))
    found = {"matches": [plain_fields(match) for match in answer.matches], "notice": answer.notice}
    lines = [_match(match) for match in answer.matches] or ["Nothing found."]
    call.print(found, [*lines, f"({answer.notice})"] if answer.notice else lines)


async def _export(call: Call, order: SessionsOrder, form: Form, output: Path | None) -> None:
    async with call.reach() as reached:
        part = await reached.operator.ask(order)
        damaged, unknown = part.damaged, part.unknown
        with _writing(output) as write:
            write(_text(part, form))
            while part.next_offset is not None:
                part = await reached.operator.ask(structs.replace(order, offset=part.next_offset))
                damaged, unknown = damaged + part.damaged, unknown + part.unknown
                write(_text(part, form))
    _tell_faults(damaged, unknown)


@contextmanager
def _writing(output: Path | None) -> Iterator[Callable[[str], object]]:
    """Yield a writer to *output*, which must be new and is removed if anything fails, or to standard output."""
    if output is None:
        yield sys.stdout.write
        return
    try:
        file = os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8")
    except OSError as exc:
        raise StrandlineError(f"{output} cannot be created: {exc.strerror}; name a new file") from exc
    try:
        with file:
            yield file.write
    except BaseException as exc:
        output.unlink()
        if isinstance(exc, OSError):
            raise StrandlineError(f"{output} cannot be written: {exc.strerror}") from exc
        raise


def _text(part: SessionsAnswer, form: Form) -> str:
    if form is Form.JSONL:
        return "".join(part.lines)
    return "".join(f"{lines}\n\n" for lines in map(_markdown, part.records))


def _markdown(record: SessionRecord) -> str:
    at = f"{record.at:%Y-%m-%d %H:%M}"
    match record.kind:
        case "message" | "reply":
            return f"### {record.who}, {at}\n\n{record.text}"
        case "call" | "result":
            return f"_{record.kind} of {record.who}, {at}_\n\n{_code_block(record.text)}"
        case _:
            return f"_{record.who}, {at}: {record.text}_"


def _code_block(text: str) -> str:
    """Return *text* as a code block, whatever it contains."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}\n{text}\n{fence}"


def _row(row: SessionRow) -> str:
    until = f"ended {row.ended:%Y-%m-%d %H:%M}" if row.ended else f"last {row.last:%Y-%m-%d %H:%M}"
    extent = f"{row.messages:,} messages, {row.size:,} bytes, {until}"
    return f"{row.agent}  {row.session}  {extent}"


def _record_text(record: SessionRecord) -> str:
    at = f"{record.at:%Y-%m-%d %H:%M}"
    match record.kind:
        case "message" | "reply":
            return f"{at} {record.who}: {record.text}"
        case "call" | "result":
            line = " ".join(record.text.split())
            cut = f"{line[:RESULT_CHARS]}…" if len(line) > RESULT_CHARS else line
            return f"{at}   {record.kind} of {record.who}: {cut}"
        case _:
            return f"{at}   ({record.who}: {record.text})"


def _match(match: SessionMatch) -> str:
    around = [f"  {match.before}"] * bool(match.before), [f"  {match.after}"] * bool(match.after)
    place = f"{match.citation}  {match.day}" if match.day else match.citation
    return "\n".join([place, *around[0], f"> {match.text}", *around[1]])


def _tell_faults(damaged: int, unknown: int) -> None:
    """Report unreadable records on standard error, so that standard output holds only the conversation."""
    if damaged:
        print(f"strandline: {damaged:,} damaged lines were skipped; they stay in the file", file=sys.stderr)
    if unknown:
        print(f"strandline: {unknown:,} lines of an unknown type were skipped; they stay in the file", file=sys.stderr)
