"""`/history`: what was said about a thing, oldest first, and what was known of it on a day."""

from collections.abc import Iterator, Sequence
from datetime import date

from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.errors import ToolError
from workspaces.memory.query import MOST_RESULTS, Query
from workspaces.memory.text.dates import mentions
from workspaces.memory.value_history import DatedStatement, statements

SHOWN = 20
"""Most lines of one answer; our choice."""
_USAGE = "Add a thing, such as `/history staging port`, or a day and a thing: `/history 2026-03-03 staging port`."


def history_commands(_: CommandResources) -> list[Command]:
    told = "what was said about a thing, oldest first; with a day before it, what was known then"
    return [Command("history", "[day] <words>", told, Who.ANYONE, True, _history, passes=True)]


async def _history(call: CommandCall) -> str:
    day, words = _day_and_words(call.arguments, call.now.date())
    if not words:
        raise ToolError(_USAGE)
    query, index = Query(words, MOST_RESULTS, as_of=day), call.agent.memory
    index.touched()  # what was said a second ago is looked at too
    found = await (index.known_on if day else index.search)(query, call.access)
    return "\n".join(_lines(statements(found.hits, words), day))


def _day_and_words(arguments: str, today: date) -> tuple[date | None, str]:
    """Return the day at the start of *arguments*, if there is one, and the rest."""
    for start, end, named in mentions(arguments.casefold()):
        if not arguments[:start].strip() and named.day and named.month:
            try:
                return date(named.year or today.year, named.month, named.day), arguments[end:].strip(" :,")
            except ValueError:
                break
    return None, arguments.strip()


def _lines(found: Sequence[DatedStatement], day: date | None) -> Iterator[str]:
    if not found:
        yield "Nothing was said about that" + (f" until {day}." if day else ".")
        return
    if len(found) > SHOWN:
        yield f"The latest {SHOWN} of {len(found)}:"
    for each in found[-SHOWN:]:
        marks = [*(["somebody else's words, passed on"] if each.is_others else []), *filter(None, [each.mark])]
        aside = "".join(f" ({mark})" for mark in marks)
        yield f"- {each.day or 'MEMORY.md'}: {each.text} (`{each.citation}`){aside}"
