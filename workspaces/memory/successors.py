"""The later line that changed the statement of the best result, in other words than the question's.

"Swimming is on Tuesdays, Ms Fran teaches her" answers a question for the day of swimming. "Goggles madam was shifted to
Thursdays, Ms Fran is off" shares no word with the question, but a name with that answer. So the best result's own words
are searched too, and a later line that says that something changed stands beside it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import islice

from workspaces.memory.hits import CLEAR, Hit, moment_of, since_mark, until_mark
from workspaces.memory.text.answer_kind import AnswerKind, holds
from workspaces.memory.text.claim_words import EMPTY
from workspaces.memory.text.claims import claims_in
from workspaces.memory.text.day_spans import days_named
from workspaces.memory.text.dialogue import draws_on, read_line
from workspaces.memory.text.facts import FactKind
from workspaces.memory.text.languages import is_worded_in_english, small_terms
from workspaces.memory.text.tokens import query_terms, stem
from workspaces.memory.text.values import SHIFTED, Value, without_changes
from workspaces.memory.updates import CORRECTABLE, Asked, Statement, ought, says_otherwise

_DEPTH = 4
"""Nearest lines of the best result among which one that shares a word is taken; our choice, 8 and 12 lost more."""
_REPLACED = CORRECTABLE | {AnswerKind.PLACE}
"""Kinds of answers that a later line may change; questions of no kind gain one place of 183, at twice the time."""
_ONCE = re.compile(r"\b(?:when|what (?:day|time)|how long ago) did\b", re.IGNORECASE)
"""Asks for something that happened, which no later line changes."""
_SHARED = 2
"""Words in common that a question for a place needs, if it names none of them."""
_COMMON = frozenset(
    map(
        stem,
        """code number password pin euro eur pound dollar quid buck cent time day week month year
        call tell told say said ask rang phone wrote""".split(),  # noqa: SIM905
    )
)
"""Words that many lines share which are about different things."""


def answering(hits: Sequence[Hit], question: str, today: date) -> Hit | None:
    """Return the best hit if it clearly answers *question* and a later line may have changed its statement."""
    if not hits or hits[0].score < CLEAR or hits[0].date is None or hits[0].is_answer:
        return None
    asked = Asked(question)
    is_past = _ONCE.search(question) or asked.wants_earlier or any(days_named(question, today))
    return None if is_past or asked.kind not in _REPLACED else hits[0]


def with_successor(hits: Sequence[Hit], best: Hit, near: Sequence[Hit], question: str) -> Sequence[Hit]:
    """Return *hits* with the later line beside *best* that changed its statement; *near* are the hits for its words.

    It stands above *best*, as relevant as that. Others' words move nothing above the owner's own.
    """
    asked = Asked(question)
    older = Statement(best, 0, asked)
    rest = {hit.citation: hit for hit in near if hit.citation != best.citation and hit.is_others <= best.is_others}
    nearest = [*islice(rest.values(), _DEPTH)]
    said, close = (
        (Statement(hit, 0, asked) for hit in some if moment_of(hit) >= moment_of(best))
        for some in (rest.values(), [*nearest, *filter(None, map(_with_next, nearest))])
    )
    correcting = (each for each in said if each.corrects(older))
    changing = (each for each in close if _changes(each, older, asked))
    found = (corrected := next(correcting, None)) or next(changing, None)
    if found is None:
        return hits
    known = [each for each in hits if each.citation not in {found.hit.citation, best.citation}]
    hit = replace(rest[found.hit.citation], score=best.score, similarity=best.similarity, matched=best.matched)
    if corrected and hit.date:
        best, hit = replace(best, mark=until_mark(hit)), replace(hit, mark=since_mark(hit))
    return [hit, best, *known]


def _with_next(hit: Hit) -> Hit | None:
    """Return *hit* and the line that draws on it: "they double booked us", "so it's the church hall now"."""
    text = read_line(hit.after).text
    return replace(hit, snippet=f"{hit.snippet} {text}") if draws_on(text) else None


def _changes(newer: Statement, older: Statement, asked: Asked) -> bool:
    """Tell whether *newer* says that a thing of *older* is different now, and gives the value asked for."""
    before, after = older.compared, _changing(newer)
    if newer.hit.is_answer or newer.is_named < older.is_named or not says_otherwise(after):
        return False
    if asked.kind and asked.kind.is_told_by_text and not holds(asked.kind, older.hit.passage, asked.text):
        return False
    if ought(before) > ought(after) or newer.names_another_thing(older):
        return False
    shared = (_things(before, asked) | asked.things) & _things(after, asked)
    least = 1 if asked.kind in CORRECTABLE or shared & asked.things else _SHARED
    return len(shared) >= least and _gives(after, before, asked)


def _changing(newer: Statement) -> str:
    """Return the text of *newer*; of a long line, its sentences that say that something changed."""
    if not newer.is_long:
        return newer.text
    return " ".join(each.sentence for each in claims_in(newer.text) if says_otherwise(each.sentence))


def _gives(after: str, before: str, asked: Asked) -> bool:
    """Tell whether *after* gives a value of the kind that is asked for; a code has as many digits as the one before."""
    match asked.kind:
        case AnswerKind.TIME:
            is_day = any(each.kind is FactKind.DATE for each in _values(after))
            return is_day or SHIFTED.search(after.lower()) is not None
        case AnswerKind.CODE:
            known = {_form(each) for each in _values(before) if asked.takes(each)}
            return any(asked.takes(each) and _form(each) in known for each in _values(after))
        case AnswerKind.AMOUNT:
            return any(each.kind is FactKind.NUMBER for each in _values(after))
        case _:
            return True


def _form(code: Value) -> tuple[int, bool]:
    return sum(map(str.isdigit, code.text)), any(map(str.isalpha, code.text))


def _things(text: str, asked: Asked) -> frozenset[str]:
    """Return the stems of the things of *text*: neither values nor words of change, names too."""
    rest = without_changes(text)
    for value in _values(text):
        if value.kind is not FactKind.NAME:
            rest = rest.replace(value.text, " ", 1)
    small = frozenset[str]() if is_worded_in_english(text) else small_terms()
    return frozenset(query_terms(rest)) - EMPTY - small - (asked.words - asked.things) - _COMMON


def _values(text: str) -> list[Value]:
    return [value for claim in claims_in(text) for value in claim.values]
