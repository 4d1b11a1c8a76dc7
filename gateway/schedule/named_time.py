"""Times that a person names in a sentence, in the syntax of a job's schedule; pure, in the languages of dates."""

import re
import tomllib
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path

from workspaces.memory.text.dates import NamedDate
from workspaces.memory.text.day_spans import DaySpan, days_named

MORNING = 9
"""The hour of a day that is named without one; our choice, as in our examples."""
LONGEST_READ = 300
"""Characters of a text that are read: a request names its time early, and a longer text is rather pasted."""
_WEEK = timedelta(days=7)
_NOON, _DAY_END = 12, 24
_DAYS_OF_WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_EVERY, _EACH_DAY, _DAILY, _REPEATS, _HALF_AN_HOUR = (
    re.compile(_WORDS[each], re.IGNORECASE) for each in ("every", "each_day", "daily", "repeats", "half_an_hour")
)
_PARTS = tuple((int(hour), re.compile(words, re.IGNORECASE)) for hour, words in _WORDS["parts"].items())
_NUMBERS = tuple(
    (number, re.compile(rf"(?:{words})(?=\s)", re.IGNORECASE)) for number, words in _WORDS["numbers"].items()
)
_UNITS = (
    ("m", r"min(?:ute[ns]?|uten|utos?|uti|ut|uto)?|хв(?:илин[уи]?)?|мин(?:ут[уы]?)?|分钟|分"),
    (
        "h",
        r"h(?:ours?|eures?|oras?)?|hours?|stunden?|horas?|or[ae]|uur|uren|godzin[ęy]?|час(?:а|ов)?|годин[уи]?|小时|時間",
    ),
    ("d", r"days?|tage?n?|jours?|días?|dias?|giorn[oi]|dag(?:en)?|dni|dzień|zile|zi|день|дн(?:я|ей|і|ів)|天|日"),
)
_IN = r"(?:in|dans|en|tra|fra|em|daqui a|over|za|peste|через)\s{1,3}"
_SPANS = tuple(
    (unit, re.compile(rf"(\d{{1,4}})\s{{0,3}}(?:{words})(?:後|后|以后|\b)", re.IGNORECASE)) for unit, words in _UNITS
)
_LEADS = re.compile(rf"\b{_IN}|(?=(?<!\d)\d{{1,4}}\s?(?:分钟|分|小时|時間|天|日)(?:後|后|以后))", re.IGNORECASE)
_AT = r"(?:\bat|\bum|\bom|\bà|\ba las?|\balle|\bàs|\bo|\bla|\bв|\bо)\s{1,3}"
_HOURS = tuple(
    (number, re.compile(rf"({_AT})(?:{words})(?!\w)", re.IGNORECASE)) for number, words in _WORDS["numbers"].items()
)
_HOUR = rf"(?P<hour>\d{{1,2}}|{'|'.join(_WORDS['numbers'].values())})"
_QUARTERS = tuple(
    (int(minutes), re.compile(form.replace("<words>", f"(?:{words})").replace("<hour>", _HOUR), re.IGNORECASE))
    for key, form in (
        ("quarters", rf"(?:{_AT})?\b<words>\s{{1,3}}<hour>(?!\w)"),
        ("quarters_after", rf"{_AT}<hour>(?:\s{{1,3}}(?:heures?|h|ore))?\s{{1,3}}<words>(?!\w)"),
    )
    for minutes, words in _WORDS[key].items()
)
_CLOCK = re.compile(
    r"(?<![\d.,:-])(?P<hour>\d{1,2})[:h](?P<minute>\d{2})(?!\d)\s{0,2}(?P<half>[ap]m\b)?"
    rf"|{_AT}(?P<hour2>\d{{1,2}})(?!\d|[.,:h-]\d)"
    r"\s{0,2}(?P<half2>[ap]m\b)?"
    r"|(?<![\d.,:-])(?P<hour3>\d{1,2})\s{0,2}(?:(?P<half3>[ap]m)\b|uhr\b|点|時|點)",
    re.IGNORECASE,
)


