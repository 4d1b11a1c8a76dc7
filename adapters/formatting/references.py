"""Reference links (`[docs][1]`), rewritten as inline links."""

import re
from collections.abc import Mapping
from typing import Any

from markdown_it.common.utils import normalizeReference

from adapters.formatting.blocks import BLOCK_PARSER
from adapters.formatting.markup import code_spans

_DEFINITION = re.compile(r"^[ >]{0,40}\[[^\[\]\n]{1,300}\]:", re.MULTILINE)
_LINK = re.compile(r"(?<![\\\]])\[([^\[\]\n]{1,300})\](?:\[([^\[\]\n]{0,300})\])?(?![\[(:])")
_LONGEST_TARGET = 2000
_MOST_GROWTH, _FREE_GROWTH = 2, 10_000
"""Targets may add this much to an answer; links beyond it keep their label and their definition."""
_CODE = ("fence", "code_block")


def with_targets(markdown: str) -> str:
    """Return *markdown* with the target in each link, and without the definitions that its links used.

    Each part of an answer is read on its own, and Discord knows no definitions. One that no link uses stays: it may
    be a note such as "[todo]: milk".
    """
    if not _DEFINITION.search(markdown):
        return markdown
    found: dict[str, Any] = {}
    tokens = BLOCK_PARSER.parse(markdown, found)
    places = {label: place["map"] for label, place in found.get("references", {}).items()}
    targets = {
        label: str(place["href"]).replace("(", "%28").replace(")", "%29")
        for label, place in found.get("references", {}).items()
        if not label.startswith("^") and len(str(place["href"])) <= _LONGEST_TARGET
    }
    links = _Links(targets, _MOST_GROWTH * len(markdown) + _FREE_GROWTH)
    lines = markdown.split("\n")
    rewritten: list[str] = []
    done = 0
    for begin, end in [*(token.map for token in tokens if token.type in _CODE and token.map), (len(lines), len(lines))]:
        if begin > done:
            rewritten += links.rewritten("\n".join(lines[done:begin])).split("\n")
        rewritten += lines[begin:end]
        done = end
    gone = {line for label in links.used - links.left for line in range(*places[label])}
    return "\n".join(line for number, line in enumerate(rewritten) if number not in gone)


class _Links:
    """Links by label, and their state."""

    def __init__(self, targets: Mapping[str, str], room: int) -> None:
        self.used: set[str] = set()
        self.left: set[str] = set()
        """Labels of links that were left without a target."""
        self._targets = targets
        self._room = room

    def rewritten(self, prose: str) -> str:
        """Return *prose* with inline targets in each link outside of code."""
        return "".join(text if is_code else _LINK.sub(self._link, text) for is_code, text in code_spans(prose))

    def _link(self, found: re.Match[str]) -> str:
        label = normalizeReference(found[2] or found[1])
        target = self._targets.get(label)
        if target is None:
            return found[0]
        self._room -= len(target)
        if self._room < 0:
            self.left.add(label)
            return found[0]
        self.used.add(label)
        return f"[{found[1]}]({target})"
