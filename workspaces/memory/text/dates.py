"""Days, months and years named in a text, in full, in part, or relative to today."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

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
    r"(?P<year>(?:19|20)\d\d)年(?:(?P<number>[01]?\d)月)?(?:(?P<day>[0-3]?\d)日)?",
    r"(?P<year>(?:19|20)\d\d)년\s*(?:(?P<number>[01]?\d)월)?\s*(?:(?P<day>[0-3]?\d)일)?",
    rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?",
    rf"\b{_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?",
    rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}",
    rf"\b(?P<lead>in|of|since|until|till|during|last|this|next|by|early|late|mid|before|after)[\s-]+{_MONTH}",
    rf"\b{_MONTH}",
    r"(?<![\w-])(?P<year>(?:19|20)\d\d)(?![\w-])",
    r"\b(?P<year>(?:19|20)\d\d)-(?P<number>[01]\d)\b",
)
_HINT = re.compile(r"\d|" + "|".join(_SHORT), re.IGNORECASE)
"""Required by every form; most questions lack it, and this test takes a tenth of matching all forms."""

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE = re.compile(
    r"\b(?:(?P<zero>today|tonight|this (?:morning|afternoon|evening))|(?P<two>(?:the )?day before yesterday)"
    r"|(?P<one>yesterday|last night)|(?P<count>\d{1,3}) days ago"
    rf"|(?P<which>last|this|on) (?P<unit>week|month|year|{'|'.join(_WEEKDAYS)}))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NamedDate:
    """A day, a month or a year as far as a text names it; at least one field is set."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def covers(self, other: date) -> bool:
        """Tell whether *other* agrees with every named part."""
        return self.year in {None, other.year} and self.month in {None, other.month} and self.day in {None, other.day}


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(form, re.IGNORECASE) for form in _FORMS)


def dates_named(text: str) -> list[NamedDate]:
    """Return the dates in *text*, most exact forms first: "on 8 May 2023", "in June", "2023-05-08", "2022"."""
    found: list[NamedDate] = []
    if not _HINT.search(text):
        return found
    for form in _forms():
        for match in form.finditer(text):
            named = _named(match)
            if named is not None:
                found.append(named)
        text = form.sub(lambda match: " " * len(match[0]) if _named(match) else match[0], text)
    return list(dict.fromkeys(found))


def relative_dates(text: str, today: date) -> list[NamedDate]:
    """Return the days, months, years in *text* relative to *today*: "yesterday", "last week", "on Monday"."""
    return [named for match in _RELATIVE.finditer(text) for named in _seen_from(today, match)]


def _seen_from(today: date, match: re.Match[str]) -> Iterator[NamedDate]:
    unit = (match["unit"] or "").casefold()
    is_last = (match["which"] or "").casefold() == "last"
    first = today.replace(day=1)
    match unit:
        case "":
            yield _day(today - timedelta(_days_ago(match)))
        case "year":
            yield NamedDate(today.year - is_last)
        case "month":
            month = first - timedelta(is_last)
            yield NamedDate(month.year, month.month)
        case "week":
            monday = today - timedelta(today.weekday() + 7 * is_last)
            yield from (_day(monday + timedelta(number)) for number in range(7))
        case _:
            yield _day(today - timedelta((today.weekday() - _WEEKDAYS.index(unit) - 1) % 7 + 1))


def _days_ago(match: re.Match[str]) -> int:
    return int(match["count"]) if match["count"] else 2 if match["two"] else 1 if match["one"] else 0


def _day(day: date) -> NamedDate:
    return NamedDate(day.year, day.month, day.day)


def date_in(text: str) -> date | None:
    """Return the first full date in *text*, or `None`."""
    for named in dates_named(text):
        if named.year and named.month and named.day:
            return date(named.year, named.month, named.day)
    return None


def _named(match: re.Match[str]) -> NamedDate | None:
    groups = match.groupdict()
    word = groups.get("month")
    if word and word.casefold() in _AMBIGUOUS and match[0].strip(".").casefold() == word.casefold():
        return None
    month = _SHORT.get(word[:3].casefold()) if word else _number(groups.get("number"))
    named = NamedDate(_number(groups.get("year")), month, _number(groups.get("day")))
    return named if _exists(named) else None


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _exists(named: NamedDate) -> bool:
    try:
        date(named.year or 2000, named.month or 1, named.day or 1)
    except ValueError:
        return False
    return True
