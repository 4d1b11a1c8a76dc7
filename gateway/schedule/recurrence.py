"""Recurrence of a job: once at a moment, at an interval, or by a cron expression, in a time zone.

Everything here is pure. A slot is a moment at which a job is due; running a slot only once is not decided here.
Moments are in UTC: Python compares two times of one other zone by wall-clock time.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError
from msgspec import Struct

from gateway.errors import ScheduleError
from gateway.settings.zone import load_zone
from workspaces.lazy_pattern import lazy_pattern

SHORTEST = timedelta(minutes=1)
"""Shortest interval between two slots of one job: the limit of cron expressions, and of `every` too (our choice)."""
LONGEST = timedelta(days=366)
FURTHEST = timedelta(days=36_525)
"""How far ahead a moment may be: a century. Near the calendar's end a time has no equivalent in another zone."""
COUNTED = timedelta(days=7)
ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
"""Six aliases of Vixie cron."""
FORMS = 'such as "at 2026-12-24 09:00", "in 20m", "every 2h", "daily 09:00", "Mon-Fri 17:30" or "0 9 * * MON-FRI"'
_DAY = r"(?:mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)s?"
DAYS = rf"(?:daily|weekdays|weekends|{_DAY}(?:[,-]{_DAY})*)"
"""Pattern of the days of a repeated time: days of the week by their English names, whole or of three letters."""
CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})"
_CRON_DAYS = {"daily": "*", "day": "*", "weekdays": "MON-FRI", "weekday": "MON-FRI", "weekends": "SAT,SUN"}
_ON_DAYS = lazy_pattern(
    rf"(?:every\s+)?(?P<days>day|weekday|{DAYS})\s+(?:at\s+)?{CLOCK}(?:\s+(?P<zone>\S+))?", re.IGNORECASE
)
_NAME_OF_DAY = lazy_pattern(r"[a-z]+", re.IGNORECASE)
_FIELDS = 5
_FIELD_NAMES = {"day-of-month": "day of the month", "day-of-week": "day of the week"}
_MOMENT_WORDS = 2
_SPAN = lazy_pattern(r"(?:(\d{1,4})\s*+d)?\s*+(?:(\d{1,4})\s*+h)?\s*+(?:(\d{1,5})\s*+m(?:in)?)?", re.IGNORECASE)
_MINUTE = timedelta(minutes=1)
_CRON_START = lazy_pattern(r"[\d*]")
"""Anything else is a sentence of five words."""


class At(Struct, frozen=True):
    """Once."""

    moment: datetime

    def after(self, moment: datetime) -> datetime | None:
        """Return the first slot after *moment*, `None` if none is left."""
        return self.moment if self.moment > moment else None

    def __str__(self) -> str:
        return f"at {self.moment:%Y-%m-%d %H:%M} UTC"


