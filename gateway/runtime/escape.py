"""Makes text safe to display: characters that control a terminal or hide text become escapes."""

import unicodedata
from itertools import pairwise

_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control characters (including ESC), characters that reorder or hide others, lone surrogates, and further line
ends."""
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0") | frozenset(
    map(chr, (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0)))
)
"""Letters and marks of no width: hundreds of variants of a sign can carry a text that a model reads."""
_STYLES, _TIES = frozenset("\ufe0e\ufe0f"), frozenset("\u200c\u200d")
"""They style and join scripts and emoji, and are harmless one by one: a run of them may be a text too."""


def visible(text: str) -> str:
    """Return *text* with every unsafe character but line feed and tab as `\\x1b` or `\\u202e`."""
    return "".join(_escape_char(char) if _steers(char, before) else char for before, char in pairwise(f" {text}"))


def _steers(char: str, before: str) -> bool:
    if char in _STYLES:
        return before in _STYLES or before in _TIES
    if char in _TIES:
        return before in _TIES
    return char not in "\n\t" and (unicodedata.category(char) in _STEERING or char in _INVISIBLE)


def _escape_char(char: str) -> str:
    return char.encode("unicode_escape").decode()
