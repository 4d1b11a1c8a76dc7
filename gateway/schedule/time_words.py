"""Words of a sentence that name a time: a time of day, a day, a length of time, a repetition; each with its place."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import pairwise

from gateway.schedule.clock_words import COUNTED, WORDS, Form, Maker, always, clock_forms, length_forms, length_of
from gateway.schedule.time_values import (
    THIS_MONTH,
    DayOfMonth,
    EitherDay,
    Length,
    NthWeekday,
    PartOfDay,
    Period,
    Repetition,
    SlashedDate,
    TimeWord,
    Unit,
    Unread,
    Value,
    Weekday,
    month_period,
)
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.date_words import LANGUAGES
from workspaces.memory.text.dates import NamedDate
from workspaces.memory.text.day_spans import DayMention, DaySpan, day_mentions, folded
from workspaces.memory.text.feasts import feasts_ahead

LONGEST_READ = 300
"""Characters of a text that are read: a request names its time early, and a longer text is rather pasted."""


def times_in(text: str, today: date) -> list[TimeWord]:
    """Return what *text* names, in order; parts of the day may lie within words of a day, such as "tonight"."""
    rest, found = plain(text[:LONGEST_READ]), list[TimeWord]()
    for form, make in _FORMS:
        rest = _taken(form, make, rest, today, found)
    parts = [TimeWord(*match.span(), part) for part, form in _PARTS for match in form.finditer(rest)]
    for form, make in _DAY_FORMS:
        rest = _taken(form, make, rest, today, found)
    days = list(_days(rest, today))
    for each in days:
        rest = rest[: each.start] + "\0" * (each.end - each.start) + rest[each.end :]
    found += days
    _taken(_ORDINAL, _day_of_month, rest, today, found)
    found += [behind for each in found for behind in _behind(rest, each)]
    found.sort(key=lambda each: (each.start, each.end))
    return sorted(
        [*_with_ranges(plain(text[:LONGEST_READ]), found), *_longest(parts)], key=lambda each: (each.start, each.end)
    )


def plain(text: str) -> str:
    """Return *text* in lower case with straight apostrophes, character by character."""
    lower = "".join(one if len(one := c.lower()) == 1 else c for c in text)
    return lower.replace("’", "'").translate(_FULL_WIDTH)


_FULL_WIDTH = {ord("０") + digit: ord("0") + digit for digit in range(10)} | {ord("："): ":"}


def _taken(form: re.Pattern[str], make: Maker, text: str, today: date, found: list[TimeWord]) -> str:
    """Return *text* without what *form* reads in it, which goes to *found*."""
    for match in form.finditer(text):
        if (value := make(match, today)) is not None:
            found.append(TimeWord(match.start(), match.start() + len(match[0].rstrip()), value))
            text = text[: match.start()] + "\0" * len(match[0]) + text[match.end() :]
    return text


def _behind(text: str, day: TimeWord) -> Iterator[TimeWord]:
    """Yield the words right behind *day* that move it: "Friday week"."""
    if isinstance(day.value, date | Weekday):
        for days, form in _BEHIND:
            if match := form.match(text, day.end):
                yield TimeWord(*match.span(), Length(days=days, is_from_day=True))


def _with_ranges(text: str, words: Sequence[TimeWord]) -> Iterator[TimeWord]:
    """Yield *words* with the days of "Monday to Friday" as days that repeat; other ranges of days are unread."""
    joined = [(one, other) for one, other in pairwise(words) if _is_range(text, one, other)]
    for each in words:
        if not any(each in pair for pair in joined):
            yield each
    for one, other in joined:
        lead = _RANGE_LEAD.search(text, max(one.start - 20, 0), one.start)
        start = lead.start() if lead else one.start
        for value in _days_of_range(text, one, other):
            yield TimeWord(start, other.end, value)


def _is_range(text: str, one: TimeWord, other: TimeWord) -> bool:
    days = (Weekday, date, NamedDate)
    is_of_days = isinstance(one.value, days) and isinstance(other.value, days)
    if (
        not is_of_days
        or not _RANGE.fullmatch(text, one.end, other.start)
        or text[other.end : other.end + 1] in {"'", "-"}
    ):
        return False
    return (isinstance(one.value, Weekday) and isinstance(other.value, Weekday)) or "-" not in text[
        one.end : other.start
    ]


def _days_of_range(text: str, one: TimeWord, other: TimeWord) -> Sequence[Value]:
    """Return the days of a range of weekdays that nothing restricts to one week, such as "this Monday to Friday"."""
    first, last = one.value, other.value
    words = text[one.start : one.end].split() + text[other.start : other.end].split()
    if not isinstance(first, Weekday) or not isinstance(last, Weekday) or len(words) > 2:  # a word each
        return (Unread.UNREAD,)
    return [Weekday((first.number + ahead) % 7, is_every=True) for ahead in range((last.number - first.number) % 7 + 1)]


def _longest(parts: Sequence[TimeWord]) -> Iterator[TimeWord]:
    for each in parts:
        if not any(
            other is not each and other.start <= each.start and each.end <= other.end and other.value == each.value
            for other in parts
        ):
            yield each


def _days(text: str, today: date) -> Iterator[TimeWord]:
    """Yield days, dates and weekdays that memory's reading of dates knows."""
    without_accents = folded(text)
    feasts = [TimeWord(*each) for each in feasts_ahead(without_accents, today)]
    yield from (each for each in feasts if _FEAST_LEAD.search(without_accents[: each.start]))
    end = 0
    for each in day_mentions(without_accents, today):
        if each.start < end or any(feast.start < each.end and each.start < feast.end for feast in feasts):
            continue
        match each:
            case DayMention(named=DaySpan(first=first), is_weekday=True):
                word = _weekday(text, first.weekday(), each.start, each.end)
            case _:
                word = TimeWord(each.start, each.end, _day(each.named, today))
        yield word
        end = word.end


