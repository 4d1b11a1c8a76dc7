"""Settings of an agent's subagents."""

from pydantic import Field

from gateway.settings.section import Section


class SubagentSettings(Section):
    """Limits on the number and duration of subagents."""

    children: int = Field(default=5, ge=0, le=50)
    """0: no turn may start one."""
    running: int = Field(default=8, ge=0, le=100)
    """For all agents together."""
    task_s: float = Field(default=300, gt=0, le=86_400)
    guests: bool = False
    keep_days: int = Field(default=90, ge=0, le=36_500)
    """Days that their conversations are kept; 0: for ever."""
