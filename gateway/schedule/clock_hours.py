"""Hours that a person means by a time of day: "at 9" in the evening, in the morning, or a question."""

from datetime import date, datetime, time, timedelta

from msgspec import Struct

from gateway.errors import ScheduleError
from gateway.schedule.time_values import MIDNIGHT, PartOfDay, TimeOfDay

_DAY = timedelta(days=1)
_NOON, _DAY_END = 12, 24
_SMALL_HOURS = range(1, 5)
"""Hours of a day to come that mean those after noon: nobody is reminded "tomorrow at 3" in the night. Our choice."""
_EITHER_HOURS = range(5, 7)
"""Hours of a day to come at which some get up and others come home: asked."""
_EVENING_FROM = 5
"""First hour of an evening; those before belong to the night after it."""


class DaysMeant(Struct, frozen=True):
    """The day that is meant, and the one if its time is over."""

    first: date
    after: date | None = None
    other: date | None = None
    """Another day that may be meant as well as the first."""


def moments_of(
    clock: TimeOfDay | None, part: PartOfDay | None, days: DaysMeant | None, now: datetime, said: str
) -> tuple[datetime, ...]:
    """Return the moment that is meant, or those that may be, in local time; *days* is `None` where none is named.

    Raises ScheduleError for a time that is over.
    """
    if days and days.other:
        each_day = (DaysMeant(days.first), DaysMeant(days.other))
        return tuple(moment for day in each_day for moment in moments_of(clock, part, day, now, said))
    local, today = now.replace(tzinfo=None), now.date()
    if clock == MIDNIGHT and days and days.first != today:
        return _at(days.first, 0), _at(days.first, _DAY_END)
    day = days.first if days else today
    moments = [_at(day, hour, minute) for hour, minute in _hours(clock, part, said)]
    if part and clock and moments[0] > _at(day, _DAY_END) and days and day != today:  # "tomorrow night at 2"
        return moments[0] - _DAY, moments[0]
    if local < _at(today, _EVENING_FROM) and part is not None and moments[0] >= _at(today, _DAY_END):
        if days is None or day == today:
            moments = [each - _DAY for each in moments]  # said in the night that is meant
        elif day == today + _DAY and days.after is None:  # "tomorrow morning", said after midnight
            return tuple(each for each in (moments[0] - _DAY, moments[0]) if each > local)
    return _chosen(moments, days, local, said)


def _chosen(moments: list[datetime], days: DaysMeant | None, now: datetime, said: str) -> tuple[datetime, ...]:
    if days and days.first != now.date():
        return _of_coming_day(moments)
    if len(moments) > 1:
        return _of_two(moments, days, now, said)
    [moment] = moments
    if moment > now:
        return (moment,)
    if days and days.after is None:
        raise _over(said)
    return (moment + (days.after - days.first if days and days.after else _DAY),)


def _of_coming_day(moments: list[datetime]) -> tuple[datetime, ...]:
    morning, evening = moments[0], moments[-1]
    if morning != evening and morning.hour in _EITHER_HOURS:
        return morning, evening
    return (evening if morning.hour in _SMALL_HOURS else morning,)


def _of_two(moments: list[datetime], days: DaysMeant | None, now: datetime, said: str) -> tuple[datetime, ...]:
    """Return which of the two hours of today, or the first of tomorrow, is meant by an hour up to eleven."""
    morning, evening = moments
    if morning > now:
        return (morning, evening) if morning.hour < _EVENING_FROM else (morning,)
    if evening > now:
        if days is None and morning.hour not in {*_SMALL_HOURS, *_EITHER_HOURS}:
            return evening, morning + _DAY
        if days and days.after:
            later = morning + (days.after - days.first)
            return (later,) if morning.hour > _EITHER_HOURS[-1] else (evening, later)
        return (evening,)
    day = days.after if days else now.date() + _DAY
    if day is None:
        raise _over(said)
    return _of_coming_day([_at(day, each.hour, each.minute) for each in moments])


def repeated_clock(clock: TimeOfDay | None, part: PartOfDay | None, said: str) -> tuple[int, int]:
    """Return hour and minute of a time that repeats. Raises ScheduleError for one that can mean two."""
    hours = _hours(clock, part, said)
    hour, minute = hours[0]
    if hour >= _DAY_END:
        raise ScheduleError(f'which day\'s midnight "{said}" means is not clear: write a time such as 23:59')
    if len(hours) > 1 and hour in _EITHER_HOURS:
        raise ScheduleError(
            f'"{said}" can mean {hour:02}:{minute:02} or {hour + 12}:{minute:02}: write the one you mean'
        )
    return hours[1] if len(hours) > 1 and hour in _SMALL_HOURS else hours[0]


def _hours(clock: TimeOfDay | None, part: PartOfDay | None, said: str) -> list[tuple[int, int]]:
    """Return hour and minute, counted from the beginning of the day that is named; two for an hour before noon."""
    if clock is None:
        if part is PartOfDay.NIGHT:
            raise ScheduleError(f'"{said}" names no time: add one, such as "at 22:00"')
        return [((part or PartOfDay.MORNING).value, 0)]
    if clock.is_exact or clock == MIDNIGHT:
        return [(clock.hour, clock.minute)]
    hour = clock.hour % _NOON
    match part:
        case None:
            return [(_NOON, clock.minute)] if hour == 0 else [(hour, clock.minute), (hour + _NOON, clock.minute)]
        case PartOfDay.MORNING if hour:
            return [(hour, clock.minute)]
        case PartOfDay.AFTERNOON:
            return [(hour + _NOON, clock.minute)]
        case PartOfDay.EVENING | PartOfDay.NIGHT:
            return [(hour + (_DAY_END if hour < _EVENING_FROM else _NOON), clock.minute)]
        case _:
            raise ScheduleError(f'"{said}" can mean noon or midnight: write 12:00 or 00:00')


def _at(day: date, hour: int, minute: int = 0) -> datetime:
    return datetime.combine(day, time()) + timedelta(hours=hour, minutes=minute)


def _over(said: str) -> ScheduleError:
    return ScheduleError(f'"{said}" is over: name a time to come, such as "tonight at 8" or "tomorrow at 9"')
