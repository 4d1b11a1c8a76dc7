"""Whose thing a sentence speaks of ("Tom's locker", "Mias Kurs", "my locker"), and which of several ("disc 3")."""

import re
from functools import lru_cache

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.facts import SENTENCES_KEPT, gives_value
from workspaces.memory.text.tokens import STOP_WORDS, stem

_MY = (
    r"(?:my|our|meine?[rsmn]?|unsere?[rsmn]?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|miei?|mia|nostr[oa]|meu|minha"
    r"|noss[oa])"
)
_GENITIVE = lazy_pattern(
    rf"\b(?:{_MY}\s+)?(?!(?:it|that|what|who|he|she|there|here|let|how|where|today|tonight)['’])"
    r"(?P<name>[^\W\d_][\w-]{0,30})(?:['’]s|(?<=s)['’])\s+(?=\w)",
    re.IGNORECASE,
)
_GERMAN = lazy_pattern(r"\b(?P<name>[A-ZÄÖÜ][a-zäöüß]{2,}(?<!e))s\s+(?=[A-ZÄÖÜ][a-zäöüß])")
"""The genitive of a name, before a noun; a word in -es is an adjective: "Letztes Jahr"."""
_OF = lazy_pattern(
    rf"\b(?:of|von|vom|van|del?|des|di|della|d[ao])\s+"
    rf"(?:(?i:{_MY})\s+(?P<role>[^\W\d_]+)|(?P<name>[A-ZÀ-ÞŁŚŻ][^\W\d_]+))"
)
_PRONOUN = lazy_pattern(
    rf"\b(?:(?P<me>{_MY})|(?P<he>his|sein\w{{0,2}})|(?P<she>her|ihr\w{{0,2}}))\s+(?=\w)", re.IGNORECASE
)
_LABEL = lazy_pattern(
    r"\b(?P<name>[^\W\d_]{2,30}\s\d{1,4})(?=\s+(?:is|are|has|have|costs?|takes?|weighs?|needs?|ist|hat|kostet|braucht|es|está"
    r"|tiene|cuesta|est|a|coûte|è|ha|costa|é|tem|custa)\b|\s?[:=]\s)",
    re.IGNORECASE,
)
"""A number that tells things of one kind apart, before a statement about one: "disc 3 has a drag of 1.17"."""
_NUMBERED = lazy_pattern(
    r"(?P<thing>[^\W\d_]{2,20})\s(?:no\.?\s|nr\.?\s|#)?(?P<number>\d{1,4})(?![\w:.,/%-]*\d|\s?[%€$£])(?!\w)",
    re.IGNORECASE,
)
"""The same anywhere in a question and in a line that may answer it, where words before amounts are left out."""
_NO_THING = frozenset(
    map(
        stem,
        """may march costs cost paid pay price charge weighs weigh takes take needs need has have got bought sold
        about around over under another first last next size age aged page week day year month hour kostet
        kosten zahlt bezahlt um ab bis coûte cuesta costa paga""".split(),  # noqa: SIM905 # reads as text
    )
)
"""Words before an amount or a time."""
_THIRD = frozenset({"he", "she"})


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


@lru_cache(64)
def numbered(text: str) -> frozenset[tuple[str, str]]:
    """Return the things of *text* that a number tells apart, each as its stem and the number."""
    found = ((match["thing"], match["number"]) for match in _NUMBERED.finditer(text))
    return frozenset(
        (stem(thing.casefold()), number)
        for thing, number in found
        if thing.casefold() not in STOP_WORDS and stem(thing.casefold()) not in _NO_THING and not gives_value(thing)
    )


def names_other_number(question: str, text: str) -> bool:
    """Tell whether *question* names a numbered thing, and *text* another one of its kind and not that."""
    asked = numbered(question)
    if not asked:
        return False
    told = numbered(text)
    kinds = {thing for thing, _ in asked}
    return asked.isdisjoint(told) and any(thing in kinds for thing, _ in told)
