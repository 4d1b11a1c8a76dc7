"""Comparison of new notes with the lasting ones: a likely replacement is asked about by chat, once a day."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

import structlog

from adapters.channel import Address, Button
from gateway.app.resources import Resources
from gateway.approvals.diff import code_block
from gateway.checkup.changes import preview
from gateway.checkup.checkup import CheckedAgent, checked_agent
from gateway.checkup.fresh import compare_fresh
from gateway.checkup.proposals import CheckupProposal
from gateway.delivery.owner_notices import Notices
from gateway.errors import CheckupError, StoreError
from gateway.runtime.clock import Clock, pause
from workspaces.access import AgentId, owner_access
from workspaces.errors import WorkspaceError

log = structlog.get_logger()

LOOK_EVERY_S = 60.0
_VIA = "comparison"


@dataclass(frozen=True, slots=True)
class NoteComparison:
    """Compares what conversations and the owner's editor wrote, and asks about the first replacement of a day."""

    agents: Iterable[CheckedAgent]
    now: Callable[[], datetime]
    """Time in the owner's zone."""
    clock: Clock
    owner_chat: Callable[[AgentId], Awaitable[Address | None]]
    notices: Notices

    async def work(self) -> None:
        """Look every minute whether something was written; runs until cancelled."""
        while True:
            for checked in self.agents:
                try:
                    await self.look(checked)
                except (CheckupError, StoreError, WorkspaceError, OSError) as exc:
                    log.warning("new notes were not compared", agent=checked.agent.id, detail=str(exc))
            await pause(self.clock, LOOK_EVERY_S)

    async def look(self, checked: CheckedAgent) -> None:
        """Compare what was written since the last time."""
        found = await compare_fresh(checked, owner_access(checked.agent.id, _VIA))
        if not found:
            return
        where = await self.owner_chat(checked.agent.id)
        key = f"compared:{checked.agent.id}:{self.now().date()}"
        keeps = await checked.agent.run(checked.agent.workspace.holds_house)
        await self.notices.tell(key, _question(found, quotes=not keeps), where, _answers(found[0].mark))


def _question(found: list[CheckupProposal], *, quotes: bool) -> str:
    """Return the question about the first of *found*; unless it *quotes*, texts of notes stay in their files."""
    first, others = found[0], len(found) - 1
    more = f" {others} more wait: `/checkup next`." if others else ""
    if not quotes:
        return f"Does `{first.beside_path}#L{first.beside_line}` replace `{first.citation}`? Nothing was changed.{more}"
    diff = "\n".join(line for line in preview(first).split("\n") if not line.startswith("@@"))
    return f"Does a newer note replace `{first.citation}`? {first.reason}.\n{code_block(diff)}\nNothing changed.{more}"


def _answers(mark: str) -> tuple[Button, ...]:
    decisions = (("Replaces it", "accept"), ("Both hold", "refuse"), ("Later", "later"))
    return tuple(Button(label, f"/checkup {act} {mark}") for label, act in decisions)


def note_comparison(resources: Resources) -> NoteComparison:
    """Return the comparison for all agents of a gateway."""
    home = resources.home
    agents = [checked_agent(agent, resources.sessions, home.zone.zone) for agent in resources.agents.values()]
    return NoteComparison(agents, home.now, home.clock, home.owner_chats.of, home.notices)
