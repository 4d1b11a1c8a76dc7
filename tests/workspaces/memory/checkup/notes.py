"""Entries of notes for tests of the check-up."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath

from msgspec import structs

from workspaces.memory.checkup.noted import Hand, LineSource, NotedEntry, noted_entries

TODAY = date(2026, 11, 1)
BY_AGENT = LineSource(Hand.AGENT, date(2026, 3, 1), "t1", "main/main")
BY_OWNER = LineSource(Hand.OWNER, date(2026, 3, 1), session="editor")


def lasting(*lines: str, source: LineSource = BY_AGENT) -> list[NotedEntry]:
    """Return *lines* as entries of `MEMORY.md`."""
    text = "# Memory\n\n## Notes\n\n" + "".join(f"- {line}\n" for line in lines)
    return list(sourced("MEMORY.md", text, source))


def of_day(day: str, *lines: str, source: LineSource = BY_AGENT) -> list[NotedEntry]:
    """Return *lines* as notes of *day*, written on that day."""
    text = f"# {day}\n\n" + "".join(f"- 09:{place:02} {line}\n" for place, line in enumerate(lines))
    return list(sourced(f"memory/{day}.md", text, structs.replace(source, day=date.fromisoformat(day))))


def sourced(path: str, text: str, source: LineSource) -> Iterator[NotedEntry]:
    """Yield the entries of *text*, all of one *source*."""
    return (replace(each, source=source) for each in noted_entries(PurePosixPath(path), text, "main"))
