"""Makes text safe to display: characters that control a terminal or hide text become escapes."""

import unicodedata

_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control characters (including ESC), characters that reorder or hide others, lone surrogates, and further line
ends."""
_JOINERS = frozenset("\u200c\u200d")
"""They join scripts and emoji, and are harmless."""


def visible(text: str) -> str:
    """Return *text* with every unsafe character but line feed and tab as `\\x1b` or `\\u202e`."""
    return "".join(_escape_char(char) if _steers(char) else char for char in text)


def _steers(char: str) -> bool:
    return char not in "\n\t" and char not in _JOINERS and unicodedata.category(char) in _STEERING


def _escape_char(char: str) -> str:
    return char.encode("unicode_escape").decode()
