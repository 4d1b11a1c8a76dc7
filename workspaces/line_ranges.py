"""Comparison of two texts line by line, in bounded time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

_MOST_PAIRS = 4_000_000
"""Most pairs of equal lines in two compared texts: the time grows with them. Takes about a second."""


def line_ranges(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, range, range]]:
    """Yield the ranges of *old* and *new* that belong together, in order, and whether they are equal.

    Equal ends are quick. Everything between them counts as different if lines repeat so often that a comparison would
    take minutes.
    """
    least = min(len(old), len(new))
    head = next((n for n in range(least) if old[n] != new[n]), least)
    tail = next((n for n in range(least - head) if old[-1 - n] != new[-1 - n]), least - head)
    if head:
        yield True, range(head), range(head)
    middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if _pairs(*middle) > _MOST_PAIRS:
        yield False, range(head, len(old) - tail), range(head, len(new) - tail)
    else:
        for kind, *ends in SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
            first, last, begin, end = (each + head for each in ends)
            yield kind == "equal", range(first, last), range(begin, end)
    if tail:
        yield True, range(len(old) - tail, len(old)), range(len(new) - tail, len(new))


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of pairs of equal lines in *old* and *new*."""
    there = Counter(new)
    return sum(count * there[line] for line, count in Counter(old).items())
