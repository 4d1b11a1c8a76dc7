"""Lines of a file that a new one repeats, or may replace, by rule; and the note that says until when a line held."""

from datetime import date

from msgspec import Struct

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.claims import Claim, Relation, claims_in, relation
from workspaces.memory.text.tokens import query_terms

_ITEM = lazy_pattern(r"\s*+(?:[-*+]|\d{1,3}[.)])\s++(?P<text>\S.*)")
_UNTIL = lazy_pattern(r" \(until (?P<day>\d{4}-\d\d-\d\d), now (?P<place>[^()\n]{1,200}#L\d{1,9}(?:-L\d{1,9})?)\)\s*$")


class KnownLine(Struct, frozen=True):
    """A list item that speaks of the same thing as a new one."""

    number: int
    """From 1."""
    text: str
    """Without its bullet."""
    is_repeated: bool
    """The new one says the same; otherwise it gives another value of something that has one at a time."""


def known_line(text: str, whole: str, today: date, skip: int = 0) -> KnownLine | None:
    """Return the item of *whole* that *text*, written *today*, repeats, else the last that it may replace.

    Items that were replaced already, and line number *skip*, do not count.
    """
    new, about = claims_in(text), frozenset(query_terms(text))
    found = None
    for number, line in enumerate(whole.split("\n"), 1):
        item = _ITEM.fullmatch(line.rstrip("\r"))
        if item is None or number == skip or until(line) is not None:
            continue
        how = _relation(claims_in(item["text"], about), new, today)
        if how is Relation.REPEATS:
            return KnownLine(number, item["text"], True)
        if how is Relation.REPLACES:
            found = KnownLine(number, item["text"], False)
    return found


def with_until(line: str, day: date, place: str) -> str:
    """Return *line* with the note that it held until *day*, and that *place* (`path#Ln`) holds now."""
    end = "\r" if line.endswith("\r") else ""
    return f"{line.rstrip()} (until {day}, now {place}){end}"


def until(line: str) -> tuple[str, str] | None:
    """Return the day until which *line* held and the place that holds now, as noted in it; `None` without a note."""
    found = _UNTIL.search(line)
    return None if found is None else (found["day"], found["place"])


def _relation(old: tuple[Claim, ...], new: tuple[Claim, ...], today: date) -> Relation | None:
    """Return how the new item relates to an old one: it repeats it whole, or replaces one of its values."""
    pairs = [relation(before, after, today) for before in old for after in new]
    if len(old) == len(new) and old and pairs[:: len(new) + 1] == [Relation.REPEATS] * len(old):
        return Relation.REPEATS
    return Relation.REPLACES if Relation.REPLACES in pairs else None
