"""Truncation of long texts, with a marker and without splitting a visible character."""

import unicodedata

_HEAD, _TAIL = 0.7, 0.2
"""Shares of a limit kept at both ends; the rest is for the marker (the reference system's ratio)."""
_END_MARKER = "\n[...truncated]"
_LONGEST_CLUSTER = 32
"""Longest shift of a cut to keep a visible character whole."""


def truncate(text: str, limit: int, name: str) -> str:
    """Return *text* in at most *limit* characters: 70 % head, 20 % tail, and a marker that says how to read on."""
    limit = max(limit, 0)
    if len(text) <= limit:
        return text
    lines = text.count("\n") + 1
    room = limit - len(_marker(name, lines, lines)) - (len(str(lines)) - 1)  # as many digits for the number of lines
    if room <= 0:
        return text[: _boundary_before(text, limit)]
    head = _boundary_before(text, min(int(limit * _HEAD), int(room * _HEAD / (_HEAD + _TAIL))))
    tail = _boundary_after(text, len(text) - min(int(limit * _TAIL), room - head))
    first = text.count("\n", 0, head) + 1
    return text[:head] + _marker(name, first, text.count("\n", 0, tail) + 1) + text[tail:]


def _marker(name: str, first: int, last: int) -> str:
    how = f'read_file("{name}", first_line={first}, lines={last - first + 1})'
    return f"\n[… {name} goes on here, lines {first}-{last}: {how} …]\n"


def truncate_end(text: str, limit: int) -> str:
    """Return *text* in at most *limit* characters, its end replaced by OneClaw's marker."""
    limit = max(limit, 0)
    if len(text) <= limit:
        return text
    room = max(limit - len(_END_MARKER), 0)
    return text[: _boundary_before(text, room)] + _END_MARKER[: limit - room]


def _boundary_before(text: str, at: int) -> int:
    """Return the nearest position at or before *at* where *text* may be split."""
    return next((place for place in range(at, max(at - _LONGEST_CLUSTER, 0) - 1, -1) if _may_part(text, place)), at)


def _boundary_after(text: str, at: int) -> int:
    """Return the nearest position at or after *at* where *text* may be split."""
    end = min(at + _LONGEST_CLUSTER, len(text))
    return next((place for place in range(at, end + 1) if _may_part(text, place)), at)


def _may_part(text: str, at: int) -> bool:
    """Tell whether no visible character (accents, emoji sequences, flags, CRLF) spans the position *at*."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if _joins(after) or before == "\u200d" or (before, after) == ("\r", "\n"):
        return False
    return not (_is_flag_half(after) and _flag_halves_before(text, at) % 2)


def _joins(char: str) -> bool:
    """Tell whether *char* belongs to the character before it: a mark, a joiner, a skin tone, a tag."""
    is_mark = unicodedata.category(char).startswith("M")
    return is_mark or char == "\u200d" or "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f"


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves_before(text: str, at: int) -> int:
    start = at
    while start > 0 and _is_flag_half(text[start - 1]):
        start -= 1
    return at - start
