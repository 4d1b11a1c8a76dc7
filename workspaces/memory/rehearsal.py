"""Rehearsal of what follows a search: the patterns that put its hits in order are compiled while the worker looks.

Some ninety patterns are compiled when they are first used; the first answer of a gateway waited 40 ms for them.
"""

from datetime import date
from functools import cache

from workspaces.access import PRIVATE
from workspaces.memory.assembly import assembled
from workspaces.memory.fit import fits_clearly
from workspaces.memory.hits import Hit

_QUESTION = "When did I last tell you where my sister Ada works now?"
_LINES = (
    "- 09:10 Ada: my phone number is 0151 2345 and I no longer work at the bakery in Lisbon since March 2025",
    "- 18:30 You: noted, the rent is 900 euros a month; Ada moved to Porto last week, on 3 May, not to Lisbon.",
)


@cache
def rehearse() -> None:
    """Put two invented hits in order, once a process."""
    days = date(2025, 3, 1), date(2025, 5, 6)
    hits = [
        Hit(f"memory/{day}.md", 1, 1, line, "", day, PRIVATE, 0.5, 0.5, 0.5, 1.0, 0.5)
        for day, line in zip(days, _LINES, strict=True)
    ]
    fits_clearly(assembled(hits, _QUESTION, days[1]), _QUESTION)
