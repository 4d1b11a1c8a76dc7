"""Times that a person names in a sentence, in the syntax of a job's schedule; pure, in the languages of dates."""

import re
from datetime import date, datetime, timedelta

from workspaces.memory.text.dates import NamedDate
from workspaces.memory.text.day_spans import DaySpan, days_named

MORNING = 9
"""The hour of a day that is named without one; our choice, as in our examples."""
_WEEK = timedelta(days=7)
_NOON = 12
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
    (unit, re.compile(rf"(?:\b{_IN})?(?<!\d)(\d{{1,4}})\s{{0,3}}(?:{words})(?:後|后|以后|\b)", re.IGNORECASE))
    for unit, words in _UNITS
)
_LEADS = re.compile(rf"\b{_IN}(?=\d)|\d{{1,4}}\s?(?:分钟|分|小时|時間|天|日)(?:後|后|以后)", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?<![\d.,:-])(?P<hour>\d{1,2})[:h](?P<minute>\d{2})(?!\d)\s{0,2}(?P<half>[ap]m\b)?"
    r"|(?:\bat|\bum|\bom|\bà|\ba las?|\balle|\bàs|\bo|\bla|\bв|\bо)\s{1,3}(?P<hour2>\d{1,2})(?!\d|[.,:h-]\d)"
    r"\s{0,2}(?P<half2>[ap]m\b)?"
    r"|(?<![\d.,:-])(?P<hour3>\d{1,2})\s{0,2}(?:(?P<half3>[ap]m)\b|uhr\b|点|時|點)",
    re.IGNORECASE,
)


def when_named(text: str, now: datetime) -> str | None:
    """Return the time that *text* names, such as `in 20m` or `at 2026-12-24 09:00`; `None` if it names none.

    *now* is in the owner's zone. A weekday is the next one; a time of day without a day is the next one too.
    """
    if lead := _LEADS.search(text):
        rest = text[lead.start() :]
        spans = [(found.start(), f"in {int(found[1])}{unit}") for unit, each in _SPANS if (found := each.search(rest))]
        if spans:
            return min(spans)[1]
    day, clock = _day(text, now.date()), _clock(text)
    if day is None and clock is None:
        return None
    hour, minute = clock or (MORNING, 0)
    if day is None:
        is_over = (hour, minute) <= (now.hour, now.minute)
        day = now.date() + timedelta(days=is_over)
    return f"at {day} {hour:02}:{minute:02}"


def _day(text: str, today: date) -> date | None:
    for named in days_named(text, today):
        match named:
            case DaySpan(first=first, last=last) if first == last:
                return first if first >= today else first + _WEEK if today - first <= _WEEK else None
            case NamedDate(month=int(), day=int()):
                return _next(named, today)
            case _:
                pass
    return None


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


def _clock(text: str) -> tuple[int, int] | None:
    for found in _CLOCK.finditer(text):
        hour = int(found["hour"] or found["hour2"] or found["hour3"])
        minute = int(found["minute"] or 0)
        half = (found["half"] or found["half2"] or found["half3"] or "").lower()
        hour = hour % _NOON + _NOON * (half == "pm") if half and hour <= _NOON else hour
        if hour < 24 and minute < 60:  # of a day, of an hour
            return hour, minute
    return None
