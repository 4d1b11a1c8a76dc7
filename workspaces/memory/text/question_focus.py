"""Focus of a question: the thing that it asks for by a noun, and whether one passage can answer it at all."""

import re

from workspaces.memory.text.answer_kind import asked_kind
from workspaces.memory.text.tokens import STOP_WORDS, query_terms

_ASKS = re.compile(
    r"\b(?:what|which|share|describe|tell me about|welche[rsnm]?|quel(?:le)?s?|qué|cuál(?:es)?|qual[ei]?|какой|какая"
    r"|какие)\b",
    re.IGNORECASE,
)
_OPEN_ENDED = re.compile(
    r"\b(?:summar(?:y|i[sz]e)|overview|recap|walk me through|step by step|help me|show me how|explain|suggest|recommend"
    r"|in (?:which |what )?order|should i|how (?:can|could|should|do|would) (?:i|we|you)"
    r"|zusammenfass\w*|fasse? .{1,60} zusammen|überblick|erklär\w*|hilf mir|wie (?:kann|könnte|soll|sollte|würdest)"
    r"|résum\w+|explique\w*|aide-moi|comment (?:puis|peut|dois|faire)|resum\w+|explíca\w*|ayúdame|cómo (?:puedo|debo)"
    r"|riassum\w+|spiega\w*|come (?:posso|devo))\b",
    re.IGNORECASE,
)
"""Words of a request for an overview or for advice: no single passage holds it."""
_WORD = re.compile(r"[^\W_][\w'’-]*")
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
