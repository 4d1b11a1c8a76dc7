"""Comparison of two texts line by line, in bounded time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate

_MOST_STEPS = 4_000_000
"""Most steps of one comparison, which takes about a second then. Our choice."""


def line_ranges(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, range, range]]:
    """Yield the ranges of *old* and *new* that belong together, in order, and whether they are equal.

    Equal ends are quick. Everything between them counts as different if a comparison would take minutes: the time grows
    with the cube of lines that repeat between others, and with the square of those that differ here and there.
    """
    least = min(len(old), len(new))
    head = next((n for n in range(least) if old[n] != new[n]), least)
    tail = next((n for n in range(least - head) if old[-1 - n] != new[-1 - n]), least - head)
    if head:
        yield True, range(head), range(head)
    try:
        middle = _LineComparison(old[head : len(old) - tail], new[head : len(new) - tail]).get_opcodes()
    except _TooLongError:
        yield False, range(head, len(old) - tail), range(head, len(new) - tail)
    else:
        for kind, *ends in middle:
            first, last, begin, end = (each + head for each in ends)
            yield kind == "equal", range(first, last), range(begin, end)
    if tail:
        yield True, range(len(old) - tail, len(old)), range(len(new) - tail, len(new))


class _TooLongError(Exception):
    """A comparison would take more steps than it may."""


class _LineComparison(SequenceMatcher[str]):
    """Counts the steps of each search for the longest match: the lines searched, and their pairs of equal lines."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        there = Counter(new)
        self._steps = [0, *accumulate(1 + there[line] for line in old)]
        """Up to each line of *old*."""
        self._left = _MOST_STEPS

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        self._left -= self._steps[-1 if ahi is None else ahi] - self._steps[alo]
        if self._left < 0:
            raise _TooLongError
        return super().find_longest_match(alo, ahi, blo, bhi)
