"""Assembly of search results: what speaks of the same thing stands together, the newest first, marked with what holds.

By rule alone (`text/claims.py`), without a model. Nothing is left out: hits change places and get a mark. A hit is only
called replaced if the thing has one value at a time; where both may hold, both stand with their dates.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from workspaces.memory.hits import Hit
from workspaces.memory.text.claims import Claim, Relation, claims_in, relation
from workspaces.memory.text.dialogue import read_line
from workspaces.memory.text.facts import FactKind
from workspaces.memory.text.known_lines import until
from workspaces.memory.text.tokens import query_terms

CONSIDERED = 30
"""Hits that are compared: a newer value may stand far below an older one."""
_CLEAR = 0.4
"""Share of the question's words in a sentence from which on it is about the question; our choice."""
_DENIED = 0.5
"""The same for a sentence that denies; our choice."""
_NEAR = 0.2
"""The same for a sentence that says that something changed, or what another one denies; our choice."""
_PARTNERS = 5
"""Most hits that are moved up beside one that contradicts them."""
_ASSISTANT = frozenset({"assistant", "agent", "bot"})


def assembled(hits: Sequence[Hit], question: str) -> tuple[Hit, ...]:
    """Return *hits*, best first, with those about one thing together: the newest first, at the place of the best.

    Marks are set where rules are certain: `now`, `until` a day, `contradicts` a citation.
    """
    asked = frozenset(query_terms(question))
    read = [_Read(hit, asked) for hit in hits[:CONSIDERED]]
    order = list(range(len(read)))
    marks: dict[int, str] = {}
    for one in range(len(read)):
        for other in range(one + 1, len(read)):
            older, newer = (one, other) if read[one].comes_before(read[other]) else (other, one)
            _compare(read, older, newer, marks)
            if read[newer].updates(read[older]) or marks.get(older, "").startswith("until"):
                _place_before(order, newer, older)
    for place, each in enumerate(read):
        if (noted := until(each.hit.snippet)) is not None:
            marks[place] = f"until {noted[0]}, now {noted[1]}"
            for newer in [at for at, other in enumerate(read) if _holds(other.hit, noted[1])]:
                _place_before(order, newer, place)
    for denying in [place for place in range(len(read)) if read[place].denies]:
        _gather(read, order, denying, marks)
    marked = (replace(read[place].hit, mark=marks.get(place, "")) for place in order)
    return (*marked, *hits[CONSIDERED:])


class _Read:
    """A hit, as far as rules read it."""

    def __init__(self, hit: Hit, asked: frozenset[str]) -> None:
        self.hit = hit
        line = read_line(hit.snippet)
        self.is_answer = line.speaker.casefold() in _ASSISTANT
        self.claims = () if self.is_answer else claims_in(hit.snippet, asked)
        whole = () if self.is_answer or not asked else claims_in(hit.snippet, asked, is_whole=True)
        shares = ((each, len(asked & each.words) / len(asked)) for each in whole)
        self.about = [(each, share) for each, share in shares if share >= _NEAR]
        self.denies = any(each.is_never and share >= _DENIED for each, share in self.about)
        self.affirmed = max((share for each, share in self.about if not each.denies), default=0.0)
        self.asked = asked

    def comes_before(self, other: "_Read") -> bool:
        return self._place() <= other._place()

    def _place(self) -> tuple[date, str, int]:
        return self.hit.date or date.max, self.hit.path, self.hit.start_line

    def updates(self, older: "_Read") -> bool:
        """Return whether this says that something is different now of which *older* gives a value too."""
        return any(
            _is_other_value(after, before, self.asked)
            for before, share in older.about
            if share >= _CLEAR
            for after, shared in self.about
            if after.changes or shared >= _CLEAR
        )


def _compare(read: Sequence[_Read], older: int, newer: int, marks: dict[int, str]) -> None:
    """Mark two hits where one certainly replaces the other: both have a day, or stand in one file."""
    first, second = read[older].hit, read[newer].hit
    if first.date is None or second.date is None or older in marks:
        return
    for before in read[older].claims:
        for after in read[newer].claims:
            match relation(before, after, second.date):
                case Relation.REPLACES:
                    marks[older] = f"until {second.date}, now {second.citation}"
                    marks.setdefault(newer, f"now, since {second.date}")
                case Relation.CONTRADICTS:
                    marks.setdefault(older, f"contradicts {second.citation}")
                    marks.setdefault(newer, f"contradicts {first.citation}")
                case _:
                    pass


def _gather(read: Sequence[_Read], order: list[int], denying: int, marks: dict[int, str]) -> None:
    """Place the hits that say most of what *denying* denies beside it, and mark them as contradicting."""
    others = [place for place in order if place != denying and read[place].affirmed >= _NEAR and not read[place].denies]
    partners = sorted(others, key=lambda place: -read[place].affirmed)[:_PARTNERS]
    for partner in partners:
        marks.setdefault(denying, f"contradicts {read[partner].hit.citation}")
        marks.setdefault(partner, f"contradicts {read[denying].hit.citation}")
        if order.index(partner) > order.index(denying):
            order.remove(partner)
            order.insert(order.index(denying) + 1, partner)


def _holds(hit: Hit, place: str) -> bool:
    """Return whether *hit* is the line at *place*, as `path#Ln`."""
    path, _, line = place.partition("#L")
    return hit.path == path and hit.start_line <= int(line.partition("-")[0]) <= hit.end_line


def _place_before(order: list[int], newer: int, older: int) -> None:
    if order.index(newer) > order.index(older):
        order.remove(newer)
        order.insert(order.index(older), newer)


def _is_other_value(after: Claim, before: Claim, asked: frozenset[str]) -> bool:
    """Return whether both claims give a value of one kind, and not the same; without a word of change: of one unit."""
    for new in after.values:
        for old in before.values:
            is_one_unit = new.head == old.head and bool(new.head)
            is_asked = {new.head, old.head} <= asked | {""}
            if new.kind is old.kind and new.normal != old.normal:
                if is_one_unit and new.kind is FactKind.NUMBER:
                    return True
                if after.changes and (is_one_unit or is_asked or new.kind in {FactKind.DATE, FactKind.NUMBER}):
                    return True
    return False
