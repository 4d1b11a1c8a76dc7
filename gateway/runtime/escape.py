"""This file makes a text safe to show to people: what would steer a terminal or hide is shown as an escape."""

import unicodedata

_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls (ESC among them), what reorders or hides characters, lone surrogates, and further line ends."""
_JOINERS = frozenset("\u200c\u200d")
"""They hold scripts and emoji together, and steer nothing."""


def visible(text: str) -> str:
    """Return *text* with every steering character but line feed and tab as `\\x1b` or `\\u202e`."""
    return "".join(_escaped(char) if _steers(char) else char for char in text)


def _steers(char: str) -> bool:
    return char not in "\n\t" and char not in _JOINERS and unicodedata.category(char) in _STEERING


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()
