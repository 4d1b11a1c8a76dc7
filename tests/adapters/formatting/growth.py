"""Growth of a function's processing time with the length of its input, measured where a clock can see it."""

import time
from collections.abc import Callable
from itertools import permutations

KNOTS = (
    *(
        "\n",
        "\n\n",
        "\t",
        " ",
        ">",
        "> ",
        "- ",
        "1. ",
        "#",
        "`",
        "```\n",
        "~",
        "~~",
        "*",
        "**",
        "_",
        "|",
        "||",
        "$",
        "$$",
    ),
    *(
        "[",
        "]",
        "(",
        ")",
        "](",
        "![",
        "[[",
        "<",
        "<!--",
        "&",
        "\\",
        r"\(",
        r"\)",
        r"\[",
        r"\]",
        "{",
        "}",
        r"\frac{",
        "^{",
    ),
    *("a", "1", "é", "語", "😀", "\u200b", "\x00", "-", "=", "- a\n", "> - ", "    a\n", "a|b\n-|-\n", "| a | b |\n"),
    *(
        "*a_",
        "**a",
        "~a~",
        "[[a](b",
        "[a][b]",
        "[a]: b\n",
        "[a](b 'c')",
        "||a\n> > > ",
        "||a",
        "https://a.b/",
        "@a ",
        "<br>",
        "a|b\n-|-\n\n",
        "+ ",
        "```\n\n",
    ),
)
"""What a pumped input repeats: each kind of character, and openings that nothing closes."""
PAIRS = tuple(f"{one}{other}" for one, other in permutations(KNOTS[:40], 2))

_SMALL, _LARGE = 40_000, 160_000
_MEASURABLE = 0.05
_MOST = 9.0
"""Four times the input takes 4 times as long where growth is linear, 16 times where it is quadratic."""


def growth(work: Callable[[str], object], knot: str) -> float:
    """Return how many times longer *work* takes for four times the input; 0 if it never takes long.

    The sizes are those at which a clock can tell: an input that takes no time at 160,000 characters has no growth
    to speak of.
    """
    size = _SMALL
    while (taken := _seconds(work, knot, size)) < _MEASURABLE:
        size *= 2
        if size > _LARGE:
            return 0.0
    return min(taken, _seconds(work, knot, size)) / max(_seconds(work, knot, size // 4) for _ in range(2))


def is_linear(work: Callable[[str], object], knot: str) -> bool:
    """Tell whether one of three measurements says that *work* is linear in its input: noise only adds."""
    return any(growth(work, knot) < _MOST for _ in range(3))


def _seconds(work: Callable[[str], object], knot: str, size: int) -> float:
    text = knot * (size // len(knot))
    before = time.process_time()
    work(text)
    return time.process_time() - before
