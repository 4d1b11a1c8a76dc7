"""This file takes one passage out of texts, however its lines are broken, indented or listed there."""

import json
import re

SHORTEST = 8
"""In characters without space: what is shorter may be part of anything, and would go from everywhere."""
PURGED = "[purged]"

_LEAD = r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?(?:\d{1,2}:\d{2}[ \t]+)?"
"""What may stand before a note on its line: quotation, list mark, box, time of day."""


class Redaction:
    """One passage, wherever it stands. What says the same in other words is another passage."""

    def __init__(self, passage: str) -> None:
        """Raises ValueError for a passage that is too short to be told from other words."""
        words = re.sub(rf"\A\s*{_LEAD}", "", passage).split()
        if sum(map(len, words)) < SHORTEST:
            raise ValueError(f"a passage of less than {SHORTEST} characters would go from everywhere")
        text = r"[\s>]+".join(map(re.escape, words))
        self._passage = re.compile(rf"(?<!\w){text}(?!\w)")
        self._alone = re.compile(rf"^{_LEAD}{text}[ \t]*(?:\r\n|\r|\n|\Z)", re.MULTILINE)

    def is_in(self, text: str) -> bool:
        """Say whether *text* holds the passage."""
        return self._passage.search(text) is not None

    def out_of(self, text: str) -> str:
        """Return a note's *text* without the passage; lines that hold nothing else go with it."""
        return self._passage.sub("", self._alone.sub("", text))

    def over(self, value: object) -> object:
        """Return *value*, as JSON is read, with the passage marked as purged in every text, also in JSON in a text."""
        match value:
            case dict():
                return {name: self.over(inner) for name, inner in value.items()}
            case list():
                return [self.over(inner) for inner in value]
            case str():
                return self._over_text(value)
            case _:
                return value

    def _over_text(self, text: str) -> str:
        if text[:1] in {"{", "["} and (again := self._over_json(text)) is not None:
            return again
        return self._passage.sub(PURGED, text)

    def _over_json(self, text: str) -> str | None:
        """Return the JSON in *text* redacted; `None` if it is none."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        redacted = self.over(value)
        return text if redacted == value else json.dumps(redacted, ensure_ascii=False)
