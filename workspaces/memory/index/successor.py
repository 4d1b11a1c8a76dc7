"""The later line that changed the statement of the best result, found by vectors.

People rarely repeat the words of a thing that they change: "code for the gate is 5518", weeks later "gate people have
been, its 2047". So such a line is near to the question and to the older line, and says that something is different,
which a logistic regression tells by its vector (`scripts/train_change.py`). The sum of the three is compared with a
threshold, chosen on ten talks (docs/measurements/retrieval.md).
"""

from collections.abc import Sequence, Set
from datetime import date
from itertools import islice

import numpy as np
from msgspec import Struct, structs

from workspaces.memory.entry import Entry
from workspaces.memory.index.embeddings import ChangeWeights
from workspaces.memory.index.engine import CandidateRequest, Column, FloatArray, Ids, PointId
from workspaces.memory.index.hybrid import HybridEngine
from workspaces.memory.index.order import MatchingEntry
from workspaces.memory.index.points import PointTable
from workspaces.memory.index.ranking import EntryFacts, asks_agent
from workspaces.memory.index.vectors import Vectors
from workspaces.memory.text.answer_kind import asked_kind, holds
from workspaces.memory.text.claims import claims_in, corrected
from workspaces.memory.text.day_spans import days_named
from workspaces.memory.text.dialogue import TOLD, is_evidence, read_line
from workspaces.memory.text.list_questions import asks_for_several
from workspaces.memory.text.question_focus import asks_for_earlier, asks_for_event, asks_whether

_LEAST = 1.0
"""Least sum from which on a line is the successor."""
_LIKELY = 0.5
"""Least sum from which on a line is worth reading beside the best result, though it may be of another thing."""
_LIKELY_PLACE = 4
"""Number of results above the likeliest one; with fewer, real chats lose more than they gain (retrieval.md)."""
_CHANGE, _MOST_CHANGE = 0.1, 1.0
"""Weight of the logit, and its limit: a clear change of another thing is none of this one."""
_UNTOLD = 2.0
"""Subtracted where vectors tell no change."""
_READ = 4
"""Most later lines that are read, nearest first."""


def may_have_changed(question: str, today: date) -> bool:
    """Tell whether *question*, asked *today*, asks for a present value: not for a day, an event, an earlier one."""
    is_past = asks_for_earlier(question) or asks_for_event(question) or asks_whether(question)
    return not (is_past or asks_for_several(question) or asks_agent(question) or any(days_named(question, today)))


class Successors(Struct, frozen=True):
    """Finds the successors of a collection's entries."""

    engine: HybridEngine
    points: PointTable
    vectors: Vectors
    change: ChangeWeights | None
    """`None` if the vectors tell no change: then a line has to name the value that it changes."""

    def placed(
        self, found: list[MatchingEntry], question: str, request: CandidateRequest, ids: Ids
    ) -> list[MatchingEntry]:
        """Return *found*, the results for *question*, best first, with the successor of the best one above it.

        It is looked for among *ids*, the candidates, and stands there as relevant as the best one. If none is
        certain, the best result that may well be one moves up to the fifth place.
        """
        best = found[0] if found else None
        if best is None or best.is_exact or best.entry.date is None or request.dense is None:
            return found
        later = self._later(best.entry, request, ids)
        before = self.vectors.of(best.entry).dense
        if not len(later) or not len(before):  # its vector is still to come from the provider
            return found
        fits = self._fits([request.dense, before], request, later)
        nearest = [(PointId(int(later[row])), fits[row]) for row in np.argsort(-fits, kind="stable")[:_READ]]
        entries = self.engine.entries([id_ for id_, _ in nearest])
        later_ones = [(id_, entries[id_], fit) for id_, fit in nearest if id_ in entries]
        likely = [each for each in later_ones if _may_replace(each[1], best.entry, question)]
        for id_, entry, fit in likely:
            if fit >= _LEAST or _corrects(entry, best.entry):
                [row] = self.points.among([id_]).values()
                return _headed(found, structs.replace(best, entry=entry, kind=row.kind, subject=0.0))
        return _raised(found, {read_line(entry.text).text for _, entry, fit in likely if fit >= _LIKELY})

    def _fits(self, vectors: Sequence[FloatArray], request: CandidateRequest, later: Ids) -> Column:
        """Return how well *later* fit as successors: cosines with the question's and the older line's *vectors*."""
        if self.change is None:
            asked, before = self.engine.cosines(vectors, request.scopes, later)
            return asked + before - _UNTOLD
        asked, before, told = self.engine.cosines([*vectors, self.change.direction], request.scopes, later)
        return np.asarray(asked + before + _CHANGE * np.minimum(self.change.logits(told), _MOST_CHANGE), np.float64)

    def _later(self, best: Entry, request: CandidateRequest, ids: Ids) -> Ids:
        """Return the statements after *best* among *ids*."""
        rows = self.points.among(ids.tolist()).items()
        said = ((id_, row) for id_, row in rows if row.kind in TOLD)
        return np.array([id_ for id_, row in said if _is_later(row, best)], np.int64)


def _is_later(row: EntryFacts, best: Entry) -> bool:
    """Tell whether the entry of *row* was said after *best*, which has a day; an undated one may hold since before."""
    if row.path == best.path:
        return row.position > best.position
    return row.date is not None and best.date is not None and (row.date, row.path) > (best.date, best.path)


def _may_replace(later: Entry, best: Entry, question: str) -> bool:
    """Tell whether *later* may stand above *best*: others' words move nothing above the owner's own."""
    if later.is_others > best.is_others or not is_evidence(later.text, question) or not _is_said_later(later, best):
        return False
    kind = asked_kind(question)
    return not kind or not kind.is_told_by_text or holds(kind, read_line(later.text).text, question)


def _is_said_later(later: Entry, best: Entry) -> bool:
    """Tell whether *later* came after *best* within a day, whose note and conversation are two files; else it did."""
    is_beside = later.date == best.date and later.path != best.path
    return not is_beside or read_line(later.text).time > read_line(best.text).time


def _corrects(later: Entry, best: Entry) -> bool:
    """Tell whether *later* names a value of *best* and gives another in its place: "not Tuesday, Thursday"."""
    return any(corrected(before, after) for before in claims_in(best.text) for after in claims_in(later.text))


def _headed(found: Sequence[MatchingEntry], later: MatchingEntry) -> list[MatchingEntry]:
    """Return *found* with *later* at its head, once, whether its note or its conversation was found."""
    text = read_line(later.entry.text).text
    return [later, *(each for each in found if read_line(each.entry.text).text != text)]


def _raised(found: Sequence[MatchingEntry], likely: Set[str]) -> list[MatchingEntry]:
    """Return *found* with its first result of the texts *likely* not below `_LIKELY_PLACE`."""
    low = (each for each in found[_LIKELY_PLACE:] if read_line(each.entry.text).text in likely)
    raised = [*islice(low, 1)]
    return [*found[:_LIKELY_PLACE], *raised, *(each for each in found[_LIKELY_PLACE:] if each not in raised)]
