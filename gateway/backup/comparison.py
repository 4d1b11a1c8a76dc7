"""Comparison of a home before and after a new version opened it, told in plain words."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct

from gateway.backup.inventory import STATE, Figures, Lines

_SHOWN = 90
"""Characters of a line that are shown."""


class Difference(Struct, frozen=True):
    """A place that is not as it was."""

    topic: str
    place: str
    detail: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.place}: {self.detail}"


def differences(before: Figures, after: Figures) -> list[Difference]:
    """Return all differences in the topics that both have."""
    return [
        Difference(topic, place, detail)
        for topic in before
        if topic in after
        for place, detail in _in_topic(topic, before[topic], after[topic])
    ]


def _in_topic(topic: str, before: Mapping[str, Lines], after: Mapping[str, Lines]) -> Iterator[tuple[str, str]]:
    missing, fresh = before.keys() - after.keys(), after.keys() - before.keys()
    for place in sorted(missing):
        moved = next(
            (other for other in sorted(fresh) if before[place] and list(after[other]) == list(before[place])), ""
        )
        fresh -= {moved}
        if topic == STATE:  # a new version may rename a table, or drop one without rows
            if before[place] and not moved:
                yield place, f"missing, with {len(before[place]):,} rows"
        else:
            yield place, f"moved to {moved}" if moved else f"missing, with {len(before[place]):,} lines"
    for place in sorted(fresh):
        if topic != STATE:
            yield place, f"new, with {len(after[place]):,} lines"
    for place in sorted(before.keys() & after.keys()):
        there = _narrowed(before[place], after[place]) if topic == STATE else after[place]
        if detail := "; ".join(_in_place(list(before[place]), list(there))):
            yield place, detail


def _in_place(before: list[str], after: list[str]) -> Iterator[str]:
    if before == after:
        return
    lost, added = Counter(before) - Counter(after), Counter(after) - Counter(before)
    if not lost and not added:
        first = next(number for number, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1])
        yield f"in another order from line {first + 1} on: {_shown(after[first])}"
    for what, lines, places in (("lost or changed", lost, before), ("new or changed", added, after)):
        if lines:
            first = next(number for number, line in enumerate(places) if line in lines)
            yield f"{lines.total():,} {what}, the first at {first + 1}: {_shown(places[first])}"


def _shown(line: str) -> str:
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…")


def _narrowed(before: Lines, after: Lines) -> list[str]:
    """Return the rows of *after* with the columns of *before* alone: a new version may add some."""
    if not before:
        return []
    columns = json.loads(before[0]).keys()
    rows = (json.loads(row) for row in after)
    return [
        json.dumps({name: row[name] for name in columns if name in row}, ensure_ascii=False, sort_keys=True)
        for row in rows
    ]
