"""Operator requests about an agent's activity, and the record of its index' size."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from pathlib import Path

from msgspec import Struct, structs

from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.agent.mcp.servers import ToolServers
from gateway.agent.models.paid import AgentBudget
from gateway.control.activity_wire import (
    ActivityOrder,
    ActivityReport,
    DaySpending,
    HookRow,
    IndexSize,
    LaneRow,
    RecallRow,
    ToolServerRow,
)
from gateway.control.agents import AgentDirectory, terminal_access
from gateway.hooks import Hooks, event_of
from gateway.inbound.queue_modes import Item
from gateway.runtime.lanes import Lanes
from gateway.stores.ports import Store
from gateway.stores.remembered import remember, remembered
from gateway.stores.spending import NANOS
from gateway.transcripts.archive import latest_receipts
from gateway.transcripts.store import Sessions
from workspaces.access import AgentId

_SIZES_KEPT = 400
_DAYS_AT_MOST = 400
_RECEIPTS = 60


class IndexSizes(Struct, frozen=True):
    """Remembers the size of each agent's index, one figure a day."""

    store: Store
    now: Callable[[], datetime]
    """In the owner's zone."""

    async def record(self, agent: Agent, folder: Path) -> None:
        """Note today's size of the index in *folder*. Raises StoreError and MemoryUnavailableError."""
        entries = (await agent.memory.status()).entries
        size = await agent.run(_bytes_in, folder)
        known = {**await self._known(agent.id), self.now().date(): (entries, size)}
        await remember(self.store, _key(agent.id), dict(sorted(known.items())[-_SIZES_KEPT:]))

    async def of(self, agent: AgentId) -> tuple[IndexSize, ...]:
        """Return the recorded sizes, oldest first. Raises StoreError."""
        return tuple(IndexSize(day, *row) for day, row in (await self._known(agent)).items())

    async def _known(self, agent: AgentId) -> dict[date, tuple[int, int]]:
        return await remembered(self.store, _key(agent), dict[date, tuple[int, int]]) or {}


class PastFigures(Struct, frozen=True):
    """The figures of past days: costs, recall receipts, sizes of the index."""

    transcripts: Sessions
    budgets: Mapping[AgentId, AgentBudget]
    sizes: IndexSizes

    async def added_to(self, now: ActivityReport, agent: AgentId, days: int) -> ActivityReport:
        """Return *now* with the figures of *agent*. Raises StoreError."""
        folder, access = self.transcripts.folder(agent), terminal_access(agent)
        recalls = await self.transcripts.run(latest_receipts, folder, access, _RECEIPTS)
        return structs.replace(
            now,
            spending=await self._spending(agent, min(days, _DAYS_AT_MOST)),
            recalls=tuple(RecallRow(at, each.asked, each.found, each.took_ms, str(each)) for at, each in recalls[::-1]),
            index_sizes=await self.sizes.of(agent),
        )

    async def _spending(self, agent: AgentId, days: int) -> tuple[DaySpending, ...]:
        budget = self.budgets.get(agent)
        if budget is None:
            return ()
        today = budget.now().date()
        dates = [today - timedelta(back) for back in range(days - 1, -1, -1)]
        spent = await asyncio.gather(*map(budget.spent, dates))
        return tuple(
            DaySpending(day, cause, spend.tokens, spend.nanos / NANOS)
            for day, causes in zip(dates, spent, strict=True)
            for cause, spend in causes.items()
        )


class ActivityOperator(Struct, frozen=True):
    """Describes agents at work."""

    agents: AgentDirectory
    lanes: Lanes[SessionKey, Item]
    hooks: Hooks
    tool_servers: ToolServers
    past: PastFigures

    async def answer(self, order: ActivityOrder) -> ActivityReport:
        """Execute *order*. Raises StoreError, and StrandlineError for an unknown agent."""
        agent = self.agents.named(order.agent)
        standing = [each for each in self.lanes.standing() if each[0].agent == agent.id]
        now = ActivityReport(
            tuple(LaneRow(key.name, is_working, held - is_working) for key, is_working, held in standing),
            tuple(
                HookRow(each.event, each.source, (event := event_of(each.event)) is not None and event.decides)
                for each in self.hooks.all
            ),
            tuple(
                ToolServerRow(
                    each.settings.name,
                    not each.is_away,
                    each.settings.rules.sessions,
                    tuple(spec.name for spec in each.offered.specs.values()),
                    tuple(each.troubles()),
                )
                for each in self.tool_servers.servers
            ),
        )
        return await self.past.added_to(now, agent.id, order.days) if order.days else now


def _bytes_in(folder: Path) -> int:
    """Return the bytes that *folder* takes on the disk: the engine sets aside much that it does not fill."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # the engine removed it meanwhile
                total += Path(place, name).lstat().st_blocks * 512
    return total


def _key(agent: AgentId) -> str:
    return f"index_sizes:{agent}"
