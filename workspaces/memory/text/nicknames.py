"""Other names of somebody, as lines declare them: "Dell is short for Delphine", "my sister Kat"."""

import re
from collections.abc import Iterable, Iterator
from functools import partial

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.tokens import STOP_WORDS

_NAMED = r"[^\W\d_][\w-]{1,30}"
_PROPER = r"[^\W\d_a-zß-öø-ÿа-яё][\w-]{1,30}"
_ROLE = (
    "(?i:mother|mum|mom|father|dad|sister|brother|wife|husband|son|daughter|partner|girlfriend|boyfriend|aunt|uncle"
    "|niece|nephew|cousin|grandmother|grandma|grandfather|grandpa|boss|landlord|landlady|neighbour|neighbor|doctor"
    "|dentist|vet|teacher|babysitter|plumber|electrician|accountant|lawyer|colleague|friend|dog|cat"
    "|mutter|vater|schwester|bruder|frau|mann|sohn|tochter|tante|onkel|chef|chefin|vermieter|nachbar|nachbarin|hund|katze"
    "|mère|père|sœur|soeur|frère|femme|mari|fils|fille|hermana|hermano|madre|padre|hija|hijo|esposa|marido|jefe|jefa)"
)
_MINE = r"(?:[Mm]y|[Oo]ur|[Mm]eine?|[Uu]nsere?|[Mm]on|[Mm]a|[Nn]otre|[Mm]i|[Nn]uestr[oa])"
_PAIRS = tuple(
    lazy_pattern(pattern)
    for pattern in (
        rf"\b(?P<one>{_NAMED}) (?:is |= ?)?(?:short|an? nickname|the nickname|kurz) (?:for|of|für) (?P<two>{_NAMED})",
        rf"\b(?P<one>{_NAMED}),? (?:aka|a\.k\.a\.|alias|genannt|nicknamed|known as|goes by) (?P<two>{_NAMED})",
        rf"\b(?:calls?|nennen|nennt|appelle|appelons) (?P<one>{_PROPER}) (?P<two>{_PROPER})",
    )
)
"""Both names stand beside the words. No pattern repeats without bound."""
_ROLES = tuple(
    lazy_pattern(pattern)
    for pattern in (
        rf"\b{_MINE} (?P<role>{_ROLE}) (?:(?:is|heißt|s'appelle|se llama) (?:called )?)?(?P<name>{_PROPER})",
        rf"\b(?P<name>{_PROPER}) (?:is|ist|est|es) {_MINE} (?P<role>{_ROLE})\b",
    )
)
"""Of the one who speaks: "his sister" is somebody else."""
_NAMED_SO = lazy_pattern(
    rf"\b(?P<noun>{_NAMED}) (?:is (?:called|named)|heißt|s'appelle|se llama|si chiama|chama-se) (?P<name>{_PROPER})"
)
"""The noun leads to the name; the name says more than the noun."""
_OWN_ROLE = lazy_pattern(rf"\b{_MINE} (?P<role>{_ROLE})\b")
_CALLED = lazy_pattern(
    rf"\b(?:calls?|called|nennen|nennt|appelle|llaman) (?:him|her|them|me|it|sie|ihn|mich) (?P<nick>{_PROPER})"
    rf"|\bto be called (?P<wish>{_NAMED})"
)
"""One name stands after the words, and the other somewhere before them."""
_WORD = lazy_pattern(r"[^\W\d_][\w-]*")
_CAPITAL = lazy_pattern(rf"\b{_PROPER}")


def renamed(question: str, lines: Iterable[str]) -> str:
    """Return *question* with a name, or "my" and a role, replaced by what one of *lines* declares, or nothing."""
    words = {word.casefold() for word in _WORD.findall(question)} - STOP_WORDS
    own = _OWN_ROLE.search(question)
    for line in lines:
        for role, name in _roles(line) if own else ():
            if own and role.casefold() == own["role"].casefold() and name.casefold() not in words:
                return question[: own.start()] + name + question[own.end() :]
        named = [(match["noun"], match["name"]) for match in _NAMED_SO.finditer(line)]
        for name, instead in (*named, *(each for pair in _pairs(line) for each in (pair, pair[::-1]))):
            if name.casefold() in words and instead.casefold() not in words:
                return _WORD.sub(partial(_replaced, name.casefold(), instead), question)
    return ""


def _replaced(name: str, instead: str, word: re.Match[str]) -> str:
    return instead if word[0].casefold() == name else word[0]


def _roles(line: str) -> Iterator[tuple[str, str]]:
    found = (match for pattern in _ROLES for match in pattern.finditer(line))
    yield from ((match["role"], match["name"]) for match in found if match["name"].casefold() not in STOP_WORDS)


def _pairs(line: str) -> Iterator[tuple[str, str]]:
    for match in (match for pattern in _PAIRS for match in pattern.finditer(line)):
        if match["two"].casefold() not in STOP_WORDS:
            yield match["one"], match["two"]
    for match in _CALLED.finditer(line):
        before = _CAPITAL.search(line[: match.start()])
        if before:
            yield before[0], match["nick"] or match["wish"]
