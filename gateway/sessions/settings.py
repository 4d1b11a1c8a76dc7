"""Settings of the pauses and ends of a session."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from gateway.runtime.clock import is_ahead
from gateway.sessions.due import Ending, Pause

_MIDNIGHT_HOUR = 0


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """When a conversation is written to the day's notes, and when it ends by itself."""

    rest_minutes: Annotated[int, Field(ge=0, le=1_440)] = 60
    """0: only at the end, at a change of day and at shutdown."""
    idle_minutes: Annotated[int, Field(ge=0, le=525_600)] = 0
    """0: never."""
    daily_hour: Annotated[int, Field(ge=0, le=23)] | None = None
    """At this full hour in the owner's time zone."""

    @property
    def has_ends(self) -> bool:
        """Whether sessions end by themselves."""
        return self.idle_minutes > 0 or self.daily_hour is not None

    def due(self, last: datetime, now: datetime) -> Ending | Pause | None:
        """Return the pause or end due at *now* after a last message at *last*; both times in the owner's zone."""
        if is_ahead(last, now):
            return Pause.DAY
        silent_minutes = (now.timestamp() - last.timestamp()) / 60  # subtracting times of one zone would use wall time
        if self.idle_minutes and silent_minutes >= self.idle_minutes:
            return Ending.IDLE
        if self.daily_hour is not None and last.timestamp() < _latest(self.daily_hour, now).timestamp():
            return Ending.DAILY
        if last.timestamp() < _latest(_MIDNIGHT_HOUR, now).timestamp():
            return Pause.DAY
        if self.rest_minutes and silent_minutes >= self.rest_minutes:
            return Pause.REST
        return None


def _latest(hour: int, now: datetime) -> datetime:
    """Return the latest time at which it was *hour* o'clock."""
    today = now.replace(hour=hour, minute=0, second=0, microsecond=0)
    return today if today.timestamp() <= now.timestamp() else today - timedelta(days=1)
