"""Digest of the check-up: runs it every so many days, and tells the owner by chat how many proposals wait."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

import structlog

from adapters.channel import Address, Button
from gateway.app.resources import Resources
from gateway.checkup.checkup import CheckedAgent, checked_agent, read_checkup, run_checkup
from gateway.checkup.proposals import CheckupRecord
from gateway.checkup.summary import summary_of
from gateway.delivery.owner_notices import Notices
from gateway.errors import CheckupError, StoreError
from gateway.runtime.clock import Clock, pause
from workspaces.access import AgentId, owner_access
from workspaces.errors import WorkspaceError

log = structlog.get_logger()

LOOK_EVERY_S = 3_600.0
VIA = "digest"


@dataclass(frozen=True, slots=True)
class CheckupDigest:
    """Checks the notes of all agents every *days* days; without any it does nothing."""

    days: int
    agents: Iterable[CheckedAgent]
    now: Callable[[], datetime]
    """Time in the owner's zone."""
    clock: Clock
    owner_chat: Callable[[AgentId], Awaitable[Address | None]]
    notices: Notices

    async def work(self) -> None:
        """Look every hour whether a check-up is due; runs until cancelled."""
        while self.days:
            for checked in self.agents:
                try:
                    await self.look(checked)
                except (CheckupError, StoreError, WorkspaceError, OSError) as exc:
                    log.warning("notes were not checked", agent=checked.agent.id, detail=str(exc))
            await pause(self.clock, LOOK_EVERY_S)

    async def look(self, checked: CheckedAgent) -> None:
        """Check the notes of one agent if the latest check-up, by whomever, is too old, and tell its outcome."""
        access, now = owner_access(checked.agent.id, VIA), self.now()
        latest = await read_checkup(checked, access)
        if latest.at is not None and (now - latest.at).days < self.days:
            return
        record = await run_checkup(checked, access, now, lambda _done, _total: None)
        if record.open:
            await self._tell(checked, record, now)

    async def _tell(self, checked: CheckedAgent, record: CheckupRecord, now: datetime) -> None:
        said = f"Check-up of the notes of {checked.agent.id}. {summary_of(record)} Nothing was changed."
        where = await self.owner_chat(checked.agent.id)
        key = f"checkup:{checked.agent.id}:{now.date()}"
        await self.notices.tell(key, said, where, (Button("Show", "/checkup next"),))


def checkup_digest(resources: Resources, days: int) -> CheckupDigest:
    """Return the digest of all agents of a gateway, every *days* days."""
    home = resources.home
    agents = [checked_agent(agent, resources.sessions, home.zone.zone) for agent in resources.agents.values()]
    return CheckupDigest(days, agents, home.now, home.clock, home.owner_chats.of, home.notices)
