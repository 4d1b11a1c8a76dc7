"""Settings of subagents."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from adapters.channel import InboundMessage
from gateway.admission.internal_channels import is_inner
from workspaces.access import Access, SessionType


@dataclass(frozen=True, slots=True)
class SubagentSettings:
    """Limits on the number and duration of subagents; the numbers are those of the reference system."""

    children: Annotated[int, Field(ge=0, le=50)] = 5
    """Of one turn, and running at the same time for one conversation; 0: no turn may start one."""
    running: Annotated[int, Field(ge=0, le=100)] = 8
    """Running at the same time, of all agents."""
    task_s: Annotated[float, Field(gt=0, le=86_400)] = 300.0
    guests: bool = False
    """Whether a guest's chat may have subagents too."""
    keep_days: Annotated[int, Field(ge=0, le=36_500)] = 90
    """Days that their conversations are kept; 0: for ever."""

    def may_spawn(self, access: Access, message: InboundMessage) -> bool:
        """Return whether the turn of *message* may start subagents: only one begun by a person, so none starts another.

        A subagent has none, and neither has the turn that reports a result: else two could keep each other busy for
        ever.
        """
        return self.may_have(access) and not is_inner(message)

    def may_have(self, access: Access) -> bool:
        """Return whether a conversation with *access* may have subagents at all."""
        kinds = {SessionType.MAIN, SessionType.GUEST} if self.guests else {SessionType.MAIN}
        return bool(self.children) and access.session_type in kinds
