"""Fit of the hits of a search to its question: by rule, to tell questions that memory cannot answer.

The best hit's relevance alone says little where a detail is asked for that was never said beside something well known.
So it counts whether the kind of answer asked for is there, whether people's words hold the thing that is asked for, and
whether somebody else's words fit better than those of the one person whom the question names. A request for an overview
or for advice is spread over many passages, none of which fits it well. And long messages fit everything better than
short lines do, so the hits after the best ones tell the worth of a hit in this memory. Measured on four kinds of talk
(docs/measurements/retrieval.md).
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from workspaces.memory.hits import Hit
from workspaces.memory.text.answer_kind import asked_kind, holds
from workspaces.memory.text.dialogue import AGENTS, OWNERS, read_line
from workspaces.memory.text.list_questions import asks_for_several
from workspaces.memory.text.question_focus import focus, is_open_ended
from workspaces.memory.text.tokens import terms

CLEAR = 0.365
"""The fit from which on the hits clearly fit: at most 5 % of the questions whose evidence is among the first six hits
fall below it, in the mean of four kinds of talk (docs/measurements/retrieval.md).
"""
SHOWN = 6
"""Hits that count: as many as a search shows by default."""
LOOKED_AT = 20
"""Hits that are looked at; those after the first six by relevance are the background."""
_BACKGROUND, _USUAL = 0.5, 0.25
"""Weight of the background's mean relevance, and the relevance of each hit that is missing there."""
_LEAST_LISTED = 0.15
"""Relevance below which an item of a list counts as missing there: such are shown although they fit little."""
_FIRST = 2
"""Hits among which the kind of answer is looked for."""
_ANSWERS = 0.1
"""Added if one of them holds it, subtracted if none does."""
_FOCUS = 0.1
"""Subtracted if no word of the thing asked for is in people's words, and as much less as they hold of it."""
_OPEN_ENDED = 0.2
"""Added for a request for an overview or for advice."""
_OTHERS, _MOST_OTHERS = 1.5, 0.3
"""Weight of the difference by which another person's words fit better, and its limit."""
_ROLES = AGENTS | OWNERS
"""Speakers whose names are words."""


def fit(hits: Sequence[Hit], question: str) -> float:
    """Return how well *hits*, best first, fit *question*: about 0 to 1, like a score; 0 without hits.

    An identifier of the question does not make a hit sure: it is what the question says itself.
    """
    if not hits:
        return 0.0
    best = max(hit.relevance for hit in hits[:SHOWN]) - _BACKGROUND * (_background(hits, question) - _USUAL)
    best += _OPEN_ENDED if is_open_ended(question) else -_FOCUS * _missing(hits, question)
    return best + _ANSWERS * _answer(hits, question) - _OTHERS * min(_excess_of_others(hits, question), _MOST_OTHERS)


def fits_clearly(hits: Sequence[Hit], question: str) -> bool:
    """Tell whether *hits* clearly fit *question*; otherwise they are only the nearest."""
    return fit(hits, question) >= CLEAR


def _background(hits: Sequence[Hit], question: str) -> float:
    """Return the mean relevance of the hits that are looked at, but for the best."""
    least = _LEAST_LISTED if asks_for_several(question) else 0.0
    others = sorted((hit.relevance for hit in hits[:LOOKED_AT] if hit.relevance >= least), reverse=True)[SHOWN:]
    most = LOOKED_AT - SHOWN
    return (sum(others) + _USUAL * (most - len(others))) / most


def _missing(hits: Sequence[Hit], question: str) -> float:
    """Return the share of the thing that *question* asks for that no person's words hold."""
    asked = focus(question)
    said = [hit for hit in hits if not hit.is_answer][:SHOWN]
    held = {term for hit in said for term in terms(read_line(hit.snippet).text)}
    return len(asked - held) / len(asked) if asked else 0.0


def _answer(hits: Sequence[Hit], question: str) -> int:
    """Return 1 if the kind of answer asked for is there, -1 if not; 0 if none is known or texts cannot tell."""
    kind = asked_kind(question)
    if kind is None or not kind.is_told_by_text:
        return 0
    return 1 if any(holds(kind, read_line(hit.snippet).text, question) for hit in hits[:_FIRST]) else -1


def _excess_of_others(hits: Sequence[Hit], question: str) -> float:
    """Return by how much another speaker's best hit fits better than that of the only one named, at least 0.

    Who speaks in a single hit may be no person: "Step 2: …".
    """
    speakers = [read_line(hit.snippet).speaker for hit in hits]
    known = {name for name, count in Counter(speakers).items() if count > 1 and name.casefold() not in _ROLES | {""}}
    named = {name for name in known if _first_name(name).search(question)}
    if len(named) != 1:
        return 0.0
    own = max(hit.relevance for hit, name in zip(hits, speakers, strict=True) if name in named)
    return max(
        (hit.relevance - own for hit, name in zip(hits, speakers, strict=True) if name not in named), default=0.0
    )


@lru_cache
def _first_name(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name.split(maxsplit=1)[0])}(?!\w)", re.IGNORECASE)
