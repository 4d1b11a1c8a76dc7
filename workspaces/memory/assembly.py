"""Assembly of search results: what speaks of the same thing stands together, the newest first, marked with what holds.

By rule alone (`updates.py`, `text/claims.py`), without a model. Nothing is left out: hits change places and get a mark.
A hit is only called replaced if the thing has one value at a time; where both may hold, both stand with their dates.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import combinations

from msgspec import structs

from workspaces.memory.hits import Hit, moment_of, since_mark, until_mark
from workspaces.memory.text.claims import Relation, relation
from workspaces.memory.text.day_spans import days_named
from workspaces.memory.text.known_lines import until
from workspaces.memory.text.question_focus import asks_whether
from workspaces.memory.updates import CORRECTABLE, NEAR, Asked, Statement

_CONSIDERED, _DENIED = 30, 50
"""Hits that are compared: a newer value may stand far below an older one, and further what another one denies."""
_FIRST, _BEST = 10, 6
"""Of the first ten, the six best of the search are never pushed out: an older value is worth a look too."""
_PARTNERS = 8
"""Most hits that are moved up beside one that contradicts them: with it, they are within the first ten."""
_DENIALS = 2
"""Most denials that stand together above them."""
_FITS = 0.7
"""Least fit of such a hit, as a share of the best one's."""


def considered(question: str) -> int:
    """Return how many hits are compared for *question*."""
    return _DENIED if asks_whether(question) else _CONSIDERED


def assembled(hits: Sequence[Hit], question: str, today: date) -> tuple[Hit, ...]:
    """Return *hits*, best first, with those about one thing together: the newest first, at the place of the best.

    Marks are set where rules are certain: `now`, `until` a day, `contradicts` a citation.
    """
    asked = Asked(question, names_day=any(days_named(question, today)))
    depth = considered(question)
    said = [Statement(hit, place, asked) for place, hit in enumerate(_with_whole_answers(hits[:depth]))]
    order = list(range(len(said)))
    marks: dict[int, str] = {}
    replaced: dict[int, set[int]] = {}
    ages = {place: age for age, place in enumerate(sorted(order, key=lambda place: moment_of(said[place].hit)))}
    for one, other in combinations(order.copy(), 2):
        older, newer = (one, other) if ages[one] < ages[other] else (other, one)
        is_replaced = _is_replaced(said, older, newer, marks) and not asked.names_day
        is_asked_for = said[older].is_named and not said[newer].is_named
        if not is_asked_for and (is_replaced or said[newer].replaces(said[older])):
            _place_before(order, newer, older)
            replaced.setdefault(newer, set()).add(older)
    _place_noted(said, order, marks)
    if asked.wants_earlier:
        _put_back(order, replaced)
    _place_corrections(said, order)
    denying = [place for place in order if said[place].denies]
    if denying and asked.kind not in CORRECTABLE:
        _gather(said, order, denying, marks)
    _keep_best(order)
    marked = (
        structs.replace(said[place].hit, mark=marks[place]) if place in marks else said[place].hit for place in order
    )
    return (*marked, *hits[depth:])


def _keep_best(order: list[int]) -> None:
    """Leave the best hits of the search among the first, however many newer statements there are."""
    fallen = [place for place in order[_FIRST:] if place < _BEST]
    if fallen:
        moved = sorted(place for place in order[_FIRST - _BEST : _FIRST] if place >= _BEST)[-len(fallen) :]
        others = [place for place in order if place not in {*fallen, *moved}]
        order[:] = [*others[: _FIRST - len(fallen)], *fallen, *moved, *others[_FIRST - len(fallen) :]]


def _with_whole_answers(hits: Sequence[Hit]) -> list[Hit]:
    """Return *hits* with each part of an agent's long answer known as one: only its first part names the agent."""
    answers = {(hit.path, hit.start_line) for hit in hits if hit.is_answer}
    return [structs.replace(hit, is_answer=True) if (hit.path, hit.start_line) in answers else hit for hit in hits]


def _is_replaced(said: Sequence[Statement], older: int, newer: int, marks: dict[int, str]) -> bool:
    """Tell whether *newer* certainly replaces *older*, both of which have a day, and mark them, or that they differ."""
    first, second = said[older].hit, said[newer].hit
    if first.date is None or second.date is None:
        return False
    relations = [relation(before, after, second.date) for before in said[older].claims for after in said[newer].claims]
    is_replaced = Relation.REPLACES in relations and not said[newer].names_another_thing(said[older])
    is_replaced = is_replaced or said[newer].corrects(said[older])
    if older not in marks and (is_replaced or Relation.CONTRADICTS in relations):
        marks[older] = until_mark(second) if is_replaced else f"contradicts {second.citation}"
        marks.setdefault(newer, since_mark(second) if is_replaced else f"contradicts {first.citation}")
    return is_replaced


def _place_corrections(said: Sequence[Statement], order: list[int]) -> None:
    """Place each line that takes back a value of the line right above it there."""
    lines: dict[tuple[str, int], list[int]] = {}
    for place, each in enumerate(said):
        lines.setdefault((each.hit.path, each.hit.start_line), []).append(place)
    for older, each in enumerate(said):
        for newer in lines.get((each.hit.path, each.hit.end_line + 1), ()):
            if said[newer].takes_back(each):
                _place_before(order, newer, older)


def _place_noted(said: Sequence[Statement], order: list[int], marks: dict[int, str]) -> None:
    """Mark the hits that a note calls replaced, and place the lines that hold now above them."""
    for place, each in enumerate(said):
        if (noted := until(each.hit.snippet)) is not None:
            marks[place] = f"until {noted[0]}, now {noted[1]}"
            for newer in [at for at, other in enumerate(said) if _holds(other.hit, noted[1])]:
                _place_before(order, newer, place)


def _gather(said: Sequence[Statement], order: list[int], denying: Sequence[int], marks: dict[int, str]) -> None:
    """Place the hits that most say what the first of *denying* denies beside it, and mark all as contradicting."""
    first = denying[0]
    fits = {place: said[place].affirmed + 2 * said[place].hit.score for place in order if said[place].affirmed >= NEAR}
    others = sorted(fits.keys() - denying, key=lambda place: -fits[place])[:_PARTNERS]
    partners = [place for place in order if place in others and fits[place] >= _FITS * fits[others[0]]]
    for partner in partners:
        marks.setdefault(partner, f"contradicts {said[first].hit.citation}")
        for place in denying:
            marks.setdefault(place, f"contradicts {said[partner].hit.citation}")
    at = order.index(first)
    beside = [*denying[:_DENIALS], *partners]
    order[:] = [
        *(each for each in order[:at] if each not in beside),
        *beside,
        *(each for each in order[at:] if each not in beside),
    ]


def _put_back(order: list[int], replaced: Mapping[int, set[int]]) -> None:
    """Place each hit that none replaces below the best of those that it replaces: the value before is asked for."""
    for newest in sorted(replaced.keys() - set().union(*replaced.values())):
        order.remove(newest)
        order.insert(min(map(order.index, replaced[newest])) + 1, newest)


def _holds(hit: Hit, place: str) -> bool:
    """Return whether *hit* is the line at *place*, as `path#Ln`."""
    path, _, line = place.partition("#L")
    return hit.path == path and hit.start_line <= int(line.partition("-")[0]) <= hit.end_line


def _place_before(order: list[int], newer: int, older: int) -> None:
    if order.index(newer) > order.index(older):
        order.remove(newer)
        order.insert(order.index(older), newer)
