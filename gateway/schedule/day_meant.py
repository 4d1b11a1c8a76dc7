"""Day that the words of one time mean: "Friday week", "the 14th", "3/4" in the order of the owner's country."""

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import assert_never

from gateway.errors import ScheduleError
from gateway.schedule.clock_hours import DaysMeant
from gateway.schedule.time_values import (
    THIS_MONTH,
    DayOfMonth,
    EitherDay,
    Length,
    NthWeekday,
    PartOfDay,
    Period,
    SlashedDate,
    TimeOfDay,
    TimeWord,
    Weekday,
    last_of_month,
    only,
    values,
)
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.dates import NamedDate

_WEEK = timedelta(days=7)
_MONTHS_SOUGHT = 4
"""Months within which there is one with a given day, and one to spare."""
_YEARS_SOUGHT = 2
_MOST_MONTHS = 1_200
"""A century: a schedule has no later moment, and the calendar ends with the year 9999."""
_MONTH_FIRST = lazy_pattern(
    r"US/.*|Pacific/(?:Honolulu|Guam)|America/(?:New_York|Detroit|Chicago|Denver|Boise|Phoenix|Los_Angeles|Anchorage"
    r"|Juneau|Sitka|Nome|Adak|Menominee|(?:Indiana|Kentucky|North_Dakota)/.*)|Asia/(?:Tokyo|Seoul|Shanghai|Taipei)"
)
"""Zones of countries that write the month first."""
_EITHER_ORDER = lazy_pattern(
    r"UTC|GMT|Etc/.*|Asia/Manila|Canada/.*|America/(?:Toronto|Vancouver|Winnipeg|Edmonton|Halifax|Regina|St_Johns"
    r"|Moncton|Whitehorse)|[A-Z]{3}\d?[A-Z]*"
)
"""Zones that tell no country, and those of countries that write both."""


def day_meant(words: Sequence[TimeWord], text: str, now: datetime, said: str) -> DaysMeant | None:
    """Return the day that *words* of *text* mean; `None` if they name none. Raises ScheduleError for two."""
    today = now.date()
    named = {
        _of_date(each.value, text, now, said)
        for each in words
        if isinstance(each.value, date | NamedDate | SlashedDate)
    }
    weekday, length = only(words, Weekday, said), only(words, Length, said)
    if len(named) > 1:
        raise _unclear(said)
    days: DaysMeant | None
    if named:
        days = _agreed(DaysMeant(named.pop()), weekday, said)
    else:
        days = (
            _of_place(words, today, said)
            or _of_period(words, weekday, today, said)
            or _of_name(words, weekday, today, said)
        )
    if length is None:
        return days
    return _moved(days, length, words, today, said)


def _agreed(days: DaysMeant, weekday: Weekday | None, said: str) -> DaysMeant:
    if weekday and weekday.number != days.first.weekday():
        raise ScheduleError(f'"{said}" does not fit: {days.first} is a {days.first:%A}')
    return days


def _of_date(value: date | NamedDate | SlashedDate, text: str, now: datetime, said: str) -> date:
    match value:
        case date():
            return value
        case NamedDate():
            found = _coming(value.year, value.month or 1, value.day or 1, now.date())
        case SlashedDate(one=one, other=other, year=year):
            months = _orders(one, other, text, str(now.tzinfo))
            if len(months) > 1:
                raise ScheduleError(f'"{said}" can mean two dates: write the month as a word, such as "3 April"')
            found = next((_coming(year, month, day, now.date()) for month, day in months), None)
        case _:
            assert_never(value)
    if found is None:
        raise ScheduleError(f'"{said}" is no day to come')
    return found


def _orders(one: int, other: int, text: str, zone: str) -> list[tuple[int, int]]:
    """Return month and day of a date such as 3/4, in the order of *zone*; both if that is not known."""
    orders = {(one, other), (other, one)}
    possible = [each for each in orders if each[0] <= 12]
    if len(possible) < 2:
        return possible
    is_english = re.search(r"(?<!\w)(?:on|remind|at)(?!\w)", text) is not None
    if _MONTH_FIRST.fullmatch(zone):
        return [(one, other)] if is_english or zone.startswith("Asia/") else possible
    return possible if _EITHER_ORDER.fullmatch(zone) else [(other, one)]


def _coming(year: int | None, month: int, day: int, today: date) -> date | None:
    for each in [year] if year else range(today.year, today.year + _YEARS_SOUGHT):
        if (found := _existing(each, month, day)) and found >= today:
            return found
    return None


