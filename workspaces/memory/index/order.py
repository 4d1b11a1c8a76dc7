"""Order of the matches of one search by their texts, and of those of several searches."""

from collections.abc import Sequence
from itertools import chain, zip_longest

from msgspec import Struct, structs

from workspaces.memory.entry import Entry
from workspaces.memory.index.ranking import FITTING, LEAST
from workspaces.memory.index.translation import Translated
from workspaces.memory.text.answer_kind import AnswerKind, asked_kind, holds
from workspaces.memory.text.corrections import corrects
from workspaces.memory.text.dialogue import LineKind, read_line, refers_back
from workspaces.memory.text.list_questions import asks_for_several
from workspaces.memory.text.nicknames import renamed

DECLARING = 6
"""Number of the best results that may declare another name of a person or thing in the query."""
TRANSLATED = 2
"""Most results in another language that are placed among the others, of those that clearly fit."""
UNSAID = 0.5
"""Share of their score that they lose where the other language says nothing of what the query asks; our choice."""
HELD = 0.7
"""Share of a query's own words from which on a result stands above those in other languages; our choice."""
ANSWERS = {
    AnswerKind.TIME: 0.1,
    AnswerKind.AMOUNT: 0.1,
    AnswerKind.CODE: 0.15,
    AnswerKind.LINK: 0.15,
    AnswerKind.NAME: 0.05,
}
"""Their additional weight, by what is asked for (docs/measurements/retrieval.md)."""


class MatchingEntry(Struct, frozen=True):
    """A matching entry, with the parts independent of other entries."""

    entry: Entry
    score: float
    """As `Hit.score`."""
    similarity: float
    late: float
    keyword: float
    matched: float
    is_exact: bool
    """It contains an identifier of the query verbatim."""
    rank: float
    """As `Ranked.score`."""
    subject: float
    """Share of `rank` that is its subject's, if it leaves that to the lines before."""
    kind: LineKind
    before: Entry | None = None
    """The line to which it leaves its subject: "it's in the tent bag" says little alone."""
    after: Entry | None = None
    """The line that leaves its subject to it."""


def in_turn(*results: Sequence[MatchingEntry]) -> list[MatchingEntry]:
    """Return the entries of *results* by their best places, each once, as the query that it fits better found it."""
    found: dict[tuple[str, int], MatchingEntry] = {}
    for each in filter(None, chain.from_iterable(zip_longest(*results))):
        place = each.entry.path, each.entry.position
        if place not in found or each.score > found[place].score:
            found[place] = each  # where it stands already
    return list(found.values())


def with_translated(
    found: Sequence[MatchingEntry], others: Sequence[MatchingEntry], query: Translated, question: str, least: float
) -> list[MatchingEntry]:
    """Return *found*, best first, with the best of *others*, found for *query*, each above what fits less.

    They need a score of *least*. If some hold the kind of answer that *question* asks for, the rest is left out.
    """
    certain = 1 - UNSAID * (1 - query.share)
    scaled = [structs.replace(each, score=certain * each.score) for each in others]
    least = max(least, FITTING)
    fitting = [each for each in scaled if each.score >= least and query.may_say(each.entry.text)]
    kind = asked_kind(question)
    answering = [each for each in fitting if kind and holds(kind, read_line(each.entry.text).text, question)]
    ordered = list(found)
    for each in (answering or fitting)[:TRANSLATED]:
        ordered = [other for other in ordered if other.entry != each.entry or other.score > each.score]
        if all(other.entry != each.entry for other in ordered):
            less = (
                at
                for at, other in enumerate(ordered)
                if other.score < each.score and not other.is_exact and other.matched < HELD
            )
            ordered.insert(next(less, len(ordered)), each)
    return ordered


def answer_first(found: list[MatchingEntry], question: str) -> list[MatchingEntry]:
    """Return *found*, a first line that only declares a name below one with the kind of answer that is asked for."""
    kind = asked_kind(question)
    lines = [read_line(each.entry.text).text for each in found[:DECLARING]]
    if kind is None or not lines or holds(kind, lines[0], question) or not renamed(question, lines[:1]):
        return found
    place = next((place for place, line in enumerate(lines) if holds(kind, line, question)), 0)
    return [found[place], *found[:place], *found[place + 1 :]]


def takes_back(later: Entry, earlier: Entry) -> bool:
    """Tell whether *later* takes a value of *earlier* back for another one, by the same speaker."""
    lines = read_line(later.text), read_line(earlier.text)
    return lines[0].speaker == lines[1].speaker and corrects(lines[0].text, lines[1].text)


def reordered(found: Sequence[MatchingEntry], question: str) -> list[MatchingEntry]:
    """Return *found*, best first, by their texts.

    Those that hold the kind of answer that *question* asks for get more weight, and lines that name their own subject
    nothing for that of the lines before.
    """
    kind = asked_kind(question)
    weight = ANSWERS.get(kind, 0.0) if kind else 0.0
    least = LEAST if asks_for_several(question) else -1.0

    def rank_of(each: MatchingEntry) -> tuple[bool, bool, float]:
        if each.is_exact:
            return True, True, 0.0
        fits = each.score >= least
        if not (weight or each.subject):
            return False, fits, each.rank
        text = read_line(each.entry.text).text
        answers_it = kind is not None and weight > 0 and holds(kind, text, question)
        is_lent = each.subject > 0 and refers_back(text)
        return False, fits, each.rank - each.subject * (not is_lent) + weight * answers_it

    return sorted(found, key=rank_of, reverse=True)
