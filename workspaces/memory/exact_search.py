"""Literal, case-insensitive search in the documents themselves: newest first, in linear time."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from itertools import islice

from msgspec import Struct

from workspaces.access import Scope
from workspaces.errors import WorkspaceError
from workspaces.memory.entry import Document, Source, UnreadableDocumentError, cited_path
from workspaces.memory.text.dates import date_in, is_between
from workspaces.normal_form import normal_form
from workspaces.run_blocking import RunBlocking

Day = date
"""Alias for use where a field is called `date`."""
SHORTEST = 2
"""In characters; a single one occurs in every line."""
LONGEST = 500
"""In characters; a longer text is no search phrase."""
MOST_MATCHES = 50
DEADLINE_S = 2.0
"""After this time the partial result is returned, with a notice."""
SHOWN = 240
"""Characters shown of a line."""


class ExactRefusedError(WorkspaceError):
    """The text cannot be searched for; the message gives the reason."""


class ExactQuery(Struct, frozen=True):
    """Query of a literal search."""

    text: str
    since: date | None = None
    until: date | None = None
    """Both days are included; undated lines are outside of any bounds."""
    max_results: int = 20
    as_of: date | None = None
    """Search the notes as of the end of this day; `None` is now."""
    deadline_s: float = DEADLINE_S


class Match(Struct, frozen=True):
    """A line with the text, and its neighbouring lines."""

    path: str
    line: int
    """From 1."""
    date: date | None
    text: str
    """At most 240 characters, around the first occurrence."""
    before: str
    after: str
    is_others: bool = False
    """It, or a line shown beside it, holds other people's words."""
    as_of: Day | None = None
    """The day at whose end it was there; `None` is now."""

    @property
    def citation(self) -> str:
        """Location, as `path#Lx-Lx`, with `@` and a day for earlier notes."""
        return f"{self.path}#L{self.line}-L{self.line}{f'@{self.as_of}' if self.as_of else ''}"


class ExactResult(Struct, frozen=True):
    """The matching lines, newest first."""

    matches: tuple[Match, ...]
    notice: str = ""
    """Set if the search was incomplete."""
    is_house: bool = False
    """Some of it stays on the owner's machines."""
    is_withheld: bool = False
    """Something else holds the text that the reader may not know."""


async def find_exact(
    query: ExactQuery,
    sources: Sequence[Source],
    scopes: frozenset[Scope] | None,
    run: RunBlocking,
    monotonic: Callable[[], float],
) -> ExactResult:
    """Search all documents readable by *scopes* (`None`: all), one at a time. Raises ExactRefusedError."""
    needle, ends_at = _needle(query.text), monotonic() + query.deadline_s
    limit = min(max(query.max_results, 1), MOST_MATCHES)
    found: list[Match] = []
    paths = [(path, source) for source in sources for path in await _paths(source, scopes, run)]
    for place, (path, source) in enumerate(paths):
        if monotonic() > ends_at:
            return ExactResult(_newest(found, limit), _timeout_notice(query, place, len(paths)))
        found += await run(_matches_at, source, path, needle, query, limit)
        await asyncio.sleep(0)
    return ExactResult(_newest(found, limit))


def _timeout_notice(query: ExactQuery, done: int, files: int) -> str:
    return f"stopped after {query.deadline_s:g} s: {done} of {files} files"


def matches_in(document: Document, needle: str, query: ExactQuery) -> Iterator[Match]:
    """Yield the lines of *document* that contain *needle* (folded), from its end."""
    if needle not in folded_text(document.text):
        return
    lines = document.text.split("\n")
    days, others = list(_days(lines, document.date)), {*document.others}
    for place in range(len(lines) - 1, -1, -1):
        at = folded_text(lines[place]).find(needle)
        if at >= 0 and is_between(days[place], query.since, query.until):
            yield Match(
                path=cited_path(document.path),
                line=document.lines[place] if document.lines else place + 1,
                date=days[place],
                text=_excerpt(lines[place], at),
                before=_excerpt(lines[place - 1]) if place else "",
                after=_excerpt(lines[place + 1]) if place + 1 < len(lines) else "",
                is_others=not others.isdisjoint({place, place + 1, place + 2}),
            )


def _needle(text: str) -> str:
    needle = folded_text(" ".join(text.encode("utf-8", "replace").decode().split()))
    if not SHORTEST <= len(needle) <= LONGEST:
        raise ExactRefusedError(
            f"an exact search takes {SHORTEST} to {LONGEST} characters, this text has {len(needle):,}"
        )
    return needle


async def _paths(source: Source, scopes: frozenset[Scope] | None, run: RunBlocking) -> list[str]:
    """Return the readable paths in descending order of name: a daily note's name is its day."""
    stamps: Mapping[str, str] = await run(source.stamps)
    return sorted((path for path in stamps if scopes is None or source.audience(path) in scopes), reverse=True)


def _matches_at(source: Source, path: str, needle: str, query: ExactQuery, limit: int) -> list[Match]:
    try:
        document = source.read(path)
    except UnreadableDocumentError:
        return []  # `memory status` lists it
    return list(islice(matches_in(document, needle, query), limit)) if document else []


def _newest(found: Sequence[Match], limit: int) -> tuple[Match, ...]:
    """Sort by day; undated lines are valid now, so they are the newest."""
    ordered = sorted(found, key=lambda match: (match.date or date.max, match.path, match.line), reverse=True)
    return tuple(ordered[:limit])


def _days(lines: Sequence[str], day: date | None) -> Iterator[date | None]:
    for line in lines:
        if line.startswith("#"):
            day = date_in(line) or day
        yield day


def folded_text(text: str) -> str:
    """Return *text* as it is compared: composed characters, without case."""
    return normal_form("NFC", text).casefold()


def _excerpt(line: str, at: int = 0) -> str:
    """Return a window of *line*, starting slightly before *at*."""
    start = max(min(at - SHOWN // 4, len(line) - SHOWN), 0)
    shown = line[start : start + SHOWN].rstrip("\r")
    return f"{'…' * (start > 0)}{shown}{'…' * (start + SHOWN < len(line))}"
