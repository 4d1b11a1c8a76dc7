"""How well the hits of a search together fit its question: by rule, to tell what memory cannot answer.

The best hit's score alone says little where a detail is asked for that was never said beside something well known. So
it counts whether the kind of answer asked for is there, and whether somebody else's words fit better than those of the
one person whom the question names. The weights were fitted on LoCoMo's and BEAM's development halves
(docs/measurements/retrieval.md).
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from workspaces.memory.hits import Hit
from workspaces.memory.text.answer_kind import asked_kind, holds
from workspaces.memory.text.dialogue import AGENTS, read_line

SHOWN = 6
"""Hits whose best score counts: as many as a search shows by default."""
_FIRST = 2
"""Hits among which the kind of answer is looked for."""
_ANSWERS = 0.1
"""Added if one of them holds it, subtracted if none does."""
_OTHERS, _MOST_OTHERS = 1.5, 0.3
"""Weight of the difference by which another person's words fit better, and its limit."""
_ROLES = AGENTS | {"owner", "user"}
"""Speakers whose names are words."""


def fit(hits: Sequence[Hit], question: str) -> float:
    """Return how well *hits*, best first, fit *question*: about 0 to 1, like a score; 0 without hits."""
    best = max((hit.score for hit in hits[:SHOWN]), default=0.0)
    return best + _ANSWERS * _answer(hits, question) - _OTHERS * min(_excess_of_others(hits, question), _MOST_OTHERS)


def _answer(hits: Sequence[Hit], question: str) -> int:
    """Return 1 if the kind of answer asked for is there, -1 if not; 0 if none is known or texts cannot tell."""
    kind = asked_kind(question)
    if kind is None or not kind.is_told_by_text:
        return 0
    return 1 if any(holds(kind, read_line(hit.snippet).text, question) for hit in hits[:_FIRST]) else -1


def _excess_of_others(hits: Sequence[Hit], question: str) -> float:
    """Return by how much another speaker's best hit fits better than that of the only one named, at least 0."""
    speakers = [read_line(hit.snippet).speaker for hit in hits]
    known = {name for name in speakers if name and name.casefold() not in _ROLES}
    named = {name for name in known if _first_name(name).search(question)}
    if len(named) != 1:
        return 0.0
    own = max(hit.score for hit, name in zip(hits, speakers, strict=True) if name in named)
    return max((hit.score - own for hit, name in zip(hits, speakers, strict=True) if name not in named), default=0.0)


@lru_cache
def _first_name(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name.split(maxsplit=1)[0])}(?!\w)", re.IGNORECASE)
