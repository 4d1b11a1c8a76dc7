"""This file takes configured secrets out of whatever is about to be written where others can read it."""

import json
import re
from collections.abc import Iterable

REDACTED = "[redacted]"
SHORTEST = 6
"""Shorter secrets, in characters, are left alone: they would blacken ordinary words."""


class Redactor:
    """Replaces every occurrence of its secrets, as they are and as JSON writes them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in (secret, json.dumps(secret)[1:-1])}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def __call__(self, text: str) -> str:
        """Return *text* without any of the secrets."""
        return text if self._pattern is None else self._pattern.sub(REDACTED, text)
