"""This file is the configuration's shape for what agents do at their times."""

from pydantic import Field

from gateway.config.section import Section


class ScheduleSettings(Section):
    """How jobs are run."""

    grace_minutes: int = Field(default=60, ge=1, le=1_440)
    """How late a job that comes again is still run; one that comes once: a day."""
    jitter_s: int = Field(default=0, ge=0, le=3_600)
    jobs: int = Field(default=50, ge=0, le=1_000)
    """Of one agent. 0: it has none, and nothing of it runs."""
    remembers: bool = False
    """Whether a job's session shows what it said at earlier times."""