def _existing(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _of_period(words: Sequence[TimeWord], weekday: Weekday | None, today: date, said: str) -> DaysMeant | None:
    """Return the day of a week or month: "Friday next week", "next month on the 3rd", else its first day."""
    period, day_of_month = only(words, Period, said), only(words, DayOfMonth, said)
    if period is None:
        return None
    day: date | None = period.first
    is_week = period.last - period.first < _WEEK
    if weekday:
        day = period.first + timedelta(weekday.number) if is_week else None
    elif day_of_month:
        day = None if is_week else _existing(period.first.year, period.first.month, day_of_month.day)
    if day is None or day < today:
        raise _unclear(said)
    return DaysMeant(day)


def _of_place(words: Sequence[TimeWord], today: date, said: str) -> DaysMeant | None:
    """Return the days of "the end of the week", and of the first Monday of a month; `None` for other words."""
    either, nth = only(words, EitherDay, said), only(words, NthWeekday, said)
    if either is None and nth is None:
        return None
    kinds = {type(each.value) for each in words} - {TimeOfDay, PartOfDay}
    if either and kinds == {EitherDay}:
        return DaysMeant(either.first, other=either.other)
    if nth is None or kinds != ({NthWeekday, Period} if nth.month is None else {NthWeekday}):
        raise _unclear(said)
    if nth.month is None:
        months = [period.first for period in values(words, Period) if period.last - period.first > _WEEK]
    elif nth.month == THIS_MONTH:
        months = [today.replace(day=1)]
    else:
        months = [date(year, nth.month, 1) for year in (today.year, today.year + 1)]
    days = (_weekday_of_month(month, nth) for month in months)
    day = next((each for each in days if each >= today), None)
    if day is None:
        raise _unclear(said)
    return DaysMeant(day)


def _weekday_of_month(first: date, nth: NthWeekday) -> date:
    if nth.place < 0:
        last = last_of_month(first.year, first.month)
        return last - timedelta((last.weekday() - nth.number) % 7)
    return first + timedelta((nth.number - first.weekday()) % 7 + 7 * (nth.place - 1))


def _of_name(words: Sequence[TimeWord], weekday: Weekday | None, today: date, said: str) -> DaysMeant | None:
    """Return the coming weekday, or the coming day of a month; both must be one day."""
    day_of_month = only(words, DayOfMonth, said)
    if day_of_month:
        days = _days_of_month(day_of_month.day, today)
        return _agreed(DaysMeant(days[0], days[1]), weekday, said)
    if weekday is None:
        return None
    day = today + timedelta((weekday.number - today.weekday()) % 7)
    if not weekday.is_next:
        return DaysMeant(day, day + _WEEK)
    if day == today:
        return DaysMeant(day + _WEEK)
    if day.weekday() > today.weekday():
        return DaysMeant(day, other=day + _WEEK)
    return DaysMeant(day)


def _days_of_month(day: int, today: date) -> list[date]:
    months = (today.year * 12 + today.month - 1 + ahead for ahead in range(_MONTHS_SOUGHT))
    found = (_existing(month // 12, month % 12 + 1, day) for month in months)
    return [each for each in found if each and each >= today]


def _moved(days: DaysMeant | None, length: Length, words: Sequence[TimeWord], today: date, said: str) -> DaysMeant:
    """Return the day that is *length* after the named one, or after today."""
    if days is None or days.other:
        if days or length.is_from_day:
            raise _unclear(said)
        return DaysMeant(_later(today, length))
    place = [isinstance(each.value, Length) for each in words].index(True)
    if length.months or length.days % 7 or (place == 0 and not length.is_from_day):
        if length.is_from_day and not length.months:
            return DaysMeant(_later(days.first, length))
        raise _unclear(said)
    return DaysMeant(_later(days.first, length))


def _later(day: date, length: Length) -> date:
    if length.months > _MOST_MONTHS:
        raise ScheduleError(f"{length.months // 12:,} years is more than a hundred years ahead")
    month = day.year * 12 + day.month - 1 + length.months
    last = last_of_month(month // 12, month % 12 + 1)
    return min(last, date(last.year, last.month, 1) + timedelta(day.day - 1)) + timedelta(length.days)


def _unclear(said: str) -> ScheduleError:
    return ScheduleError(f'"{said}" can mean more than one day: write its date, such as "on 24 December at 9"')
