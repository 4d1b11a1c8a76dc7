"""The question which of two moments is meant: its words; pure."""

import re
from datetime import datetime

from gateway.errors import ScheduleError

WHICH = ": say which"
"""Follows the two moments in the question."""
_FORM = "%a %Y-%m-%d %H:%M"
_MOMENT = r"[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d"
_EITHER = re.compile(rf"can mean ({_MOMENT}) or ({_MOMENT}){WHICH}")


def either(said: str, one: datetime, other: datetime) -> ScheduleError:
    """Return the refusal of *said*, which asks which of two moments is meant."""
    return ScheduleError(
        f'"{said}" can mean {one:{_FORM}} or {other:{_FORM}}{WHICH}, such as "at {one:%Y-%m-%d %H:%M}"'
    )


def moments_in(refusal: str) -> tuple[str, ...]:
    """Return the two moments that *refusal* asks about, such as `Tue 2026-12-01 21:00`; none in any other one."""
    found = _EITHER.search(refusal)
    return found.groups() if found else ()
