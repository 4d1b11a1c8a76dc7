"""Regular checks of the notes: new lines are compared with lasting ones, and all are checked every so many days."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from datetime import datetime
from functools import partial

import structlog
from msgspec import Struct

from adapters.channel import Address, Button
from gateway.app.resources import Resources
from gateway.approvals.diff import code_block
from gateway.checkup.changes import preview
from gateway.checkup.checkup import CheckedAgent, checked_agent, read_checkup, run_checkup
from gateway.checkup.fresh import compare_fresh
from gateway.checkup.proposals import CheckupProposal
from gateway.checkup.summary import summary_of
from gateway.delivery.owner_notices import Notices
from gateway.errors import CheckupError, StoreError
from gateway.runtime.clock import Clock, is_ahead, pause
from workspaces.access import AgentId, owner_access
from workspaces.errors import WorkspaceError

log = structlog.get_logger()

COMPARE_EVERY_S = 60.0
CHECK_EVERY_S = 3_600.0
_COMPARISON, _DIGEST = "comparison", "digest"
_ANSWERS = (("Replaces it", "accept"), ("Both hold", "refuse"), ("Later", "later"))


class NoteChecks(Struct, frozen=True):
    """Asks by chat about the first replacement of a day, and tells how many proposals of a check-up wait."""

    days: int
    """Days between two check-ups; none are made if it is 0."""
    agents: Iterable[CheckedAgent]
    now: Callable[[], datetime]
    """Time in the owner's zone."""
    clock: Clock
    owner_chat: Callable[[AgentId], Awaitable[Address | None]]
    notices: Notices

    def work(self) -> Iterator[Coroutine[None, None, None]]:
        """Yield the checks; each runs until cancelled."""
        yield self._repeat(partial(self.compare_changed, {}), COMPARE_EVERY_S)
        if self.days:
            yield self._repeat(self.check, CHECK_EVERY_S)

    async def _repeat(self, look: Callable[[CheckedAgent], Awaitable[None]], every_s: float) -> None:
        while True:
            for checked in self.agents:
                try:
                    await look(checked)
                except (CheckupError, StoreError, WorkspaceError, OSError) as exc:
                    log.warning("notes were not checked", agent=checked.agent.id, detail=str(exc))
                except Exception:  # a defect in reading what people write costs a check, and not the gateway
                    log.exception("notes were not checked", agent=checked.agent.id)
            await pause(self.clock, every_s)

    async def compare_changed(self, heads: dict[AgentId, str], checked: CheckedAgent) -> None:
        """Compare if a commit came since that of *heads*: nothing of a resting agent is read."""
        head = checked.agent.history_writer.origins.head
        if heads.get(checked.agent.id) != head:
            await self.compare(checked)
            heads[checked.agent.id] = head

    async def compare(self, checked: CheckedAgent) -> None:
        """Compare what conversations and the owner's editor wrote since the last time with the lasting notes."""
        if found := await compare_fresh(checked, owner_access(checked.agent.id, _COMPARISON)):
            keeps = await checked.agent.run(checked.agent.workspace.holds_house)
            buttons = tuple(Button(label, f"/checkup {act} {found[0].mark}") for label, act in _ANSWERS)
            await self._ask_owner("compared", checked, _question(found, quotes=not keeps), buttons)

    async def check(self, checked: CheckedAgent) -> None:
        """Check the notes of one agent if the latest check-up, by whomever, is too old, and tell its outcome."""
        access, now = owner_access(checked.agent.id, _DIGEST), self.now()
        latest = await read_checkup(checked, access)
        if latest.at is not None and not is_ahead(latest.at, now) and (now - latest.at).days < self.days:
            return
        record = await run_checkup(checked, access, now, lambda _done, _total: None)
        if record.open:
            said = f"Check-up of the notes of {checked.agent.id}. {summary_of(record)} Nothing was changed."
            await self._ask_owner("checkup", checked, said, (Button("Show", "/checkup next"),))

    async def _ask_owner(self, kind: str, checked: CheckedAgent, said: str, buttons: tuple[Button, ...]) -> None:
        """Tell it once a day."""
        agent = checked.agent.id
        await self.notices.tell(f"{kind}:{agent}:{self.now().date()}", said, await self.owner_chat(agent), buttons)


def _question(found: list[CheckupProposal], *, quotes: bool) -> str:
    """Return the question about the first of *found*; unless it *quotes*, texts of notes stay in their files."""
    first, others = found[0], len(found) - 1
    more = f" {others} more wait: `/checkup next`." if others else ""
    if not quotes:
        return f"Does `{first.beside_path}#L{first.beside_line}` replace `{first.citation}`? Nothing was changed.{more}"
    diff = "\n".join(line for line in preview(first).split("\n") if not line.startswith("@@"))
    return f"Does a newer note replace `{first.citation}`? {first.reason}.\n{code_block(diff)}\nNothing changed.{more}"


def note_checks(resources: Resources, days: int) -> NoteChecks:
    """Return the checks for all agents of a gateway, all notes every *days* days."""
    home = resources.home
    agents = [checked_agent(agent, resources.sessions, home.zone.zone) for agent in resources.agents.values()]
    return NoteChecks(days, agents, home.now, home.clock, home.owner_chats.of, home.notices)
