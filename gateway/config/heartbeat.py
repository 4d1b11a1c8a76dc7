"""This file is the settings of an agent's heartbeat: how often, at which hours, and with what before it."""

from datetime import time, timedelta
from typing import Annotated

from pydantic import AfterValidator

from gateway.config.section import Section

_MINUTES = {"m": 1, "h": 60}
_LEAST, _MOST = 5, 24 * 60


def span_of(text: str) -> timedelta:
    """Return a span that is written like `30m` or `2h`; zero is never. Raises ValueError."""
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and unit in _MINUTES):
        raise ValueError('must be a span such as "30m" or "2h"; "0m" for never')
    minutes = int(number) * _MINUTES[unit]
    if minutes and not _LEAST <= minutes <= _MOST:
        raise ValueError('must be "5m" at least and "24h" at most; "0m" for never')
    return timedelta(minutes=minutes)


def hours_of(text: str) -> tuple[time, time]:
    """Return hours of the day that are written like `08:00-22:00`; `24:00` is the day's end. Raises ValueError."""
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
    """When an agent looks after what `HEARTBEAT.md` says, and what it has before it then."""

    every: Annotated[str, AfterValidator(_is_span)] = "30m"
    active: Annotated[str, AfterValidator(_are_hours)] = "08:00-22:00"
    light: bool = True
