"""Times that a person names in a sentence, in the syntax of a job's schedule; pure, in the languages of dates.

A wrong time is worse than none: what can mean two times, or stands beside words that no form reads, is refused with a
question.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from difflib import get_close_matches

from msgspec import Struct

from gateway.errors import ScheduleError
from gateway.schedule.clock_hours import DaysMeant, moments_of, repeated_clock
from gateway.schedule.day_meant import day_meant
from gateway.schedule.time_values import (
    THIS_MONTH,
    DayOfMonth,
    Length,
    NthWeekday,
    PartOfDay,
    Repetition,
    TimeOfDay,
    TimeWord,
    Unit,
    Unread,
    Weekday,
    only,
    values,
)
from gateway.schedule.time_words import (
    AFTER,
    AGAIN,
    BARE,
    BEFORE,
    BY,
    GLUE,
    LONGEST_READ,
    LOOSE,
    SUBJECT,
    UNREAD_DATE,
    UNREAD_TIME,
    plain,
    times_in,
)
from gateway.schedule.two_moments import either
from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.text.dates import NamedDate
from workspaces.memory.text.reminder_orders import reminder_patterns

_EARLY_WORDS = 4
"""Words before a time that begins an order: "please remind me on Friday to …"."""
_SURE_DAYS = 28
"""Days that every month has."""
_DAYS_OF_WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_SKIPPING = (
    'skips days or weeks, which no schedule does: write "every Thursday at 19:00", "every first Monday of the month", '
    'or "every 14d", counted from now'
)
_UNSURE = 'is a time that I may read wrongly: write day and time, such as "Friday at 17:30"'


def when_named(text: str, now: datetime) -> str | None:
    """Return the time that *text* names, as `read_time`; `None` also if it is not clear."""
    with suppress(ScheduleError):
        return read_time(text, now)
    return None


def read_time(text: str, now: datetime) -> str | None:
    """Return the time that *text* names, such as `in 20m`, `at 2026-12-24 09:00` or `Tue 07:00`; `None` without one.

    *now* is in the owner's zone. A weekday is the next one; a time of day without a day is the next one too. Raises
    ScheduleError, which asks what is meant, for a time that can mean two.
    """
    text = plain(text[:LONGEST_READ])
    groups = list(_groups(text, times_in(text, now.date())))
    words = _chosen(text, groups)
    if not words:
        return None
    _check_deadline(text, words, now)
    _check_read(text, words, [each for group in groups for each in group])
    said = text[words[0].start : max(each.end for each in words)].strip(" ,.")
    if unread := values(words, Unread):
        raise ScheduleError(f'"{said}" {_SKIPPING if Unread.SKIPPING in unread else _UNSURE}')
    if _repeats(words):
        return _repeated(words, said)
    lengths = values(words, Length)
    if any(each.minutes for each in lengths):
        return _span(words, said)
    clock, part = only(words, TimeOfDay, said), only(words, PartOfDay, said)
    days = day_meant(words, text, now, said)
    if clock is None and part is None and lengths and not lengths[0].is_from_day and lengths[0].days % 7:
        clock = TimeOfDay(now.hour, now.minute, is_exact=True)
    moments = moments_of(clock, part, days, now, said)
    if len(moments) > 1:
        raise either(said, moments)
    return f"at {moments[0]:%Y-%m-%d %H:%M}"


def without_times(text: str, today: date) -> str:
    """Return *text* without the words that name times."""
    for group in _groups(plain(text), times_in(text, today)):
        start, end = group[0].start, max(each.end for each in group)
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def ends_with_time(text: str, today: date) -> bool:
    """Tell whether *text* ends with words that name a time, a day or a repetition."""
    ends = [max(each.end for each in group) for group in _groups(plain(text), times_in(text, today))]
    return bool(ends) and ends[-1] >= len(text.rstrip(" ,:"))


# --- the words that belong together


def _groups(text: str, found: Sequence[TimeWord]) -> Iterator[list[TimeWord]]:
    """Yield the words of each time; a part of the day alone is one if its words say so: "in the evening"."""
    group: list[TimeWord] = []
    end = 0
    for each in found:
        if group and not (each.start <= end or GLUE.fullmatch(text, end, each.start)):
            yield from _whole(text, group)
            group = []
        group.append(each)
        end = max(end, each.end)
    yield from _whole(text, group)


def _whole(text: str, group: list[TimeWord]) -> Iterator[list[TimeWord]]:
    if group and not (all(map(_is_part, group)) and not LOOSE.match(text, group[0].start)):
        yield group


def _is_part(word: TimeWord) -> bool:
    return isinstance(word.value, PartOfDay)


def _is_of_clock(group: Sequence[TimeWord]) -> bool:
    """Tell whether *group* names a time of day and no day."""
    return all(isinstance(each.value, TimeOfDay | PartOfDay) for each in group)


def _chosen(text: str, groups: Sequence[list[TimeWord]]) -> list[TimeWord]:
    """Return the words of the one time that *text* names; of several the one that begins the order."""
    if len(groups) < 2:
        return [each for group in groups for each in group]
    days = [each for each in groups if not _is_of_clock(each)]
    clocks = [each for each in groups if _is_of_clock(each)]
    if len(days) <= 1 and len(clocks) == 1 and days and not _has_time(days[0]):
        return sorted([*days[0], *clocks[0]], key=lambda each: each.start)
    first = groups[0]
    end = max(each.end for each in first)
    is_first = len(text[: first[0].start].split()) <= _EARLY_WORDS and SUBJECT.match(text, end)
    if is_first and not any(AGAIN.search(text, end, each[0].start) for each in groups[1:]):
        return first
    said = " … ".join(text[each[0].start : each[-1].end].strip(" ,.") for each in groups[:2])
    raise ScheduleError(
        f'"{said}" may be two times: say the one of the reminder first, such as "on Friday at 9 about …"'
    )


def _has_time(group: Sequence[TimeWord]) -> bool:
    spans = [*(each.minutes for each in values(group, Length)), *(each.minutes for each in values(group, Repetition))]
    return bool(values(group, TimeOfDay)) or any(spans)


# --- words that no form reads


def _check_read(text: str, words: Sequence[TimeWord], all_words: Sequence[TimeWord]) -> None:
    """Raise ScheduleError if words beside the time may change it: "before Friday", "Friday or so"."""
    has_day = not _is_of_clock(words)
    for start, end in _stretches(text, words):
        before = BEFORE.search(text, max(start - 40, 0), start)
        behind = AFTER.match(text, end) or (None if values(words, TimeOfDay) else BARE.match(text, end))
        if before or behind:
            said = text[before.start() if before else start : behind.end() if behind else end]
            raise ScheduleError(f'"{said.strip(" ,.")}" {_UNSURE}')
    forms = [*([] if has_day else [UNREAD_DATE]), *([] if values(words, TimeOfDay) else [UNREAD_TIME])]
    for match in (match for form in forms for match in form.finditer(text)):
        if not any(each.start < match.end() and match.start() < each.end for each in all_words):
            raise ScheduleError(f'"{match[0]}" is no time or date that I know: write one such as "2026-12-24 09:00"')
    if not has_day:
        _check_spelling(text, words[0].start)


def _check_deadline(text: str, words: Sequence[TimeWord], now: datetime) -> None:
    """Raise ScheduleError, which asks, for "by Friday": the day before it, or that one."""
    by = BY.search(text, max(words[0].start - 40, 0), words[0].start)
    said = text[by.start() if by else 0 : max(each.end for each in words)]
    if by is None or any(not isinstance(each.value, date | NamedDate | DayOfMonth | Weekday) for each in words):
        return
    if not _repeats(words) and (days := day_meant(words, text, now, said)) and not days.other:
        moments = [
            moment
            for day in (days.first - timedelta(1), days.first)
            for moment in moments_of(None, PartOfDay.MORNING, DaysMeant(day, day), now, said)
            if moment > now.replace(tzinfo=None)
        ]
        if len(moments) > 1:
            raise either(said, moments)


def _stretches(text: str, words: Sequence[TimeWord]) -> Iterator[tuple[int, int]]:
    start, end = words[0].start, words[0].end
    for each in words[1:]:
        if each.start > end and not GLUE.fullmatch(text, end, each.start):
            yield start, end
            start = each.start
        end = max(end, each.end)
    yield start, end


_DAY_WORDS = """tomorrow monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag
    freitag samstag sonntag übermorgen demain mercredi vendredi samedi dimanche miércoles viernes sábado domingo
    domani giovedì venerdì sabato domenica woensdag donderdag vrijdag zaterdag zondag""".split()  # noqa: SIM905 # reads as text
_ALIKE = 0.85
"""Share of letters from which on a word is taken for a misspelt day, to ask."""
_WORD = lazy_pattern(r"[^\W\d_]{5,}")
_LINKS = frozenset("please bitte pls again nochmal por favor s'il te plaît just mal doch then".split())  # noqa: SIM905


def _check_spelling(text: str, start: int) -> None:
    """Raise ScheduleError if *text* may name a day that it misspells, or by a word that is not known."""
    for match in _WORD.finditer(text):
        if match[0] not in _DAY_WORDS and (near := get_close_matches(match[0], _DAY_WORDS, 1, _ALIKE)):
            raise ScheduleError(f'"{match[0]}" may mean "{near[0]}": write the day and the time once more')
    order = reminder_patterns()[0].match(text)
    gap = text[order.end() : start] if order else ""
    unknown = [each for each in gap.split() if each not in _LINKS]
    if gap.strip() and 1 <= len(unknown) <= _EARLY_WORDS and not SUBJECT.match(gap) and not GLUE.fullmatch(gap):
        raise ScheduleError(f'"{" ".join(unknown)}" is no day that I know: write one such as "tomorrow" or "on Friday"')


# --- schedules


def _span(words: Sequence[TimeWord], said: str) -> str:
    [length, *others] = [each.value for each in words if not _is_part(each)]
    if others or not isinstance(length, Length) or length.is_from_day:
        raise ScheduleError(f'"{said}" {_UNSURE}')
    hours, minutes = divmod(length.minutes, 60)
    return "in " + " ".join(f"{count}{unit}" for count, unit in ((hours, "h"), (minutes, "m")) if count)


def _repeats(words: Sequence[TimeWord]) -> bool:
    return bool(values(words, Repetition)) or any(each.is_every for each in values(words, Weekday))


class _Repeated(Struct, frozen=True):
    """What names the days of a repetition."""

    unit: Unit
    weekdays: list[int]
    places: list[NthWeekday]
    dates: list[NamedDate]
    days: list[int]


def _repeated(words: Sequence[TimeWord], said: str) -> str:
    """Return the form of a repetition. Raises ScheduleError if it has none."""
    repetition = only(words, Repetition, said) or Repetition(Unit.LISTED)
    named = _Repeated(
        repetition.unit,
        sorted({each.number for each in values(words, Weekday)}),
        values(words, NthWeekday),
        values(words, NamedDate),
        [each.day for each in values(words, DayOfMonth)],
    )
    known = (Repetition, Weekday, NthWeekday, NamedDate, DayOfMonth, TimeOfDay, PartOfDay)
    if any(not isinstance(each.value, known) for each in words):
        raise ScheduleError(f'"{said}" {_UNSURE}')
    if repetition.minutes:
        if values(words, TimeOfDay) or named.weekdays or named.places or named.dates or named.days:
            raise ScheduleError(f'"{said}" has no form with both: write "every 2h", or days and a time')
        return f"every {_interval(repetition.minutes)}"
    hour, minute = repeated_clock(only(words, TimeOfDay, said), only(words, PartOfDay, said), said)
    if days := _days_of_week(named):
        return f"{days} {hour:02}:{minute:02}"
    if place := _place_in_month(named):
        return f"{minute} {hour} * * {place}"
    if rest := _day_of_year(named):
        return f"{minute} {hour} {rest} *"
    raise ScheduleError(f'"{said}" has no form here: write days and a time, such as "every Tuesday at 17:30"')


def _interval(minutes: int) -> str:
    parts = ((minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "m"))
    return " ".join(f"{count}{unit}" for count, unit in parts if count)


def _days_of_week(named: _Repeated) -> str:
    if named.dates or named.days or named.places:
        return ""
    if named.weekdays == [0, 1, 2, 3, 4] and named.unit in _OF_WEEKDAYS:
        return "weekdays"
    if named.weekdays:
        return ",".join(_DAYS_OF_WEEK[each] for each in named.weekdays) if named.unit in _OF_WEEKDAYS else ""
    return {Unit.DAY: "daily", Unit.WORKDAY: "weekdays", Unit.WEEKEND: "weekends"}.get(named.unit, "")


def _place_in_month(named: _Repeated) -> str:
    """Return the day of the week of a cron expression: the first Monday is "MON#1", the last one "1L"."""
    match named:
        case _Repeated(weekdays=[], places=[place], dates=[], days=[]):
            is_monthly = (named.unit, place.month) in {(Unit.LISTED, THIS_MONTH), (Unit.MONTH, None)}
        case _:
            return ""
    number = f"{(place.number + 1) % 7}L" if place.place < 0 else f"{_DAYS_OF_WEEK[place.number].upper()}#{place.place}"
    return number if is_monthly else ""


_OF_WEEKDAYS = frozenset({Unit.LISTED, Unit.WEEK})


def _day_of_year(named: _Repeated) -> str:
    """Return day and month of a cron expression: "15 *", "3 5"."""
    match named:
        case _Repeated(weekdays=[], places=[], dates=[], days=[day], unit=Unit.LISTED | Unit.MONTH) if (
            day <= _SURE_DAYS
        ):
            return f"{day} *"
        case _Repeated(weekdays=[], places=[], dates=[NamedDate(year=None, month=int(month), day=int(day))], days=[]):
            return f"{day} {month}" if named.unit in {Unit.LISTED, Unit.YEAR} else ""
        case _:
            return ""