_FEAST_LEAD = lazy_pattern(
    r"(?<!\w)(?:on|before|after|by|until|vor|nach|bis|avant|apres|at|an|zu|am|a|en|op|met|w|na|no|di)\s\Z"
)


def _day(named: NamedDate | DaySpan, today: date) -> Value:
    match named:
        case DaySpan(first=first, last=last) if first == last and first >= today:
            return first
        case NamedDate(month=int(), day=int()):
            return named
        case NamedDate(year=None, month=None, day=int(day)):
            return DayOfMonth(day)
        case _:
            return Unread.UNREAD


def _weekday(text: str, number: int, start: int, end: int) -> TimeWord:
    """Return the weekday with a word such as "next" beside it."""
    if nth := _NTH.search(text, max(start - 20, 0), start):
        month = _OF_MONTH.match(folded(text), end)
        value = NthWeekday(number, _place_of(nth), _month_of(month) if month else None)
        return TimeWord(nth.start(), month.end() if month else end, value)
    if last := _LAST.search(text, max(start - 20, 0), start):
        return TimeWord(last.start(), end, Unread.UNREAD)
    if this := _THIS.search(text, max(start - 20, 0), start):
        return TimeWord(this.start(), end, Weekday(number))
    if found := _NEXT.search(text, max(start - 20, 0), start):
        return TimeWord(found.start(), end, Weekday(number, is_next=True))
    if found := _NEXT_BEHIND.match(text, end):
        return TimeWord(start, found.end(), Weekday(number, is_next=True))
    return TimeWord(start, end, Weekday(number))


def _place_of(nth: re.Match[str]) -> int:
    place = next(key for key, said in nth.groupdict().items() if said)
    return -1 if place == "last" else int(place[1:])


def _month_of(found: re.Match[str]) -> int:
    """Return the number of the month that is named, `THIS_MONTH` for "of the month"."""
    return next((int(key[1:]) for key, said in found.groupdict().items() if said), THIS_MONTH)


_PARTS = tuple((part, lazy_pattern(WORDS["parts"][part.name.lower()])) for part in PartOfDay)
LOOSE = lazy_pattern(WORDS["parts"]["loose"])
"""Begins a part of the day that may stand apart from the rest of a time: "in the evening", but not "evening meal"."""


# --- days


def _period(weeks: int) -> Maker:
    def make(_: re.Match[str], today: date) -> Period:
        monday = today + timedelta(7 * weeks - today.weekday())
        return Period(monday, monday + timedelta(6))

    return make


def _weekend(_: re.Match[str], today: date) -> date:
    return today + timedelta(max(5 - today.weekday(), 0))


def _end_of_week(weeks: int) -> Maker:
    def make(_: re.Match[str], today: date) -> Value:
        friday = today + timedelta(7 * weeks + 4 - today.weekday())
        return EitherDay(friday, friday + timedelta(2)) if friday > today else Unread.UNREAD

    return make


