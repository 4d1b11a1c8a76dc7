"""Settings of jobs and heartbeats."""

from dataclasses import dataclass
from datetime import time, timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

_MINUTES = {"m": 1, "h": 60}
_LEAST, _MOST = 5, 24 * 60


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """Limits and behaviour of jobs."""

    grace_minutes: Annotated[int, Field(ge=1, le=1_440)] = 60
    """How late a recurring job is still run; a job that runs once: a day."""
    jitter_s: Annotated[int, Field(ge=0, le=3_600)] = 0
    jobs: Annotated[int, Field(ge=0, le=1_000)] = 50
    """Most jobs of one agent with a time to come. 0: none may exist, and none run."""
    remembers: bool = False
    """Whether a job's session includes its earlier runs."""


def _span_of(text: str) -> timedelta:
    """Return a duration written as `30m` or `2h`; zero means never. Raises ValueError."""
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and unit in _MINUTES):
        raise ValueError('must be a duration such as "30m" or "2h"; "0m" for never')
    minutes = int(number) * _MINUTES[unit]
    if minutes and not _LEAST <= minutes <= _MOST:
        raise ValueError('must be "5m" at least and "24h" at most; "0m" for never')
    return timedelta(minutes=minutes)


def _hours_of(text: str) -> tuple[time, time]:
    """Return hours of the day written as `08:00-22:00`; `24:00` is the end of the day. Raises ValueError."""
    begin, _, end = text.partition("-")
    try:
        return time.fromisoformat(begin), time.max if end == "24:00" else time.fromisoformat(end)
    except ValueError:
        raise ValueError('must be hours of the day such as "08:00-22:00", or "00:00-24:00" for all of it') from None


def _is_span(text: str) -> str:
    _span_of(text)
    return text


def _are_hours(text: str) -> str:
    _hours_of(text)
    return text


@dataclass(frozen=True, slots=True)
class HeartbeatSettings:
    """When an agent works through `HEARTBEAT.md`, and with which context."""

    every: Annotated[str, AfterValidator(_is_span)] = "30m"
    active: Annotated[str, AfterValidator(_are_hours)] = "08:00-22:00"
    light: bool = True

    @property
    def interval(self) -> timedelta:
        """Time between two rounds; zero for never."""
        return _span_of(self.every)

    @property
    def hours(self) -> tuple[time, time]:
        """Hours of the owner's day in which they run, over midnight if the end is earlier; equal for never."""
        return _hours_of(self.active)
