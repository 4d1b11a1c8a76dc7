"""Promotions: statements that notes of days repeat, and that `MEMORY.md` lacks."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.checkup.doubles import Pair, is_state
from workspaces.memory.checkup.findings import FindingKind, NoteFinding
from workspaces.memory.checkup.noted import OWNER, NotedEntry
from workspaces.memory.checkup.quality import EntryUse, quality
from workspaces.memory.checkup.staleness import recurs
from workspaces.memory.text.dates import mentions
from workspaces.memory.text.dialogue import LineKind
from workspaces.memory.text.reminder_orders import orders_reminder

MOST = 20
"""Promotions of one check-up: an owner reads no more."""
SCORE = 0.5
"""Score from which a note lasts; our choice."""
_USES = 3
"""Turns that used it, from which on a note need not have been said twice."""
_SECTIONS = (
    (
        "preferences",
        lazy_pattern(
            r"\b(?:prefer\w*|likes?|loves?|hates?|favou?rite|allergic|vegetarian|mag|lieber)\b", re.IGNORECASE
        ),
    ),
    ("profile", lazy_pattern(r"\b(?:my|i am|i'm|i live|i work|lives?|born|name is|wohne|heiße)\b", re.IGNORECASE)),
    (
        "projects",
        lazy_pattern(r"\b(?:project|repo\w*|deploy\w*|release|branch|server|staging|production)\b", re.IGNORECASE),
    ),
)


def promotions(
    entries: Sequence[NotedEntry], pairs: Sequence[Pair], uses: Mapping[str, EntryUse], today: date
) -> Iterator[NoteFinding]:
    """Yield the best notes of days that say how something is, were said on several days or used, and are new there."""
    known = {each.place for pair in pairs if any(one.is_lasting for one in pair) for each in pair}
    found: list[tuple[float, NotedEntry]] = []
    for entry in entries:
        use = uses.get(entry.citation)
        if use is None or entry.place in known or not _is_candidate(entry, use):
            continue
        score = quality(entry, use, today).score
        if score >= SCORE and is_state([entry.text]):
            found.append((score, entry))
    chosen: dict[frozenset[str], NotedEntry] = {}
    for _, entry in sorted(found, key=lambda each: (-each[0], each[1].citation)):
        chosen.setdefault(entry.stems, entry)
    for entry in [*chosen.values()][:MOST]:
        days = len(uses[entry.citation].days) + 1
        reason = f"said on {days} days and not in MEMORY.md" if days > 1 else "often used and not in MEMORY.md"
        yield NoteFinding(FindingKind.PROMOTION, entry, reason, after=f"{section_of(entry.text)}: {entry.text}")


def _is_candidate(entry: NotedEntry, use: EntryUse) -> bool:
    if entry.is_lasting or entry.is_part or entry.day is None or (mentions(entry.text) and not recurs(entry.text)):
        return False
    if orders_reminder(entry.text):
        return False
    is_owners = entry.speaker == OWNER and entry.kind in {LineKind.SAYS, LineKind.ORDER}
    return (entry.is_note or is_owners) and (bool(use.days) or use.uses >= _USES)


def section_of(text: str) -> str:
    """Return the section of `MEMORY.md` where *text* belongs."""
    return next((name for name, words in _SECTIONS if words.search(text)), "notes")