def _next_weekend(_: re.Match[str], today: date) -> Value:
    saturday = today + timedelta(5 - today.weekday())
    return EitherDay(saturday, saturday + timedelta(7)) if saturday > today else Unread.UNREAD


def _cjk_weekday(match: re.Match[str], today: date) -> Value | None:
    number = (
        "一二三四五六日".find((match["zh"] or "").replace("天", "日"))
        if match["zh"]
        else "月火水木金土日".find(match["ja"])
    )
    if match["ja"] and "曜" not in match[0]:
        return None
    if match["next"] or match["this"]:
        monday = today + timedelta(7 * bool(match["next"]) - today.weekday())
        day = monday + timedelta(number)
        return day if day >= today else Unread.UNREAD
    return Weekday(number, is_every=bool(match["every"]))


def _plural(match: re.Match[str], _: date) -> Value:
    names = (
        ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun"),
        ("mon", "diens", "mittwoch", "donners", "frei", "sams", "sonn"),
    )
    number = next(days.index(said) for days, said in zip(names, match.group("day", "tag"), strict=True) if said)
    return Weekday(number, is_every=True)


def _named(month: int, day: int, year: str | None) -> Value:
    named = NamedDate(int(year) % 100 + 2000 if year else None, month, day) if 1 <= month <= 12 and day else None
    return named if named and named.exists else Unread.UNREAD


def _slashed(match: re.Match[str], _: date) -> Value:
    year = match["year"]
    return SlashedDate(int(match["one"]), int(match["other"]), int(year) % 100 + 2000 if year else None)


def _month_named(number: int) -> Maker:
    return lambda match, _: _named(number, int(match["number"]), match["year"])


def _day_of_month(match: re.Match[str], _: date) -> Value | None:
    day = int(next(each for each in match.groups() if each))
    return DayOfMonth(day) if 1 <= day <= 31 else Unread.UNREAD


def _in_days(days: int) -> Maker:
    return lambda _, today: today + timedelta(days)


# --- weekdays of a month, and ranges of weekdays

_PLACES = {key: words for key, words in WORDS["nth"].items() if key == "last" or key[1:].isdecimal()}
_NTH_WORDS = "|".join(_PLACES.values())
_NTH = lazy_pattern(rf"(?<!\w)(?:{'|'.join(f'(?P<{key}>{words})' for key, words in _PLACES.items())})\s{{1,3}}\Z")
_ENGLISH_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_MONTH_NAMES = [
    [*names, WORDS["months"][str(number)]]
    for number, names in enumerate(
        zip(_ENGLISH_MONTHS, *(each.months.split() for each in LANGUAGES.values() if each.months), strict=True), 1
    )
]
_OF_MONTH = lazy_pattern(
    rf"\s{{1,3}}(?:{WORDS['nth']['of']}(?:{WORDS['nth']['month']})|{WORDS['nth']['in']}(?:"
    + "|".join(f"(?P<m{number}>{'|'.join(names)})" for number, names in enumerate(_MONTH_NAMES, 1))
    + r"))(?!\w)(?!\s20\d\d)"
)
"""Behind a weekday: its month."""
_RANGE, _RANGE_LEAD = lazy_pattern(WORDS["weekday"]["range"]), lazy_pattern(WORDS["weekday"]["range_lead"])


# --- repetitions


def _repetitions() -> Iterator[Form]:
    words = WORDS["repeats"]
    every = words["every"]
    unit_words = "|".join(WORDS["units"].values())
    of_month = rf"(?:{_NTH_WORDS})\s\S{{3,14}}\s{WORDS['nth']['of']}(?:{WORDS['nth']['month']})"
    skipping = rf"(?!{of_month})(?:{words['skipping']})"
    yield re.compile(rf"(?:{every}){skipping}(?:\s(?:{unit_words})(?!\w))?"), always(Unread.SKIPPING)
    yield re.compile(rf"(?:{every}){COUNTED}"), _interval
    yield re.compile(rf"(?:{every})(?:{words['hour']})"), always(Repetition(Unit.LISTED, 60))
    named = (*(unit for unit in Unit if unit not in {Unit.LISTED, Unit.DAY}), Unit.DAY)
    for unit in named:
        yield re.compile(rf"(?:(?:of|im|du|de|del|do|van)\s)?(?:{every})(?:{words[unit.name.lower()]})"), _repeat(unit)
    simple = {
        "daily": Unit.DAY,
        "workdays": Unit.WORKDAY,
        "weekends": Unit.WEEKEND,
        "weekly": Unit.WEEK,
        "monthly": Unit.MONTH,
        "yearly": Unit.YEAR,
    }
    for key, unit in simple.items():
        yield re.compile(words[key]), _repeat(unit)
    yield re.compile(words["hourly"]), always(Repetition(Unit.LISTED, 60))
    yield re.compile(every), _repeat(Unit.LISTED)


