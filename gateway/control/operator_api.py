"""This file is the operator's desk: what a command can ask of a gateway, whether that runs elsewhere or right here."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from adapters.channel import ChannelError
from gateway.control.browsers import BrowserAnswer, BrowserOrder
from gateway.control.cron_wire import CronAnswer, CronOrder
from gateway.control.door_wire import PairAnswer, PairOrder, RouteOrder, SilencesAnswer, SilencesOrder
from gateway.control.status_wire import MemoryStatus, Status
from gateway.control.tools_wire import ToolAnswer, ToolOrder
from gateway.control.wire import (
    AgentOrder,
    ApprovalAnswer,
    ApprovalOrder,
    ChatOrder,
    Found,
    HistoryAnswer,
    HistoryOrder,
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
"""What may go wrong without a fault in the program; each message is a sentence for the operator."""

OnReply = Callable[[str, bool], Awaitable[None]]
"""Takes each message, as Markdown, when it was delivered, and whether it answers what was asked: an earlier answer
that nobody was there to read comes first."""
Progress = Callable[[int, int], None]
"""Told how many changed notes are indexed, and of how many."""


class Desk(Protocol):
    """What the commands are written against. Everything raises one of `EXPECTED`."""

    async def status(self) -> Status:
        """Return the state of the gateway."""

    async def chat(self, order: ChatOrder, on_reply: OnReply) -> str:
        """Say something to an agent; return, when its answer is complete, which one answered."""

    async def search(self, order: SearchOrder) -> Found:
        """Search an agent's memory."""

    async def index(self, order: AgentOrder, progress: Progress) -> str:
        """Bring an agent's index up to date, and return the outcome in words."""

    async def why(self, order: AgentOrder) -> Why:
        """Return which memories an agent's latest answer to its owner used."""

    async def origin(self, order: OriginOrder) -> MemorySource:
        """Return which changes wrote some lines of an agent's memory, and the messages that led to them."""

    async def memory_status(self, order: AgentOrder) -> MemoryStatus:
        """Return the state of an agent's index."""

    async def history(self, order: HistoryOrder) -> HistoryAnswer:
        """Read the history of an agent's files as their owner, export it, or bring a file back."""

    async def sessions(self, order: SessionsOrder) -> SessionsAnswer:
        """Read agents' conversations as their owner."""

    async def approvals(self, order: ApprovalOrder) -> ApprovalAnswer:
        """Tell of the changes that wait for the owner, or decide about one."""

    async def quarantine(self, order: QuarantineOrder) -> QuarantineAnswer:
        """List quarantined rows, or retry or drop one."""

    async def cron(self, order: CronOrder) -> CronAnswer:
        """Tell what agents do at their times, or change it."""

    async def tools(self, order: ToolOrder) -> ToolAnswer:
        """Tell which tools of an agent's memory another program may use, or call one as the owner's."""

    async def pair(self, order: PairOrder) -> PairAnswer:
        """Tell who asks to be let in and who was, or decide about one of them."""

    async def explain(self, order: RouteOrder) -> "Explanation":
        """Return where a message would go, and whether it may go in."""

    async def silences(self, order: SilencesOrder) -> SilencesAnswer:
        """Return who got no answer lately, and why."""

    async def browsers(self, order: BrowserOrder) -> BrowserAnswer:
        """Give a code that lets a browser in, tell which are in, or sign some out."""


class Readiness(Protocol):
    """Whether a gateway takes messages yet."""

    @property
    def ready(self) -> bool: ...

    @property
    def standby(self) -> bool:
        """Whether it takes none because every agent has another gateway: it waits until one becomes free."""

    @property
    def loading(self) -> list[str]:
        """Features that are still on their way."""