class Every(Struct, frozen=True):
    """Repeats *span* before and after *begin*, in elapsed time, regardless of clock changes."""

    span: timedelta
    begin: datetime

    def after(self, moment: datetime) -> datetime | None:
        """Return the first slot after *moment*."""
        return self.begin + ((moment - self.begin) // self.span + 1) * self.span

    def __str__(self) -> str:
        return f"every {span_in_words(self.span)}"


class Cron(Struct, frozen=True):
    """Wall-clock times in *zone*.

    A time that a clock change skips comes at the next existing minute; a repeated one comes once.
    """

    expression: str
    zone: tzinfo

    def after(self, moment: datetime) -> datetime | None:
        """Return the first slot after *moment*, `None` if the calendar has none."""
        slots = (each.astimezone(UTC) for each in CronSim(self.expression, moment.astimezone(self.zone)))
        # Within an hour that a clock change repeats, the library also returns that hour's slots before *moment*.
        return next((slot for slot in slots if slot > moment), None)

    def __str__(self) -> str:
        return f"{self.expression} ({self.zone})"


Schedule = At | Every | Cron


def read_schedule(text: str, zone: tzinfo, now: datetime) -> Schedule:
    """Parse a person's schedule, in *zone* unless another one follows it.

    Raises ScheduleError, which names the field and shows a valid example.
    """
    if found := _ON_DAYS.fullmatch(text.strip()):
        return _cron(f"{on_days(found)} {found['zone'] or ''}".strip(), zone)
    kind, _, rest = text.strip().partition(" ")
    match kind.lower():
        case "at":
            return At(_moment(*_split_zone(rest.strip(), zone, _MOMENT_WORDS), now))
        case "in":
            return At(now + _span(rest, "in"))
        case "every":
            return Every(_parse_interval(rest), now)
        case _:
            return _cron(text.strip(), zone)


def on_days(found: re.Match[str]) -> str:
    """Return the cron expression of a match of `DAYS` (group `days`) and `CLOCK`; its numbers are not checked here."""
    days = found["days"].lower()
    days = _CRON_DAYS.get(days) or _NAME_OF_DAY.sub(lambda day: day[0][:3].upper(), days)
    return f"{int(found['minute'])} {int(found['hour'])} * * {days}"


class Slots(Struct, frozen=True):
    """The due slots of a schedule."""

    due: datetime | None
    """The one slot to run now: the latest within the grace period."""
    missed: int
    """How many slots before it, or instead of it, are skipped."""


def slots_due(schedule: Schedule, last: datetime, now: datetime, grace: timedelta) -> Slots:
    """Return the slots that became due after *last* and until *now*: one of them runs, *grace* late at most.

    Missed slots of a cron expression are counted for a week: each takes 20 µs to find.
    """
    begin = max(last, now - max(grace, COUNTED)) if isinstance(schedule, Cron) else last
    passed, slot = 0, schedule.after(begin)
    latest: datetime | None = None
    while slot is not None and slot <= now:
        passed, latest = passed + 1, slot
        if isinstance(schedule, Every):  # missed slots of an interval need no loop
            skipped = (now - slot) // schedule.span
            passed, latest = passed + skipped, slot + skipped * schedule.span
        slot = schedule.after(latest)
    if latest is None or now - latest > grace:
        return Slots(None, passed)
    return Slots(latest, passed - 1)


def span_in_words(span: timedelta) -> str:
    """Format *span* as in a schedule, such as `1d 2h 30m`."""
    minutes = round(span.total_seconds() / 60)
    parts = ((minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "m"))
    return " ".join(f"{count}{unit}" for count, unit in parts if count) or "0m"


def _cron(text: str, zone: tzinfo) -> Cron:
    expression, zone = _split_zone(text, zone, _FIELDS)
    expression = ALIASES.get(expression.lower(), expression)
    if len(expression.split()) != _FIELDS or not _CRON_START.match(expression):
        raise ScheduleError(f"{text!r} is not a schedule: write one {FORMS}")
    try:
        CronSim(expression, datetime(2026, 1, 1, tzinfo=zone))
    except CronSimError as exc:
        field = str(exc).removeprefix("Bad ")
        raise ScheduleError(
            f"the {_FIELD_NAMES.get(field, field)} in {expression!r} is not valid: write minute, hour, day of the "
            'month, month and day of the week, such as "0 9 * * MON-FRI" for nine o\'clock on working days'
        ) from None
    return Cron(expression, zone)


def _split_zone(text: str, zone: tzinfo, words: int) -> tuple[str, tzinfo]:
    """Split off a time zone at the end of *text*, if there is one; *words* stand before it."""
    before, _, name = text.rpartition(" ")
    is_name = name.replace("/", "").replace("_", "").replace("-", "").isalpha()
    if not is_name or ("/" not in name and len(text.split()) != words + 1):
        return text, zone
    named = load_zone(name)
    if named is None:
        raise ScheduleError(f'{name!r} is not a time zone: write one such as "Europe/Berlin"')
    return before.strip(), named


def _moment(text: str, zone: tzinfo, now: datetime) -> datetime:
    try:
        given = datetime.fromisoformat(text)
        moment = (given if given.tzinfo else _that_exists(given.replace(tzinfo=zone))).astimezone(UTC)
    except (ValueError, OverflowError):  # such as a year 10,000, of another zone
        raise ScheduleError(f'{text!r} is not a time: write date and time, such as "at 2026-12-24 09:00"') from None
    if moment <= now:
        raise ScheduleError(f"{text} is in the past; a job needs a future time")
    if moment - now > FURTHEST:
        raise ScheduleError(f"{text} is more than a hundred years ahead")
    return moment


def _that_exists(moment: datetime) -> datetime:
    """Return *moment*, or the next existing minute if a clock change skips it."""
    while moment.astimezone(UTC).astimezone(moment.tzinfo).replace(tzinfo=None) != moment.replace(tzinfo=None):
        moment = moment.replace(second=0, microsecond=0) + _MINUTE
    return moment


def _parse_interval(text: str) -> timedelta:
    span = _span(text, "every")
    if span < SHORTEST:
        raise ScheduleError('a job runs once a minute at most, such as "every 5m"')
    return span


def _span(text: str, word: str) -> timedelta:
    found = _SPAN.fullmatch(text.strip())
    if found is None or not any(found.groups()):
        raise ScheduleError(f'{text.strip()!r} is not a duration: write one such as "{word} 1h 30m"')
    days, hours, minutes = (int(part or 0) for part in found.groups())
    span = timedelta(days=days, hours=hours, minutes=minutes)
    if span > LONGEST:
        raise ScheduleError(f"{text.strip()} is more than a year")
    return span
