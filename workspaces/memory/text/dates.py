"""Days, months and years named in a text, in full or in part."""

import re
from collections.abc import Iterator
from datetime import date
from functools import cache

from msgspec import Struct

from workspaces.lazy_pattern import lazy_pattern

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SHORT = {name[:3]: number for number, name in enumerate(_MONTHS, 1)} | {"sept": 9}
_AMBIGUOUS = frozenset({"may", "march", "mar"})
"""Words that are often not months: they count beside a number or after a word such as "in"."""

_MONTH = r"(?P<month>" + "|".join([*_MONTHS, *_SHORT]) + r")\b\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_FORMS = (
    r"\b(?P<year>(?:19|20)\d\d)[-/.](?P<number>[01]?\d)[-/.](?P<day>[0-3]?\d)\b",
    r"\b(?P<day>[0-3]?\d)\.(?P<number>[01]?\d)\.(?P<year>(?:19|20)\d\d)\b",
    r"\b(?P<other>[0-3]?\d)/(?P<number>[0-3]?\d)/(?P<year>(?:19|20)\d\d)\b",
    r"(?P<year>(?:19|20)\d\d)年(?:(?P<number>[01]?\d)月)?(?:(?P<day>[0-3]?\d)日)?",
    r"(?P<year>(?:19|20)\d\d)년\s*(?:(?P<number>[01]?\d)월)?\s*(?:(?P<day>[0-3]?\d)일)?",
    rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?",
    rf"\b{_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?",
    rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}",
    rf"\b(?P<lead>in|of|since|until|till|between|from|during|last|this|next|by|early|late|mid|before|after)[\s-]+{_MONTH}",
    rf"\b{_MONTH}",
    r"\bthe\s+(?P<day>[0-3]?\d)(?:st|nd|rd|th)(?=\s*(?:[?.!,;)]|$|(?:and|to|till|until)\b))",
    r"(?<![\w-])(?P<year>(?:19|20)\d\d)(?![\w-])",
    r"\b(?P<year>(?:19|20)\d\d)-(?P<number>[01]\d)\b",
)
_HINT = lazy_pattern(r"\d|" + "|".join(_SHORT), re.IGNORECASE)
"""Required by every form; most questions lack it, and this test takes a tenth of matching all forms."""


class NamedDate(Struct, frozen=True):
    """A day, a month or a year as far as a text names it; at least one field is set."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def covers(self, other: date) -> bool:
        """Tell whether *other* agrees with every named part."""
        return self.year in {None, other.year} and self.month in {None, other.month} and self.day in {None, other.day}

    def nearness(self, other: date) -> float:
        """Return 1 for a day that it covers, 0 for others."""
        return float(self.covers(other))

    @property
    def exists(self) -> bool:
        """Whether there is such a date."""
        try:
            date(self.year or 2000, self.month or 1, self.day or 1)
        except ValueError:
            return False
        return True


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(form, re.IGNORECASE) for form in _FORMS)


def mentions(text: str) -> list[tuple[int, int, NamedDate]]:
    """Return start, end and date of each date in *text*, most exact forms first: "on 8 May 2023", "in June", "2022".

    3/4/2026 is named in both orders.
    """
    found: list[tuple[int, int, NamedDate]] = []
    if not _HINT.search(text):
        return found
    for form in _forms():
        found += [(_start(match), match.end(), each) for match in form.finditer(text) for each in _readings(match)]
        text = form.sub(lambda match: " " * len(match[0]) if any(_readings(match)) else match[0], text)
    return found


def _start(match: re.Match[str]) -> int:
    """Return where the date begins: after a word such as "since"."""
    return match.start("month") if match.groupdict().get("lead") else match.start()


def _readings(match: re.Match[str]) -> Iterator[NamedDate]:
    named = _named_date(match)
    if named is not None:
        yield named
    if "other" in match.groupdict():
        turned = NamedDate(int(match["year"]), int(match["other"]), int(match["number"]))
        if turned.exists and turned != named:
            yield turned


def is_between(day: date | None, since: date | None, until: date | None) -> bool:
    """Return whether *day* is within two bounds, both included; `None` is within no bound."""
    return (since is None and until is None) or (day is not None and (since or day) <= day <= (until or day))


def date_in(text: str) -> date | None:
    """Return the first full and unambiguous date in *text*, or `None`."""
    found = mentions(text)
    starts = [start for start, _, _ in found]
    for start, _, named in found:
        if named.year and named.month and named.day and starts.count(start) == 1:
            return date(named.year, named.month, named.day)
    return None


def _named_date(match: re.Match[str]) -> NamedDate | None:
    groups = match.groupdict()
    word = groups.get("month")
    if word and word.casefold() in _AMBIGUOUS and match[0].strip(".").casefold() == word.casefold():
        return None
    month = _SHORT.get(word[:3].casefold()) if word else _number(groups.get("number"))
    named = NamedDate(_number(groups.get("year")), month, _number(groups.get("day") or groups.get("other")))
    return named if named.exists else None


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None
