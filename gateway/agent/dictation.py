"""Comparison of a model's words with those that its owner dictated.

It only decides whether the owner's sentence is written in place of the model's, so a wrong match lets in no words of
others.
"""

from gateway.agent.models.offline_intents import content_words

_STEM = 5
"""Letters at the beginning of a word that count: "hates" may become "hated". Numbers count whole."""
_MOST = 0.75
"""Share of the dictated words that a paraphrase holds; our choice: two of three may be a part with another sense."""


def stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words that carry the subject of *text*."""
    return frozenset(word[:_STEM] if word.isalpha() else word for word in content_words(text))


def rephrases(text: str, dictated: str) -> bool:
    """Tell whether *text* holds most of the words that were *dictated*, and no others."""
    said, ordered = stems(text), stems(dictated)
    return bool(said) and said <= ordered and len(said) >= _MOST * len(ordered)
