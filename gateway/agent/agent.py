"""This file is an agent: a persona with its workspace, its memory and its model."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from gateway.agent.models.port import Model
from gateway.agent.tools.files import file_tools
from gateway.agent.tools.memory import memory_tools
from gateway.agent.tools.notes import note_tools
from gateway.agent.tools.tool import Run, Toolbox
from workspaces.access import Access, AgentId
from workspaces.memory.search import MemoryIndex
from workspaces.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Agent:
    """Who answers; no agent reaches another's workspace, memory or sessions."""

    id: AgentId
    workspace: Workspace
    memory: MemoryIndex
    model: Model
    run: Run
    """Runs blocking work on this workspace's own thread."""

    def toolbox(self, access: Access, clock: Callable[[], datetime]) -> Toolbox:
        """Return the tools of one turn, each bound to what the turn may see."""
        return Toolbox(
            [
                *file_tools(self.workspace, access, self.run),
                *note_tools(self.workspace, access, self.run, clock),
                *memory_tools(self.memory, self.workspace, access, self.run),
            ]
        )
