"""Settings of an agent's heartbeat: interval, active hours, and context."""

from datetime import time, timedelta
from typing import Annotated

from pydantic import AfterValidator

from gateway.settings.section import Section

_MINUTES = {"m": 1, "h": 60}
_LEAST, _MOST = 5, 24 * 60


def span_of(text: str) -> timedelta:
    """Return a duration written as `30m` or `2h`; zero means never. Raises ValueError."""
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and unit in _MINUTES):
        raise ValueError('must be a duration such as "30m" or "2h"; "0m" for never')
    minutes = int(number) * _MINUTES[unit]
    if minutes and not _LEAST <= minutes <= _MOST:
        raise ValueError('must be "5m" at least and "24h" at most; "0m" for never')
    return timedelta(minutes=minutes)


def hours_of(text: str) -> tuple[time, time]:
    """Return hours of the day written as `08:00-22:00`; `24:00` is the end of the day. Raises ValueError."""
    begin, _, end = text.partition("-")
    try:
        return time.fromisoformat(begin), time.max if end == "24:00" else time.fromisoformat(end)
    except ValueError:
        raise ValueError('must be hours of the day such as "08:00-22:00", or "00:00-24:00" for all of it') from None


def _is_span(text: str) -> str:
    span_of(text)
    return text


def _are_hours(text: str) -> str:
    hours_of(text)
    return text


class HeartbeatSettings(Section):
    """When an agent works through `HEARTBEAT.md`, and with which context."""

    every: Annotated[str, AfterValidator(_is_span)] = "30m"
    active: Annotated[str, AfterValidator(_are_hours)] = "08:00-22:00"
    light: bool = True
