"""Days that a text names as seen from today: yesterday, last weekend, two weeks ago, before May, since 3 March.

Thirteen languages (`date_words.py`); each is tried only on its own script, some 0.5 ms for a question.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache

from msgspec import Struct

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.date_words import LANGUAGES, DateWords
from workspaces.memory.text.dates import NamedDate, mentions
from workspaces.memory.text.feasts import feasts_in
from workspaces.memory.text.tokens import normalised
from workspaces.memory.text.weekdays_meant import weekday_meant

_LONGEST_LEAD = 60
"""Characters before a date that are read for a word such as "before"; the longest has 20."""
LONGEST_READ = 2_000
"""Characters of a text that are read, as many as a search takes."""
EDGE_DAYS = 3
"""A day beside a span counts less the farther it is, and nothing beyond this distance: few ranges are meant sharply."""
_TOLERANCE = (0, 3, 15, 180, 0)
"""Days on either side of "… ago", by unit: "two weeks ago" is no exact day."""


class DaySpan(Struct, frozen=True):
    """The days from `first` to `last`, both included."""

    first: date
    last: date

    def nearness(self, day: date) -> float:
        """Return 1 for a day of the span, less for one just outside of it, 0 for others."""
        distance = max((self.first - day).days, (day - self.last).days, 0)
        return max(1 - distance / (EDGE_DAYS + 1), 0.0)


class DayMention(Struct, frozen=True):
    """A date or a span of days, and where a text names it."""

    start: int
    end: int
    language: str
    """Empty for dates in digits and English."""
    named: NamedDate | DaySpan
    is_weekday: bool = False
    """A weekday alone: questions mean the last one, but notes may mean the next or every one."""


def days_named(text: str, today: date) -> list[NamedDate | DaySpan]:
    """Return the dates and spans that *text* names, asked *today*; ranges are joined."""
    plain = folded(text[:LONGEST_READ])
    found = _mentions(plain, today)
    named: list[NamedDate | DaySpan] = []
    place = 0
    while place < len(found):
        one, other = found[place], found[place + 1] if place + 1 < len(found) else None
        if other and (joined := _joined(plain, one, other, today)):
            named.append(joined)
            place += 2
            continue
        named.append(_bounded(plain, one, today))
        place += 1
    return list(dict.fromkeys(named))


def dated(text: str, today: date) -> str:
    """Return *text* with the date beside each relative day, so that it holds later: "tomorrow (2026-03-05)".

    A weekday gets one if its sentence tells whether the last or the coming one is meant (`weekdays_meant.py`).
    """
    plain = folded(text)
    if len(plain) != len(text):
        return text
    parts, end = [], 0
    for each in _relative(plain[:LONGEST_READ], today):
        span = each.named
        if not isinstance(span, DaySpan) or span.first != span.last:
            continue
        day = weekday_meant(plain, each.start, each.end, span.first, today) if each.is_weekday else span.first
        if day is not None and not text[each.end :].lstrip().startswith("("):
            parts += [text[end : each.end], f" ({day})"]
            end = each.end
    return "".join([*parts, text[end:]])


def folded(text: str) -> str:
    """Return *text* in lower case without accents, character by character, so that places stay."""
    if text.isascii():
        return text.lower()
    return "".join(one if len(one := normalised(c).casefold()) == 1 else c for c in text)


def _mentions(text: str, today: date) -> list[DayMention]:
    """Return the mentions in *text*, a weekday with its date ("Friday the 13th") as one."""
    found = day_mentions(text, today)
    starts = {each.start for each in found if not each.is_weekday}
    return [each for each in found if not (each.is_weekday and _date_after(text, each.end) in starts)]


def day_mentions(text: str, today: date) -> list[DayMention]:
    """Return each mention in *text*, which is in lower case without accents, in order."""
    feasts = (DayMention(start, end, "", _one_day(day)) for start, end, day in feasts_in(text, today))
    relative = _longest([*_relative(text, today), *feasts])
    taken = [(each.start, each.end) for each in relative]
    named = [DayMention(start, end, "", each) for start, end, each in mentions(text)]
    free = [each for each in named if not any(a < each.end and each.start < b for a, b in taken)]
    return sorted([*relative, *free], key=lambda each: each.start)


_BEFORE_DATE = lazy_pattern(r",?\s+(?=the\s+\d)|,?\s+")


def _date_after(text: str, end: int) -> int:
    """Return where a date begins that belongs to a weekday ending at *end*: "Friday the 13th"."""
    gap = _BEFORE_DATE.match(text, end)
    return gap.end() if gap else end


def _relative(text: str, today: date) -> list[DayMention]:
    """Return the relative days and foreign dates in *text*, in order, the longest of those that overlap."""
    return _longest([each for name in _languages_of(text) for each in _in_language(name, text, today)])


def _longest(found: Sequence[DayMention]) -> list[DayMention]:
    """Return *found* in order, the longest of those that overlap."""
    kept: list[DayMention] = []
    for each in sorted(found, key=lambda each: (each.start - each.end, each.start)):
        if all(each.end <= other.start or other.end <= each.start for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda each: each.start)


_HAN_OR_KANA = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff]")
_CYRILLIC = lazy_pattern(r"[\u0400-\u04ff]")
_LATIN = lazy_pattern(r"[a-z]")


def _languages_of(text: str) -> Iterator[str]:
    scripts = ((_HAN_OR_KANA, ("zh", "ja")), (_CYRILLIC, ("ru", "uk")))
    for script, names in scripts:
        if script.search(text):
            yield from names
    if _LATIN.search(text):
        yield from (name for name in LANGUAGES if name not in {"zh", "ja", "ru", "uk"})


class _Forms(Struct, frozen=True):
    """The compiled words of one language."""

    days: tuple[tuple[re.Pattern[str], int], ...]
    counted: tuple[tuple[re.Pattern[str], int], ...]
    """Past (-1) and future (1), with the groups `n` and `u0` to `u4`."""
    whole: tuple[tuple[re.Pattern[str], int], ...]
    """Last (1), this (0) and next (-1), with the groups `u0` to `u4`."""
    weekday: re.Pattern[str] | None
    month: re.Pattern[str] | None
    words: tuple[tuple[re.Pattern[str], Sequence[int]], ...]
    numbers: tuple[re.Pattern[str], ...]


@cache
def _forms(name: str) -> _Forms:
    words = LANGUAGES[name]
    units = "(?:" + "|".join(f"(?P<u{place}>{unit})" for place, unit in enumerate(words.units)) + ")"
    count = rf"(?P<n>\d{{1,4}}|{'|'.join(_alternatives(words.numbers))})"

    def form(template: str) -> re.Pattern[str]:
        return _compiled(template.replace("{u}", units).replace("{n}", count), words)

    weekdays, months = words.weekdays.split(), words.months.split()
    return _Forms(
        tuple((_compiled(days, words), offset) for days, offset in words.days.items()),
        tuple(
            (form(each), sign)
            for template, sign in ((words.ago, -1), (words.ahead, 1))
            for each in filter(None, template.split("; "))
        ),
        tuple(
            (form(each), back)
            for template, back in ((words.last, 1), (words.this, 0), (words.following, -1))
            for each in filter(None, template.split("; "))
        ),
        _compiled("|".join(f"(?P<d{place}>{day})" for place, day in enumerate(weekdays)), words) if weekdays else None,
        _month_form(months) if months else None,
        tuple((_compiled(word, words), unit) for word, unit in words.whole.items()),
        tuple(re.compile(each) for each in _alternatives(words.numbers)),
    )


def _alternatives(numbers: str) -> list[str]:
    return [each.replace("_", " ") for each in numbers.split()]


def _compiled(words: str, language: DateWords) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)" if language.has_spaces else f"(?:{words})")


_MONTH_LEADS = (
    r"im|in|en|em|w|we|в|у|au mois de|im monat|zwischen|und|bis|seit|vor|nach|entre|et|depuis|avant|apres|y|desde"
    r"|hasta|tra|fra|e|da|dal|между|и|с|до|после|tussen|sinds|miedzy"
)
"""Words after which a month's name alone is a date."""


