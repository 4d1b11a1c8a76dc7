"""Settings of scheduled agent jobs."""

from pydantic import Field

from gateway.settings.section import Section


class ScheduleSettings(Section):
    """Limits and behaviour of jobs."""

    grace_minutes: int = Field(default=60, ge=1, le=1_440)
    """How late a recurring job is still run; a job that runs once: a day."""
    jitter_s: int = Field(default=0, ge=0, le=3_600)
    jobs: int = Field(default=50, ge=0, le=1_000)
    """Most jobs of one agent. 0: none may exist, and none run."""
    remembers: bool = False
    """Whether a job's session includes its earlier runs."""
