"""Values of the words that name a time: a time of day, a day, a length of time, a repetition."""

from collections.abc import Sequence
from datetime import date, timedelta
from enum import Enum, auto
from typing import TypeVar

from msgspec import Struct

from gateway.errors import ScheduleError
from workspaces.memory.text.dates import NamedDate


class PartOfDay(Enum):
    """A part of the day, with the hour that it means alone."""

    MORNING = 9
    AFTERNOON = 15
    EVENING = 20
    NIGHT = 22


class Unit(Enum):
    """What repeats; `LISTED` leaves it to the days beside it."""

    LISTED = auto()
    DAY = auto()
    WORKDAY = auto()
    WEEKEND = auto()
    WEEK = auto()
    MONTH = auto()
    YEAR = auto()


class TimeOfDay(Struct, frozen=True):
    """A time of day; without *is_exact* an hour up to twelve may be one after noon."""

    hour: int
    minute: int = 0
    is_exact: bool = False


class Weekday(Struct, frozen=True):
    number: int
    """From Monday, 0."""
    is_next: bool = False
    """The one that "next" stands beside."""
    is_every: bool = False


class NthWeekday(Struct, frozen=True):
    """A weekday of a month, such as its first Monday or last Friday."""

    number: int
    """From Monday, 0."""
    place: int
    """From 1; -1 is the last."""
    month: int | None
    """`THIS_MONTH` is that of the present day, or of a repetition; `None` if a word beside it names the month."""


THIS_MONTH = 0


class EitherDay(Struct, frozen=True):
    """Words that can mean two days, such as "the end of the week"."""

    first: date
    other: date


class Period(Struct, frozen=True):
    """Days of which one is meant: the first, unless another word says which."""

    first: date
    last: date


class Length(Struct, frozen=True):
    """A length of time from now, or from the day beside it."""

    minutes: int = 0
    days: int = 0
    months: int = 0
    is_from_day: bool = False


class Repetition(Struct, frozen=True):
    unit: Unit
    minutes: int = 0
    """Of an interval."""


class DayOfMonth(Struct, frozen=True):
    day: int


class SlashedDate(Struct, frozen=True):
    """Day and month in the order of a country."""

    one: int
    other: int
    year: int | None


class Unread(Enum):
    """Words of a time that have no form here."""

    UNREAD = auto()
    SKIPPING = auto()
    """Every other week."""


Value = (
    TimeOfDay
    | PartOfDay
    | date
    | NamedDate
    | Weekday
    | NthWeekday
    | EitherDay
    | Period
    | Length
    | Repetition
    | DayOfMonth
    | SlashedDate
    | Unread
)


class TimeWord(Struct, frozen=True):
    start: int
    end: int
    value: Value


MIDNIGHT = TimeOfDay(24)
"""The word: of the night that a day ends with, or of the one that it begins with."""


_T = TypeVar("_T")


def values(words: Sequence[TimeWord], kind: type[_T]) -> list[_T]:
    """Return the different values of *kind* among *words*."""
    return list(dict.fromkeys(each.value for each in words if isinstance(each.value, kind)))


def only(words: Sequence[TimeWord], kind: type[_T], said: str) -> _T | None:
    """Return the one value of *kind* among *words*, `None` without one. Raises ScheduleError for several."""
    match values(words, kind):
        case []:
            return None
        case [value]:
            return value
        case _:
            raise ScheduleError(f'"{said}" names more than one time: write one, such as "Friday at 17:30"')


def month_period(today: date, months: int) -> Period:
    """Return the days of the month that is *months* after that of *today*."""
    first = _first_of_month(today, months)
    return Period(first, _first_of_month(today, months + 1) - timedelta(1))


def last_of_month(year: int, month: int) -> date:
    """Return the last day of a month."""
    return month_period(date(year, month, 1), 0).last


def _first_of_month(today: date, months: int) -> date:
    month = today.year * 12 + today.month - 1 + months
    return date(month // 12, month % 12 + 1, 1)
