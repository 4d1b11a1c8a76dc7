"""Quotation of passages in the answers of commands."""

_LONGEST = 240
"""In characters: a few lines on a phone."""


def quoted(text: str) -> str:
    """Return *text* as a quoted line, truncated if long."""
    line = " ".join(text.split())
    return f"> {line if len(line) <= _LONGEST else f'{line[: _LONGEST - 1]}…'}"


def counted(number: int, noun: str) -> str:
    """Return *number* with its *noun*, such as "1 file" or "1,200 files"."""
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"
