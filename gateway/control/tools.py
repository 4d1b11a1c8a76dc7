"""Gives other programs of the owner's the memory tools that the agent's own model has."""

import json
from collections.abc import Awaitable, Callable
from datetime import datetime

from msgspec import Struct

from adapters.channel import Address
from gateway.agent.agent import Agent
from gateway.agent.entries import ToolCall, UserEntry
from gateway.agent.tools.memory import memory_tools
from gateway.agent.tools.notes import note_tools
from gateway.agent.tools.tool import Toolbox
from gateway.agent.write_guard import WriteGuard
from gateway.approvals.approvals import Approvals
from gateway.control.agents import AgentDirectory, terminal_access
from gateway.control.chat import ChatOperator
from gateway.control.tools_wire import OfferedTool, ToolAnswer, ToolOrder
from workspaces.access import AgentId, Locality, read_by
from workspaces.history import Origin
from workspaces.run_blocking import RunBlocking

PROGRAM = Origin("another program", None, "another-program")
"""Origin of its notes in the history."""
_WRITING = frozenset({"add_note", "save_memory", "update_memory"})


class ToolOperator(Struct, frozen=True):
    """The agents' memories for other programs."""

    agents: AgentDirectory
    changes: Approvals
    owner_chat: Callable[[AgentId], Awaitable[Address | None]]
    """Returns an agent's chat with its owner, who is notified there of pending changes; if unknown, at the terminal."""
    conversation: ChatOperator
    clock: Callable[[], datetime]

    async def answer(self, order: ToolOrder) -> ToolAnswer:
        """Execute *order*; a failed call gives the reason in its answer."""
        agent = self.agents.named(order.agent)
        owner = await self.owner_chat(agent.id) or self.conversation.address(agent.id)
        with agent.changing(PROGRAM.turn or "", PROGRAM, lambda: True) as run:
            toolbox = self._toolbox(agent, run, owner)
            if order.act == "list":
                return ToolAnswer(tools=tuple(_offered_tools(toolbox)))
            result = await toolbox.call(ToolCall("1", order.name, order.arguments))
        return ToolAnswer(text=result.text, is_error=result.is_error)

    def _toolbox(self, agent: Agent, run: RunBlocking, owner: Address) -> Toolbox:
        access = read_by(terminal_access(agent.id), Locality.ELSEWHERE)  # the program may pass it on to any model
        anybodys = UserEntry("", self.clock(), "", "", from_outside=True)  # its model may have read anything
        guard = WriteGuard(access, [anybodys], self.changes.approval_sink(agent.id, PROGRAM, owner))
        tools = memory_tools(agent.memory, agent.workspace, access, run)
        return Toolbox([*tools, *note_tools(agent.workspace, access, run, self.clock, guard)], access)


def _offered_tools(toolbox: Toolbox) -> list[OfferedTool]:
    return [
        OfferedTool(spec.name, spec.description, json.dumps(dict(spec.parameters)), spec.name in _WRITING)
        for spec in toolbox.specs
    ]