def _month_form(months: list[str]) -> re.Pattern[str]:
    month = "(?:" + "|".join(f"(?P<m{place}>{name})" for place, name in enumerate(months)) + ")"
    day = r"(?P<day>[0-3]?\d)(?:\.|er|\xba|o)?\s+(?:de\s+|di\s+)?"
    year = r"(?:\s+(?:de\s+|del\s+|года\s+)?(?P<year>(?:19|20)\d\d))"
    lead = rf"(?P<lead>(?:{_MONTH_LEADS})\s+)"
    return re.compile(rf"(?<!\w)(?:{day}|{lead})?{month}{year}?(?!\w)")


@cache
def _any_word(name: str) -> re.Pattern[str]:
    """Return a pattern without which no form of the language *name* matches: each has one of these words."""
    words = LANGUAGES[name]
    each = [*words.days, *words.units, *words.weekdays.split(), *words.months.split(), *words.whole]
    start = r"(?<!\w)" if words.has_spaces else ""
    return re.compile(f"{start}(?:{'|'.join(each)})")


def _in_language(name: str, text: str, today: date) -> Iterator[DayMention]:
    if not _any_word(name).search(text):  # most questions: a tenth of the time, and of the patterns to compile
        return
    forms = _forms(name)
    for pattern, offset in forms.days:
        for match in pattern.finditer(text):
            yield DayMention(*match.span(), name, _one_day(today + timedelta(offset)))
    for pattern, (unit, back) in forms.words:
        for match in pattern.finditer(text):
            yield DayMention(*match.span(), name, _unit(unit, back, today))
    yield from _in_units(name, forms, text, today)
    yield from _in_calendar(name, forms, text, today)


