"""History of the values of one thing: what notes and conversations said about it, oldest first; by rule alone."""

from collections.abc import Iterable
from datetime import date

from msgspec import Struct

from workspaces.memory.hits import Hit
from workspaces.memory.text.claims import Claim, claims_in
from workspaces.memory.text.tokens import query_terms

_ABOUT = 0.5
"""Share of the asked words in a sentence, one of them no number, from which on it is about the thing; our choice."""


class DatedStatement(Struct, frozen=True):
    """One sentence about a thing."""

    day: date | None
    """`None` for a line of `MEMORY.md`, which holds until it says otherwise."""
    text: str
    citation: str
    mark: str
    """Whether it holds, as `Hit.mark`."""
    is_others: bool = False
    """Somebody else's words, such as a forward or a quotation."""


def statements(hits: Iterable[Hit], words: str) -> list[DatedStatement]:
    """Return the sentences of *hits* about *words*, oldest first, undated last; the same text once, no agent's."""
    asked = frozenset(query_terms(words))
    named = frozenset(each for each in asked if not each.isdigit()) or asked
    found: dict[str, DatedStatement] = {}
    told = (hit for hit in hits if not hit.is_answer)
    for hit in sorted(told, key=lambda hit: (hit.date or date.max, hit.path, hit.start_line)):
        best = max(claims_in(hit.snippet, named), key=lambda claim: _share(claim, asked), default=None)
        if best is not None and asked and _share(best, asked) >= _ABOUT:
            found.setdefault(best.sentence.casefold(), _statement(hit, best.sentence))
    return list(found.values())


def _statement(hit: Hit, sentence: str) -> DatedStatement:
    return DatedStatement(hit.date, sentence, hit.citation, hit.mark, hit.is_others)


def _share(claim: Claim, asked: frozenset[str]) -> float:
    return len(asked & claim.words) / len(asked)
