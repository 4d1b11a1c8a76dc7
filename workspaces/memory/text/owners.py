"""Whose thing a sentence speaks of ("Tom's locker", "Mias Kurs", "my locker"), and which of several ("disc 3")."""

import re
from functools import lru_cache

from workspaces.memory.text.facts import gives_value
from workspaces.memory.text.tokens import STOP_WORDS

_MY = (
    r"(?:my|our|meine?[rsmn]?|unsere?[rsmn]?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|miei?|mia|nostr[oa]|meu|minha"
    r"|noss[oa])"
)
_GENITIVE = re.compile(
    rf"\b(?:{_MY}\s+)?(?!(?:it|that|what|who|he|she|there|here|let|how|where|today|tonight)['’])"
    r"(?P<name>[^\W\d_][\w-]{0,30})(?:['’]s|(?<=s)['’])\s+(?=\w)",
    re.IGNORECASE,
)
_GERMAN = re.compile(r"\b(?P<name>[A-ZÄÖÜ][a-zäöüß]{2,}(?<!e))s\s+(?=[A-ZÄÖÜ][a-zäöüß])")
"""The genitive of a name, before a noun; a word in -es is an adjective: "Letztes Jahr"."""
_OF = re.compile(
    rf"\b(?:of|von|vom|van|del?|des|di|della|d[ao])\s+"
    rf"(?:(?i:{_MY})\s+(?P<role>[^\W\d_]+)|(?P<name>[A-ZÀ-ÞŁŚŻ][^\W\d_]+))"
)
_PRONOUN = re.compile(
    rf"\b(?:(?P<me>{_MY})|(?P<he>his|sein\w{{0,2}})|(?P<she>her|ihr\w{{0,2}}))\s+(?=\w)", re.IGNORECASE
)
_LABEL = re.compile(
    r"\b(?P<name>[^\W\d_]{2,30}\s\d{1,4})(?=\s+(?:is|are|has|have|costs?|takes?|weighs?|needs?|ist|hat|kostet|braucht|es|está"
    r"|tiene|cuesta|est|a|coûte|è|ha|costa|é|tem|custa)\b|\s?[:=]\s)",
    re.IGNORECASE,
)
"""A number that tells things of one kind apart, before a statement about one: "disc 3 has a drag of 1.17"."""
_THIRD = frozenset({"he", "she"})
SENTENCES_KEPT = 512


@lru_cache(SENTENCES_KEPT)
def owners(sentence: str) -> frozenset[str]:
    """Return whose things *sentence* speaks of: names, `me` for the speaker, `he` and `she`; and labels of things."""
    rest, found = sentence, {each["name"].casefold() for each in _LABEL.finditer(sentence)}
    for form in (_GENITIVE, _GERMAN, _OF):
        found.update(name.casefold() for each in form.finditer(rest) for name in each.groupdict().values() if name)
        rest = form.sub(" ", rest)
    pronouns = {who for each in _PRONOUN.finditer(rest) for who, said in each.groupdict().items() if said}
    names = {each for each in found if each.split()[0] not in STOP_WORDS and not gives_value(each.split()[0])}
    return frozenset(names | pronouns)


def are_others(first: str, second: str) -> bool:
    """Tell whether two sentences speak of things of different owners; "his" may be that of anybody named."""
    one, two = owners(first), owners(second)
    if not one or not two or one & two:
        return False
    return not (one <= _THIRD or two <= _THIRD) or one | two <= {*_THIRD, "me"}
