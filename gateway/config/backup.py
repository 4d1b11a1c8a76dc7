"""Settings of the backups that the gateway makes by itself."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from gateway.settings.section import RootedPath


@dataclass(frozen=True, slots=True)
class BackupSettings:
    """How often they are made, where they are kept and for how long, and when a restore is tried."""

    every_hours: Annotated[int, Field(ge=0, le=8_760)] = 0
    """0: none are made."""
    folder: RootedPath | None = None
    """Default: `<home>/backups`."""
    keep_days: Annotated[int, Field(ge=1, le=3_650)] = 7
    """The newest of each of so many days, weeks and months is kept."""
    keep_weeks: Annotated[int, Field(ge=0, le=520)] = 4
    keep_months: Annotated[int, Field(ge=0, le=120)] = 6
    drill_days: Annotated[int, Field(ge=0, le=3_650)] = 30
    """Days between two restores on trial; 0: none are made."""
