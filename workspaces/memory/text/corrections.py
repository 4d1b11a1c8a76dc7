"""Corrections in conversations: "no, sorry, 9063" right after "the gate code is 9036"."""

import re

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.facts import FactKind, facts_in

LONGEST = 80
"""Characters of a correction: a longer message says something of its own. Our choice."""
_TAKES_BACK = lazy_pattern(
    r"(?:(?:oh|ah|ups|oops|argh|hm|wait|well|sorry|pardon|no|nope|nah|not|wrong|correction|actually|rather"
    r"|i me(?:an|ant)|i was wrong|scratch that|my (?:mistake|bad)"
    r"|nein|doch|quatsch|stimmt nicht|entschuldigung|korrektur|ich meint?e?"
    r"|non|je voulais dire|perdón|perdon|quiero decir|quise decir|scusa|volevo dire|não|desculpa|quer dizer"
    r"|нет|извини(?:те)?|точнее|ой)\b[\s,.:;!…–-]{0,4}){1,4}",
    re.IGNORECASE,
)
"""Its first words; matched at the start of a text."""
_INSTEAD_OF = lazy_pattern(r"\b(?:not|nicht|pas|no|non|não|niet|nie|nu|не)\s+(\d+)", re.IGNORECASE)
"""The number that it takes back: "412, not 300"."""


def corrects(later: str, earlier: str) -> bool:
    """Tell whether *later*, said right after *earlier* by the same person, takes back a value of it for another one."""
    begun = _TAKES_BACK.match(later)
    if begun is None or len(later) > LONGEST:
        return False
    if any(number not in earlier for number in _INSTEAD_OF.findall(later, begun.end())):
        return False
    return not _kinds(later[begun.end() :]).isdisjoint(_kinds(earlier)) and later.strip() != earlier.strip()


def _kinds(text: str) -> set[FactKind]:
    """Return the kinds of values in *text*, of which a code is a number."""
    found = {fact.kind for fact in facts_in(text)} & {FactKind.DATE, FactKind.NAME}
    return found | {FactKind.NUMBER} if any(map(str.isdigit, text)) else found
