"""This file is the configuration's shape for the helpers that an agent hands tasks to."""

from pydantic import Field

from gateway.config.section import Section


class SubagentSettings(Section):
    """How many helpers there may be, and for how long one works."""

    children: int = Field(default=5, ge=0, le=50)
    """0: no turn has any."""
    running: int = Field(default=8, ge=0, le=100)
    """Of all agents together."""
    task_s: float = Field(default=300, gt=0, le=86_400)
    guests: bool = False
    keep_days: int = Field(default=90, ge=0, le=36_500)
    """How long what they said is kept; 0: for ever."""
