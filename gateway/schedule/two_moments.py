"""The question which of several moments is meant: its words; pure."""

from collections.abc import Sequence
from datetime import datetime

from gateway.errors import ScheduleError
from workspaces.lazy_pattern import lazy_pattern

WHICH = ": say which"
"""Follows the moments in the question."""
_FORM = "%a %Y-%m-%d %H:%M"
_MOMENT = r"[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d"
_SEVERAL = lazy_pattern(rf"can mean (?P<moments>{_MOMENT}(?:(?:, | or ){_MOMENT}){{1,3}}){WHICH}")
_ONE = lazy_pattern(_MOMENT)


def either(said: str, moments: Sequence[datetime]) -> ScheduleError:
    """Return the refusal of *said*, which asks which of the *moments* is meant."""
    *others, last = (f"{each:{_FORM}}" for each in moments)
    return ScheduleError(
        f'"{said}" can mean {", ".join(others)} or {last}{WHICH}, such as "at {moments[0]:%Y-%m-%d %H:%M}"'
    )


def moments_in(refusal: str) -> tuple[str, ...]:
    """Return the moments that *refusal* asks about, such as `Tue 2026-12-01 21:00`; none in any other one."""
    found = _SEVERAL.search(refusal)
    return tuple(_ONE.findall(found["moments"])) if found else ()