def _in_units(name: str, forms: _Forms, text: str, today: date) -> Iterator[DayMention]:
    """Yield numbers of units before or after today, and whole units."""
    for pattern, sign in forms.counted:
        for match in pattern.finditer(text):
            if span := _counted(forms, match, sign, today):
                yield DayMention(*match.span(), name, span)
    for pattern, back in forms.whole:
        for match in pattern.finditer(text):
            if unit := _group(match, "u", 5):  # "the last day of school" is no date
                yield DayMention(*match.span(), name, _unit(unit, back, today))


def _in_calendar(name: str, forms: _Forms, text: str, today: date) -> Iterator[DayMention]:
    """Yield weekdays, the latest that is over, and dates with a month's name."""
    for match in forms.weekday.finditer(text) if forms.weekday else ():
        back = (today.weekday() - _group(match, "d", 7) - 1) % 7 + 1
        yield DayMention(*match.span(), name, _one_day(today - timedelta(back)), is_weekday=True)
    for match in forms.month.finditer(text) if forms.month else ():
        day, year = match["day"], match["year"]
        if not (day or year or match["lead"]):  # marca, mars, Marc: often other words
            continue
        month = _group(match, "m", 12)
        named = NamedDate(int(year) if year else None, month + 1, int(day) if day else None)
        if named.exists:
            yield DayMention(match.start() if day else match.start(f"m{month}"), match.end(), name, named)


def _group(match: re.Match[str], prefix: str, count: int) -> int:
    return next(place for place in range(count) if match.groupdict().get(f"{prefix}{place}") is not None)


def _counted(forms: _Forms, match: re.Match[str], sign: int, today: date) -> DaySpan | None:
    said = match["n"] or "1"
    count = int(said) if said.isdigit() else next(n for n, form in enumerate(forms.numbers, 1) if form.fullmatch(said))
    unit = _group(match, "u", 5)
    days = count * (1, 7, 30.44, 365.25, 7)[unit]
    try:
        middle = today + sign * timedelta(round(days))
        tolerance = timedelta(_TOLERANCE[unit])
        return DaySpan(middle - tolerance, middle + tolerance)
    except OverflowError:
        return None


