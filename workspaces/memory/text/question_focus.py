"""Focus of a question: the thing that it asks for by a noun, which of its values, and whether one passage can answer
it at all."""

import re

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.answer_kind import asked_kind
from workspaces.memory.text.tokens import STOP_WORDS, query_terms

_ASKS = lazy_pattern(
    r"\b(?:what|which|share|describe|tell me about|welche[rsnm]?|quel(?:le)?s?|qué|cuál(?:es)?|qual[ei]?|какой|какая"
    r"|какие)\b",
    re.IGNORECASE,
)
_OPEN_ENDED = lazy_pattern(
    r"\b(?:summar(?:y|i[sz]e)|overview|recap|walk me through|step by step|help me|show me how|explain|suggest|recommend"
    r"|in (?:which |what )?order|should i|how (?:can|could|should|do|would) (?:i|we|you)"
    r"|zusammenfass\w*|fasse? .{1,60} zusammen|überblick|erklär\w*|hilf mir|wie (?:kann|könnte|soll|sollte|würdest)"
    r"|résum\w+|explique\w*|aide-moi|comment (?:puis|peut|dois|faire)|resum\w+|explíca\w*|ayúdame|cómo (?:puedo|debo)"
    r"|riassum\w+|spiega\w*|come (?:posso|devo))\b",
    re.IGNORECASE,
)
"""Words of a request for an overview or for advice: no single passage holds it."""
_EARLIER = lazy_pattern(
    r"\b(?:before|at first|first|back then)\W*$"
    r"|\b(?:was|were|had|did)\b.{1,80}\bbefore (?:(?:I|we|he|she|they|it)\b|\w+ (?:\w+ed|put)\b)"
    r"|\b(?:previous(?:ly)?|used to|former(?:ly)?|original(?:ly)?|initial(?:ly)?|(?:my|our|his|her) old"
    r"|in the beginning|to (?:begin|start) with)\b"
    r"|\bfirst (?:due|going|coming|supposed|meant|planned|booked|set|told|said|asked|quoted|agreed|offered|wanted|to)\b"
    r"|\bfirst (?:\w+ )?(?:date|time|price|number|code|quote|offer|plan|estimate|deadline|budget|version)\b"
    r"|\b(?:vorher|früher|davor|ursprünglich|am anfang|auparavant|au début|al principio|all'inizio|no início|раньше)\b"
    r"|\b(?:zuerst|avant|antes|prima)\W*$",
    re.IGNORECASE,
)
"""Words of a question for a value that holds no more: "what was it before?", "when was it first due?"."""
_EVENT = lazy_pattern(r"\bdid\b", re.IGNORECASE)
"""Word of a question for something that happened, which nothing later changes."""
_WHETHER = lazy_pattern(
    r"\W*(?:(?:have|did|had|has) (?:I|we)|habe? ich|haben wir|ai-je|avons-nous|est-ce que (?:j['’]ai|nous avons)"
    r"|hemos|abbiamo|heb ik|hebben we)\b",
    re.IGNORECASE,
)
"""Begins a question for whether something ever was: a denial and what it denies are asked for, and no newest value."""
_WORD = lazy_pattern(r"[^\W_][\w'’-]*")
_BORDERS = frozenset(
    """did do does is are was were have has had can could should will would of for behind in on to besides that when
    after while i we you he she they it with from by at about between my our
    hat haben habe ist sind war waren für von bei mit der die das ich wir a ai avons est sont était de du des pour avec
    je nous es son era de para con che di per con""".split()  # noqa: SIM905 # reads as text
)
"""Words that end the phrase of the thing."""
_LONGEST = 3
"""Most words of it."""
_BLANK = frozenset(
    """specific exact exactly particular any some kind kinds type types sort sorts other else main key first last
    next new old""".split()  # noqa: SIM905 # reads as text
)
"""Words that say nothing of the thing."""


def focus(question: str) -> frozenset[str]:
    """Return the stems of the thing that *question* names: of "criteria" in "which criteria did I use?".

    Empty without one, or if it is a kind of answer (`answer_kind.py`): a line with a town need not say "town".
    """
    asking = _ASKS.search(question)
    words: list[str] = []
    for match in _WORD.finditer(question, asking.end() if asking else len(question)):
        word = match[0].casefold()
        if (words and word in _BORDERS) or len(words) == _LONGEST:
            break
        if word not in _BLANK and word not in STOP_WORDS and word not in _BORDERS:
            words.append(word)
    phrase = " ".join(words)
    return frozenset() if asked_kind(f"what {phrase}") else frozenset(query_terms(phrase))


def is_open_ended(question: str) -> bool:
    """Tell whether *question* asks for an overview or for advice."""
    return _OPEN_ENDED.search(question) is not None


def asks_whether(question: str) -> bool:
    """Tell whether *question* asks if something ever was: "have I used it?"."""
    return _WHETHER.match(question) is not None


def asks_for_earlier(question: str) -> bool:
    """Tell whether *question* asks for the value before the one that holds."""
    return _EARLIER.search(question) is not None


def asks_for_event(question: str) -> bool:
    """Tell whether *question* asks for something that happened: "when did the engineer come?"."""
    return _EVENT.search(question) is not None
