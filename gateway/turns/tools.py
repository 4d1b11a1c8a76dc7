"""The tools of a turn, with the guard that stands before what they write."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from msgspec import Struct, field

from gateway.admission.routing import session_of
from gateway.agent.authorship import own_words
from gateway.agent.entries import OFFLINE, ToolCall, UserEntry
from gateway.agent.mcp.servers import ToolServers
from gateway.agent.models.offline_intents import ordered_text
from gateway.agent.tool_hooks import lead_past
from gateway.agent.tools.families import TurnActions
from gateway.agent.tools.memory import Used, ignore_used
from gateway.agent.tools.tool import Toolbox
from gateway.agent.write_guard import WriteGuard
from gateway.approvals.approvals import Approvals
from gateway.approvals.outgoing_acts import WaysOut
from gateway.automation.job_requests import TurnJobRequests
from gateway.automation.silence import is_unasked
from gateway.automation.subagents import Subagents, is_task
from gateway.delivery.outgoing_files import Enclosures
from gateway.errors import ToolError
from gateway.hooks import Hooks
from gateway.sessions.hook_events import conversation_of
from gateway.sessions.turn_request import TurnRequest


class TurnTools(Struct, frozen=True):
    """Makes the toolbox of each turn: the agent's own tools, those of packages and those of other programs."""

    approvals: Approvals
    hooks: Hooks
    clock: Callable[[], datetime]
    """Returns the present time, in the owner's zone."""
    enclosures: Enclosures | None = None
    """Store of the files that a turn sends; without it no turn sends files."""
    subagents: Subagents | None = None
    """Runs subagents for turns; without it no turn has any."""
    servers: ToolServers = field(default_factory=ToolServers)
    """Gives turns the tools of other programs."""

    def guard(self, asked: TurnRequest) -> WriteGuard:
        """Return the guard of a turn that has seen nothing yet."""
        approval_sink = self.approvals.approval_sink(asked.agent.id, asked.origin, asked.row.message.answer_address)
        said = asked.transcript.entries_of(asked.row.turn_id)
        dictated = [ordered_text(own_words(each)) for each in said if isinstance(each, UserEntry) and not each.is_ours]
        return WriteGuard(asked.access, (), approval_sink, dictated)

    async def toolbox(self, asked: TurnRequest, guard: WriteGuard, used: Used) -> Toolbox:
        """Return the tools that a turn offers its model; *used* is called with the memories that they show."""
        toolbox = await self._own(asked, guard, used)
        if asked.agent.model.name != OFFLINE:
            toolbox.add(await self.servers.tools(asked.access))
        lead_past(toolbox, self.hooks, conversation_of(asked.access, session_of(asked.access)))
        return toolbox

    async def unused(self, asked: TurnRequest) -> Toolbox:
        """Return the tools that a turn would offer, without anything that calls them."""
        return await self.toolbox(asked, self.guard(asked), ignore_used)

    def away_notice(self, asked: TurnRequest) -> str:
        """Return a line on the tools that the model would have if their servers were there; empty if none is away."""
        names = self.servers.away(asked.access) if asked.agent.model.name != OFFLINE else []
        if not names:
            return ""
        return f"\nThe tools of {', '.join(names)} are not available now; if you need one, say so and go on without it."

    def ways_out(self, asked: TurnRequest) -> WaysOut:
        """Return how an act that the owner approves by *asked* leaves: as a call, or as a file with its answer."""
        enclose = None if self.enclosures is None else partial(self.enclosures.enclose, asked)
        return WaysOut(partial(self._call_approved, asked), enclose)

    async def _call_approved(self, asked: TurnRequest, call: ToolCall) -> str:
        """Make *call*, which the owner has approved, and return its answer. Raises ToolError if it fails."""
        toolbox = await self._own(asked, self.guard(asked), ignore_used)
        toolbox.add(await self.servers.tools(asked.access))
        lead_past(toolbox, self.hooks, conversation_of(asked.access, session_of(asked.access)))
        result = await toolbox.call(call)
        if result.is_error:
            raise ToolError(result.text)
        return result.text

    async def _own(self, asked: TurnRequest, guard: WriteGuard, used: Used) -> Toolbox:
        """Return the tools of the agent and of packages."""
        message = asked.row.message
        files = None if is_task(message.address) else self.enclosures  # a model reads a subagent's result
        actions = TurnActions(
            enclose=None if files is None else partial(files.enclose, asked),
            check_file=None if files is None else partial(files.check, asked),
            helpers=None if self.subagents is None else self.subagents.helpers(asked),
            jobs=TurnJobRequests(self.approvals, asked, guard),
            is_unasked=is_unasked(message, asked.access.session_type),
        )
        return await asked.agent.toolbox(asked.access, self.clock, asked.origin, used, guard, actions)
