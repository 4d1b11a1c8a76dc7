"""Settings of scheduled agent jobs."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field


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