def _repeat(unit: Unit) -> Maker:
    return always(Repetition(unit))


def _interval(match: re.Match[str], today: date) -> Value:
    length = length_of(match, today)
    is_of_weeks = length is not None and length.days > 0 and length.days % 7 == 0
    if length is None or length.months or is_of_weeks or not (length.minutes or length.days):
        return Unread.SKIPPING if is_of_weeks else Unread.UNREAD  # the day of the week is not said
    return Repetition(Unit.LISTED, length.minutes + 1440 * length.days)


_DATES, _PERIODS, _WEEKDAYS = WORDS["dates"], WORDS["periods"], WORDS["weekday"]
_NEXT, _THIS, _LAST = (
    lazy_pattern(rf"(?<!\w)(?:{_WEEKDAYS[key]})\Z") for key in ("before_next", "before_this", "before_last")
)
_NEXT_BEHIND = lazy_pattern(_WEEKDAYS["after_next"])


def _day_forms() -> Iterator[Form]:
    """Yield the forms of days that memory's reading of dates does not know."""
    yield re.compile(_DATES["dotted"]), lambda match, _: _named(int(match["month"]), int(match["day"]), match["year"])
    yield re.compile(_DATES["slashed"]), _slashed
    yield (
        re.compile(_DATES["month_day"]),
        lambda match, _: _named(int(match["cjk_month"]), int(match["cjk_day"]), None),
    )
    for month, names in WORDS["months"].items():
        yield (
            re.compile(rf"(?<!\w)(?P<number>[0-3]?\d) (?:{names})(?: (?P<year>20\d\d))?(?!\w)"),
            _month_named(int(month)),
        )
    yield re.compile(_PERIODS["next_month_end"]), lambda _, today: month_period(today, 1).last
    yield re.compile(_PERIODS["month_end"]), lambda _, today: month_period(today, 0).last
    yield re.compile(_PERIODS["next_week_end"]), _end_of_week(1)
    yield re.compile(_PERIODS["week_end"]), _end_of_week(0)
    yield re.compile(_PERIODS["next_weekend"]), _next_weekend
    yield re.compile(_PERIODS["next_week"]), _period(1)
    yield re.compile(_PERIODS["this_week"]), _period(0)
    yield re.compile(_PERIODS["next_month"]), lambda _, today: month_period(today, 1)
    yield re.compile(_PERIODS["weekend"]), _weekend
    yield re.compile(_WEEKDAYS["cjk"]), _cjk_weekday
    yield re.compile(_WEEKDAYS["plural"]), _plural
    for number in range(7):
        yield re.compile(_WEEKDAYS[str(number)]), always(Weekday(number))
    for days in (3, 2, 1, 0):
        yield re.compile(WORDS["days"][str(days)]), _in_days(days)
    for each in ("beside", "alone"):
        yield re.compile(WORDS["changes"][each]), always(Unread.UNREAD)


GLUE, SUBJECT = (lazy_pattern(WORDS["links"][each]) for each in ("glue", "subject"))
"""What may stand between the words of one time, and what stands between a time and what it is for."""
BEFORE, AFTER, BY = (lazy_pattern(WORDS["changes"][each]) for each in ("before", "after", "by"))
"""Words beside a time that change it; the last make a day a deadline."""
AGAIN = lazy_pattern(WORDS["links"]["again"])
"""Stands before the time of another order of the same sentence."""
BARE = lazy_pattern(rf"\s{{1,3}}\d{{1,2}}(?=\s{{0,3}}(?:[.!]?\Z|{WORDS['links']['subject']}))")
"""A number behind a day that may be an hour: "tomorrow 9"."""
UNREAD_DATE, UNREAD_TIME = (lazy_pattern(_DATES[each]) for each in ("unread_date", "unread_time"))
_ORDINAL = lazy_pattern(_DATES["ordinal"])
_BEHIND = tuple((int(days), lazy_pattern(words)) for days, words in WORDS["behind"].items())
_FORMS = (
    (lazy_pattern(WORDS["changes"]["hours"]), always(Unread.UNREAD)),
    *_repetitions(),
    *length_forms(),
    *clock_forms(),
)
_DAY_FORMS = tuple(_day_forms())
