"""Numbers that tell things of one kind apart: "disc 3", "room 12", "chapter 2"."""

import re
from functools import lru_cache

from workspaces.memory.text.facts import gives_value
from workspaces.memory.text.tokens import STOP_WORDS, stem

_NUMBERED = re.compile(
    r"(?P<thing>[^\W\d_]{2,20})\s(?:no\.?\s|nr\.?\s|#)?(?P<number>\d{1,4})(?![\w:.,/%-]*\d|\s?[%€$£])(?!\w)",
    re.IGNORECASE,
)
_NO_THING = frozenset(
    map(
        stem,
        """may march costs cost paid pay price charge weighs weigh takes take needs need has have got bought sold
        about around over under another first last next size age aged page week day year month hour kostet
        kosten zahlt bezahlt um ab bis coûte cuesta costa paga""".split(),  # noqa: SIM905 # reads as text
    )
)
"""Words before an amount or a time."""


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
