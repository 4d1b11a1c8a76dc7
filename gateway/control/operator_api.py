"""The operator API: every request that a command can make to a gateway, local or remote."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from adapters.channel import ChannelError
from gateway.control.admission_wire import PairAnswer, PairOrder, RouteOrder, SilencesAnswer, SilencesOrder
from gateway.control.browsers import BrowserAnswer, BrowserOrder
from gateway.control.cron_wire import CronAnswer, CronOrder
from gateway.control.status_wire import MemoryStatus, Status
from gateway.control.tools_wire import ToolAnswer, ToolOrder
from gateway.control.wire import (
    AgentOrder,
    ApprovalAnswer,
    ApprovalOrder,
    ChatOrder,
    HistoryAnswer,
    HistoryOrder,
    MemorySearchAnswer,
    MemorySource,
    OriginOrder,
    QuarantineAnswer,
    QuarantineOrder,
    SearchOrder,
    SessionsAnswer,
    SessionsOrder,
    Why,
)
from gateway.errors import StrandlineError
from workspaces.errors import WorkspaceError
from workspaces.memory.client import MemoryUnavailableError

if TYPE_CHECKING:
    from gateway.admission.explain import Explanation

EXPECTED = (StrandlineError, WorkspaceError, ChannelError, MemoryUnavailableError)
"""Errors that are no fault in the program; each message is a sentence for the operator."""

OnReply = Callable[[str, bool], Awaitable[None]]
"""Takes each delivered message, as Markdown, and whether it answers this request.

An earlier answer that nobody was there to read comes first.
"""
Progress = Callable[[int, int], None]
"""Receives the number of changed notes that are indexed, and their total."""


class OperatorApi(Protocol):
    """The interface that commands use. Everything raises one of `EXPECTED`."""

    async def status(self) -> Status:
        """Return the state of the gateway."""

    async def chat(self, order: ChatOrder, on_reply: OnReply) -> str:
        """Send a message to an agent; when its answer is complete, return the agent that answered."""

    async def search(self, order: SearchOrder) -> MemorySearchAnswer:
        """Search an agent's memory."""

    async def index(self, order: AgentOrder, progress: Progress) -> str:
        """Bring an agent's index up to date, and return a description of the outcome."""

    async def why(self, order: AgentOrder) -> Why:
        """Return the memories that an agent's latest answer to its owner used."""

    async def origin(self, order: OriginOrder) -> MemorySource:
        """Return the changes that wrote some lines of an agent's memory, and the messages that led to them."""

    async def memory_status(self, order: AgentOrder) -> MemoryStatus:
        """Return the state of an agent's index."""

    async def history(self, order: HistoryOrder) -> HistoryAnswer:
        """Read the history of an agent's files as their owner, export it, or restore a file."""

    async def sessions(self, order: SessionsOrder) -> SessionsAnswer:
        """Read agents' conversations as their owner."""

    async def approvals(self, order: ApprovalOrder) -> ApprovalAnswer:
        """List the changes that wait for the owner, or decide about one."""

    async def quarantine(self, order: QuarantineOrder) -> QuarantineAnswer:
        """List quarantined rows, or retry or drop one."""

    async def cron(self, order: CronOrder) -> CronAnswer:
        """List an agent's scheduled jobs, or change them."""

    async def tools(self, order: ToolOrder) -> ToolAnswer:
        """List an agent's memory tools for other programs, or call one as the owner's."""

    async def pair(self, order: PairOrder) -> PairAnswer:
        """List pairing requests and guests, or decide about one of them."""

    async def explain(self, order: RouteOrder) -> "Explanation":
        """Return the route of a message, and whether it would be admitted."""

    async def silences(self, order: SilencesOrder) -> SilencesAnswer:
        """Return the unanswered messages, with reasons."""

    async def browsers(self, order: BrowserOrder) -> BrowserAnswer:
        """Create a sign-in code for a browser, list signed-in browsers, or sign some out."""


class Readiness(Protocol):
    """Whether a gateway accepts messages."""

    @property
    def ready(self) -> bool: ...

    @property
    def standby(self) -> bool:
        """Whether it accepts none because every agent has another gateway: it waits until one becomes free."""

    @property
    def loading(self) -> list[str]:
        """Features that still load."""