def _unit(unit: int, back: int, today: date) -> DaySpan:
    """Return the day, week, month, year or weekend *back* units before this one."""
    monday = today - timedelta(today.weekday() + 7 * back)
    match unit:
        case 0:
            return _one_day(today - timedelta(back))
        case 1:
            return DaySpan(monday, monday + timedelta(6))
        case 2:
            month = today.year * 12 + today.month - 1 - back
            return _month(month // 12, month % 12 + 1)
        case 3:
            return DaySpan(date(today.year - back, 1, 1), date(today.year - back, 12, 31))
        case _:
            return DaySpan(monday + timedelta(5), monday + timedelta(6))


def _month(year: int, month: int) -> DaySpan:
    following = date(year + month // 12, month % 12 + 1, 1)
    return DaySpan(date(year, month, 1), following - timedelta(1))


def _one_day(day: date) -> DaySpan:
    return DaySpan(day, day)


# --- ranges

_SHORT_WORDS = frozenset({"do", "po", "od", "na", "z", "de", "a", "as", "voor", "ab", "van", "tot", "dal?", "d[eo]"})
"""Words of one language that are other words in another one: they count beside a date of their own language."""


@cache
def _leads(kind: str, language: str) -> re.Pattern[str]:
    """Return a pattern for the words of *kind* at the end of the text before a date."""
    if language and language != "en":
        words = [getattr(LANGUAGES[language], kind)]
    else:
        names = ["en"] if language else list(LANGUAGES)
        each = [word for name in names for word in getattr(LANGUAGES[name], kind).split("|")]
        words = [word for word in each if word not in _SHORT_WORDS]
    return re.compile(rf"(?<!\w)(?:{'|'.join(filter(None, words))})\s+(?:the |le |el |il |o |dem |den )?$")


_ANY_JOIN = "|".join(filter(None, (words.joins for words in LANGUAGES.values())))
_JOINS = lazy_pattern(rf"\s*(?:[-–—]|(?:{_ANY_JOIN}))\s*(?:the |le |el |il |o )?")


def _joined(text: str, one: DayMention, other: DayMention, today: date) -> DaySpan | None:
    """Return the range from *one* to *other*, if the words before and between them say so."""
    if not _JOINS.fullmatch(text[one.end : other.start]) or not _leads("between", one.language).search(
        _text_before(text, one)
    ):
        return None
    first, last = latest(one.named, today), latest(other.named, today)
    return DaySpan(first.first, last.last) if first.first <= last.last else None


def _text_before(text: str, each: DayMention) -> str:
    return text[max(each.start - _LONGEST_LEAD, 0) : each.start]


def _bounded(text: str, each: DayMention, today: date) -> NamedDate | DaySpan:
    """Return the days of *each*, as an open range after a word such as "before" or "since"."""
    before = _text_before(text, each)
    if _leads("before", each.language).search(before):
        return DaySpan(date.min, latest(each.named, today).first)
    if _leads("after", each.language).search(before):
        return DaySpan(latest(each.named, today).first, date.max)
    return each.named


def latest(named: NamedDate | DaySpan, today: date) -> DaySpan:
    """Return *named* as a span: without a year or a month the latest that has begun."""
    if isinstance(named, DaySpan):
        return named
    year = named.year or today.year
    if named.month is None and named.day is not None:
        past = today.replace(day=1) - timedelta(named.day > today.day)
        return _within(past.year, past.month, named.day)
    if named.month is None:
        return DaySpan(date(year, 1, 1), date(year, 12, 31))
    span = _within(year, named.month, named.day)
    return span if named.year or span.first <= today else _within(year - 1, named.month, named.day)


def _within(year: int, month: int, day: int | None) -> DaySpan:
    whole = _month(year, month)
    return whole if day is None else _one_day(min(date(year, month, 1) + timedelta(day - 1), whole.last))