def when_named(text: str, now: datetime) -> str | None:
    """Return the time that *text* names, such as `in 20m`, `at 2026-12-24 09:00` or `Tue 07:00`; `None` without one.

    *now* is in the owner's zone. A weekday is the next one; a time of day without a day is the next one too. A
    repetition is read where a day, a part of the day or an interval follows the word for "every"; other repetitions
    have no form, and are not taken for a single time.
    """
    text = text[:LONGEST_READ]
    if repeated := _EVERY.search(text) or _DAILY.search(text):
        return _repeated(text, text[repeated.end() :], is_daily=repeated.re is _DAILY, today=now.date())
    if _REPEATS.search(text):
        return None
    for lead in _LEADS.finditer(text):
        if span := _span(text[lead.end() :]):
            return f"in {span}"
    clock, named = _clock(text), list(days_named(text, now.date()))
    if not named and clock is None:
        return None
    hour, minute = clock or (MORNING, 0)
    is_over = (hour, minute) <= (now.hour, now.minute)
    day = _day(named, now.date(), is_over=is_over) if named else now.date() + timedelta(days=is_over)
    if day and hour == _DAY_END:
        day, hour = day + timedelta(days=1), 0
    return f"at {day} {hour:02}:{minute:02}" if day else None


def names_repetition(text: str) -> bool:
    """Tell whether *text* names a repetition, also one that has no form, such as "every month"."""
    return any(each.search(text[:LONGEST_READ]) for each in (_EVERY, _DAILY, _REPEATS))


def _repeated(text: str, rest: str, *, is_daily: bool, today: date) -> str | None:
    """Return the form of a repetition; *rest* of the text follows the word for "every"."""
    hour, minute = _clock(text) or (MORNING, 0)
    if hour == _DAY_END:  # which day's midnight is meant, nobody can tell
        return None
    if is_daily or _EACH_DAY.match(rest):
        return f"daily {hour:02}:{minute:02}"
    if span := _span(rest):
        return f"every {span}"
    match days_named(rest.split(maxsplit=1)[0].strip(",.!") if rest.strip() else "", today):
        case [DaySpan(first=first, last=last)] if first == last:
            return f"{_DAYS_OF_WEEK[first.weekday()]} {hour:02}:{minute:02}"
        case _:
            return None


def _span(text: str) -> str | None:
    """Return the length of time at the start of *text*, such as `20m`."""
    if _HALF_AN_HOUR.match(text):
        return "30m"
    for number, words in _NUMBERS:
        if found := words.match(text):
            text = f"{number}{text[found.end() :]}"
            break
    return next((f"{int(found[1])}{unit}" for unit, each in _SPANS if (found := each.match(text))), None)


def _day(days: Sequence[DaySpan | NamedDate], today: date, *, is_over: bool) -> date | None:
    """Return the first single day of *days* that is to come; *is_over*: the time of day has passed today."""
    for named in days:
        match named:
            case DaySpan(first=first, last=last) if first == last:
                return first if first >= today else _next_weekday(first, today, is_over=is_over)
            case NamedDate(month=int(), day=int()):
                return _next(named, today)
            case _:
                pass
    return None


def _next_weekday(day: date, today: date, *, is_over: bool) -> date | None:
    """Return the weekday of *day*, in the week before, from *today* on; `None` for an older day."""
    following = day + _WEEK
    if following < today:
        return None
    return following + _WEEK if following == today and is_over else following


def _next(named: NamedDate, today: date) -> date | None:
    years = [named.year] if named.year else [today.year, today.year + 1]
    for year in years:
        try:
            found = date(year, named.month or 1, named.day or 1)
        except ValueError:
            continue
        if found >= today:
            return found
    return None


def _quartered(minutes: int, found: re.Match[str]) -> str:
    """Return the time of an hour that stands beside a word for *minutes*: "half past nine", "halb zehn"."""
    said = f"{found['hour']} "
    hour = next((number for number, words in _NUMBERS if words.match(said)), said)
    past = (int(hour) * 60 + minutes) % 1440
    return f"at {past // 60}:{past % 60:02}"


def _clock(text: str) -> tuple[int, int] | None:
    """Return the time of day that *text* names: a part of the day moves an hour below twelve behind noon."""
    part = max((hour for hour, each in _PARTS if each.search(text)), default=0)
    for minutes, quarter in _QUARTERS:
        text = quarter.sub(partial(_quartered, minutes), text)
    for number, words in _HOURS:
        text = words.sub(rf"\g<1>{number}", text)
    for found in _CLOCK.finditer(text):
        hour = int(found["hour"] or found["hour2"] or found["hour3"])
        minute = int(found["minute"] or 0)
        half = (found["half"] or found["half2"] or found["half3"] or ("pm" if part > _NOON else "")).lower()
        hour = hour % _NOON + _NOON * (half == "pm") if half and hour <= _NOON else hour
        if (hour < _DAY_END and minute < 60) or (hour, minute) == (_DAY_END, 0):
            return hour, minute
    return (part, 0) if part else None
