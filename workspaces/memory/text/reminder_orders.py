"""Orders to remind somebody, by their words, in thirteen languages."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from workspaces.lazy_pattern import lazy_pattern

_SENTENCE = lazy_pattern(r"[^.!?…。！？\n]+(?:[.!?…。！？](?=\S)[^.!?…。！？\n]+)*[.!?…。！？]?")
"""A full stop inside a word, such as of a file's name, does not end a sentence."""
_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_MEANS = {
    "<gap>": r"[^\n.!?。！？]{0,60}?",
    "<file>": r"\b\S{1,60}\.(?:pdf|docx?|xlsx?|csv|txt|md|zip|png|jpe?g)\b",
    "<not>": r"(?![\s,]{1,3}(?:",
    "</not>": r")\b)",
}
"""Parts of an order's pattern, by their marks in the file."""


def sentences_of(text: str) -> list[str]:
    """Return the sentences and lines of *text*."""
    return [each.group().strip() for each in _SENTENCE.finditer(text)]


def starting(orders: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern of *orders* at the start of a sentence, also behind courtesies."""
    pattern = rf"(?:(?:{_WORDS['please']})[\s,]{{0,3}}){{0,3}}(?:{'|'.join(orders)})"
    for mark, meaning in _MEANS.items():
        pattern = pattern.replace(mark, meaning)
    return re.compile(pattern, re.IGNORECASE)


@cache
def reminder_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of orders to remind, at the start and at the end of a sentence."""
    return starting(_WORDS["start"]), re.compile(_WORDS["end"], re.IGNORECASE)


def orders_reminder(text: str) -> bool:
    """Tell whether a sentence of *text* is an order to remind somebody of something."""
    starts, ends = reminder_patterns()
    return any(starts.match(each) or ends.search(each) for each in sentences_of(text))
