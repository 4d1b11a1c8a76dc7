"""Fingerprints of notes: by its words a note is known wherever it stands, without keeping them a second time."""

from hashlib import blake2b

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.dialogue import without_time

_WORD = lazy_pattern(r"\w+")
_WORDS = 40
"""Words that count: a passage may be shown cut off."""


def fingerprint(text: str) -> str:
    """Return a hash of the first words of a note and its speaker, whatever its time, case and punctuation."""
    words = _WORD.findall(without_time(text).casefold())[:_WORDS]
    return blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
