"""Questions for several things: "which cities has Kate been to?", "everything I spent", "books I've read"."""

import re

from workspaces.lazy_pattern import lazy_pattern

_NOT_SEVERAL = (
    r"(?!(?:is|was|does|has|his|hers|this|its|us|as|news|business|class|dress|boss|address|bus|gas|always|perhaps"
    r"|hours|days|weeks|months|years|times|dates)\b)"
)
"""Words in "s" that are no plural, and those that ask for a time."""
_SEVERAL = lazy_pattern(
    rf"\b(?:what|which)\s+(?:(?!(?:is|was|did|do|does|has|have|had|are|were|can|could|will|would|time|day|date)\b)"
    rf"[\w'’/-]+\s+){{0,4}}?{_NOT_SEVERAL}(?:[\w'’-]{{2,30}}s|people|children|food|music|art|clothes|stuff)\b(?!['’])"
    r"|\b(?:what|which)\s+(?:all|else|of|(?:kinds?|types?|sorts?)\s+of)\b"
    r"|\bwhat\s+(?:has|have|had)\s+\w+(?:\s+\w+)?\s+\w{2,30}(?:ed|en|t|d|k|e)\b"
    r"|\bwhat\s+are\s+[\w'’]+\s+(?:[\w-]+\s+){0,2}\w+s\b"
    r"|\b(?:where|who)\s+(?:else|all|has|have|had)\b"
    r"|\bhow\s+(?:many\s+times|often)\b|\b(?:each|every)\s+time\b"
    r"|^[^,.:;!?\n]{0,60}\b(?:all (?:the|my|our|his|her|their|of|those)|every(?:thing|one|where|body)|lists?)\b"
    r"|^(?:what|which|who|where)\b.{1,80}\b(?:so far|lately|recently|(?:this|last) (?:year|month|spring|summer|autumn"
    r"|fall|winter|season))\b"
    r"|\b(?:welche\s+\w{2,30}(?:en|er|s)|(?:was|wer|wen|wo)\b.{1,60}\balles|alles?,?\s+was|quel(?:le)?s\s+\w+s"
    r"|tou(?:te)?s\s+(?:les|ceux|celles)|tout ce qu\w?|cu[áa]les|qu[ée]\s+(?!(?:d[íi]as|horas|meses)\b)\w{2,30}[aeo]s"
    r"|tod[oa]s?\s+(?:los|las|lo|os|as)|tudo o que|quais|quali|tutt[ie]\s+(?:i|le|gli)|tutto quello"
    r"|welke\s+\w{2,30}(?:en|s)|jakie|wszystk\w+|какие|все)\b",
    re.IGNORECASE,
)
"""Asks for several things by a plural or by words such as "all" and "so far"."""
_BEGINS = lazy_pattern(
    r"(?:every(?:thing|where|one|body)|all) (?:(?:that|the \w+|my \w+|our \w+) )?(?:i|we|he|she|they)"
    r"(?:['’]?ve| have| had)? (?:\w+ed|bought|spent|ate|got|lent|gave|read|saw|paid|made|took|told|said|own|owe|did"
    r"|done|seen|given|taken)\b"
    r"|(?:every(?:thing|one|body)|all|things) (?:that|who|which) \w+"
    r"|(?:books?|films?|movies|shows|places|restaurants|cafes|towns|cities|countries|people|things|recipes|plants"
    r"|songs|walks"
    r"|gifts|presents) (?:that )?(?:i|we) (?:ate|got|went|read|saw|bought|tried|visited|lent|borrowed|watched|finished"
    r"|made|played"
    r"|planted|met|gave|heard|cooked|owe|took|did)\b"
    r"|tutt[ie] (?:i|le|gli) \w+ (?:dove|che|ke) (?:ho|abbiamo|ha)\b|la (?:mia )?roba (?:mia )?(?:che|ke) (?:ho"
    r"|abbiamo)\b"
    r"|(?:les|mes|nos|los|las|mis|i|le|os|as|die|alle) \w+ (?:qu['’]?|que|o[uù]|che|die|ch['’]) ?(?:j['’ ]?ai|g|on a"
    r"|he|hemos"
    r"|ho"
    r"|abbiamo|(?:a gente|eu) \w+|ich|wir)\b"
    r"|(?!(?:some|any|al|thank|guess|hope|perhaps|unles|thi|ye|las)\w*\b)\w+s (?:that )?(?:i|we)(?:['’]?ve| have)"
    r" \w+(?:ed|en|t|d)\b",
    re.IGNORECASE,
)
"""Begins a list that is asked for: "everything I spent on the flat", "books I've read this year"."""


def begins_list(text: str) -> bool:
    """Tell whether *text* begins with the things of a list, without asking: "books I've read this year"."""
    return _BEGINS.match(text) is not None


def asks_for_several(question: str) -> bool:
    """Tell whether *question* asks for several things, said at different times, rather than for one."""
    return begins_list(question) or _SEVERAL.search(question) is not None
