"""Requests that a person's message makes for an act: a small closed set, in the offline responder's languages.

Only orders at the start of a sentence count, to remind also behind a time: "remind me to …" and "on Friday remind me …"
are orders, "it reminds me of …" and "remind me what …" are not. A request that is not recognised costs nothing; a false
one would accuse an answer, so patterns are narrow.
"""

import re
import tomllib
from datetime import date
from enum import StrEnum
from functools import cache
from pathlib import Path

from gateway.agent.models.offline_intents import read_intent
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.reminder_orders import reminder_patterns, sentences_of, starting


class Request(StrEnum):
    """An act that a person asks for."""

    REMEMBER = "remember"
    REMIND = "remind"
    SEND = "send"
    FORGET = "forget"
    CANCEL = "cancel"


REMINDER = "Remind your owner: "
"""Precedes a person's words in the prompt of a job that was made of them."""
LONGEST_READ = 2_000
"""Characters of a message that are read: orders are short, and pasted texts hold orders to others."""
LONGEST_LEAD = 60
"""Characters before an order to remind that may name its time."""
_ANY_DAY = date(2026, 11, 24)
_MENTION = lazy_pattern(r"\s{0,9}@\w{1,64}[\s,:]{0,9}")
_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_REMARK = lazy_pattern(r"(?:please )?note that\b", re.IGNORECASE)
"""Introduces an explanation more often than it orders a note."""


def request_in(text: str) -> Request | None:
    """Return the act that *text*, a person's own words, asks for; `None` for an ordinary message."""
    text = _MENTION.sub("", text[:LONGEST_READ], count=1) if text.lstrip().startswith("@") else text[:LONGEST_READ]
    sentences = sentences_of(text)
    for request, starts, end in _patterns():
        if any(starts.match(each) or (end and end.search(each)) for each in sentences):
            return request
        if request is Request.REMIND and any(_is_behind_time(each, starts) for each in sentences):
            return request
    intent = read_intent([text])
    if intent.forgets:
        return Request.FORGET
    return Request.REMEMBER if intent.note and not any(map(_REMARK.match, sentences)) else None


def _is_behind_time(sentence: str, order: re.Pattern[str]) -> bool:
    """Tell whether *order* stands in *sentence* right behind a time, such as "every Friday at 6" or "in 2 minutes,"."""
    found = order.search(sentence)
    before = sentence[: found.start()] if found else ""
    if not before.strip(" ,:") or len(before) > LONGEST_LEAD or (before[-1].isascii() and before[-1].isalnum()):
        return False
    from gateway.schedule.named_time import ends_with_time  # its patterns take time at a start

    return ends_with_time(before, _ANY_DAY)


@cache
def _patterns() -> tuple[tuple[Request, re.Pattern[str], re.Pattern[str] | None], ...]:
    others = (Request.CANCEL, Request.SEND, Request.FORGET)
    return (
        (Request.REMIND, *reminder_patterns()),
        *((each, starting(_WORDS[each]), _ending(each)) for each in others),
    )


def _ending(request: Request) -> re.Pattern[str] | None:
    return re.compile(_WORDS["ends"][request], re.IGNORECASE) if request in _WORDS["ends"] else None
