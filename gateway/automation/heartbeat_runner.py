"""Runs heartbeats: checks for due items without a model, and asks the agent only if there are any."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Never

import structlog
from msgspec import Struct, structs

from adapters.channel import Address, ChatKind, InboundMessage
from gateway.admission.internal_channels import NOBODY, heartbeat_address, is_heartbeat
from gateway.admission.routing import SessionKey, session_access
from gateway.agent.agent import Agent
from gateway.agent.entries import OFFLINE
from gateway.automation.heartbeat_state import HeartbeatState, Outcome
from gateway.automation.heartbeat_status import HeartbeatStatus
from gateway.automation.silence import has_failed
from gateway.errors import StoreError
from gateway.runtime.clock import Clock, is_ahead
from gateway.schedule.checklist import (
    FILE,
    STOPS_AFTER,
    Checklist,
    DueItem,
    Rhythm,
    boot_prompt,
    changed_files,
    due_items,
    is_blank,
    next_look,
    prompt_for,
    read_checklist,
)
from gateway.stores.ports import Store
from gateway.stores.remembered import remember, remembered
from gateway.stores.rows import InboxRow, OutboxRow, Outgoing
from gateway.transcripts.store import Sessions
from workspaces.access import AgentId, SessionType
from workspaces.errors import WorkspaceError

log = structlog.get_logger()

LOOK_EVERY_S = 60.0
"""Interval between looks at the clock: after sleep or a clock change, a machine is up to date within that."""
LONGEST_TRANSCRIPT = 1024 * 1024
"""Size, in bytes, from which on the session's transcript is archived: no heartbeat reads an earlier one."""
BOOT_FILE = "BOOT.md"
BOOT_LEAST_S = 3600
"""Shortest interval between two runs of `BOOT.md`: a gateway that crashes repeatedly asks no model each time."""


_PROSE = (
    f"No line of `{FILE}` begins with a box, so I take all of it for one item: I check it at every heartbeat, and each "
    "check calls my language model. A line such as `- [ ] daily 09:00: read my notes` calls it only when it is due."
)


class HeartbeatResources(Struct, frozen=True):
    """The parts of the gateway that heartbeats use."""

    agents: Mapping[AgentId, Agent]
    rhythms: Mapping[AgentId, Rhythm]
    sessions: Sessions
    store: Store
    clock: Clock
    owner_chat: Callable[[AgentId], Awaitable[Address | None]]
    """Returns the chat in which an agent reaches its owner; never a group."""
    is_busy: Callable[[SessionKey], bool]
    """Returns whether a message is being answered in a session."""
    enter: Callable[[InboundMessage], Awaitable[bool]]
    """Accepts one of our messages, once."""


class Heartbeats:
    """Runs the heartbeats of all agents; each is a message of the clock, like any other in the inbox."""

    def __init__(
        self,
        around: HeartbeatResources,
        wake: Callable[[Sequence[OutboxRow]], None],
    ) -> None:
        """*wake* is called with notices that wait to be sent."""
        self._around = around
        self._wake = wake
        self._stored_states: dict[AgentId, HeartbeatState] = {}
        self._next: dict[AgentId, datetime] = {}
        self._lists: dict[AgentId, Checklist] = {}
        self._routes: dict[AgentId, bool] = {}
        """Whether the owner could be reached at the latest look."""
        self._unsent: set[AgentId] = set()
        """Agents whose heartbeat is recorded but not yet accepted by the store."""
        self._ended: list[tuple[InboxRow, bool]] = []
        self._woken = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()

    # --- beside the lanes

    async def work(self) -> Never:
        """Run heartbeats for all agents until cancelled."""
        await self.begin()
        while True:
            self._woken.clear()
            await self.look()
            await self._around.clock.wait(self._woken, LOOK_EVERY_S)

    async def begin(self) -> None:
        """Resume the work of an earlier run, and run each agent's `BOOT.md`."""
        for agent in self._around.agents:
            await self._safely(self._begin, agent)

    async def look(self) -> None:
        """Start everything that is due now, for every agent."""
        while self._ended:
            row, was_told = self._ended.pop(0)
            await self._safely(self._settle, AgentId(row.message.address.account), row, was_told)
        for agent in self._around.agents:
            await self._safely(self._look, agent)

    def committed(self, row: InboxRow, replies: Sequence[OutboxRow]) -> None:
        """Process the outcome of the turn of *row*, synchronously in the event loop."""
        if is_heartbeat(row.message):
            self._ended.append((row, bool(replies)))
            self._woken.set()

    async def _safely(self, work: Callable[..., Awaitable[None]], agent: AgentId, *given: object) -> None:
        """Do *work*; if the store or the disk refuses, a later look repeats it."""
        try:
            async with self._one_at_a_time:
                await work(agent, *given)
        except (StoreError, WorkspaceError) as exc:
            log.warning("no heartbeat now", agent=agent, why=type(exc).__name__)

    async def _begin(self, agent: AgentId) -> None:
        stored = await self._stored_state(agent)
        if stored.outcome is Outcome.RUNNING and not await self._is_under_way(agent, stored):
            await self._keep(agent, structs.replace(stored, outcome=Outcome.NONE, prompt="", before=None))
        await self._boot(agent)

    async def _is_under_way(self, agent: AgentId, stored: HeartbeatState) -> bool:
        """Return whether the latest heartbeat still waits for its turn; it is enqueued if it never was."""
        route = await self._around.owner_chat(agent)
        if route is not None and await self._around.enter(self._message(agent, stored.slot, stored.prompt, route)):
            return True
        waiting = await self._around.store.inbox.waiting()
        return any(is_heartbeat(row.message) and row.message.id == stored.slot for row in waiting)

    async def _boot(self, agent: AgentId) -> None:
        stored, now = await self._stored_state(agent), self._around.clock.now()
        if stored.booted is not None and abs((now - stored.booted).total_seconds()) < BOOT_LEAST_S:
            return
        text = await self._text(agent, BOOT_FILE)
        route = await self._around.owner_chat(agent)
        if is_blank(text) or route is None or self._around.agents[agent].model.name == OFFLINE:
            return
        await self._keep(agent, structs.replace(stored, booted=now))
        await self._around.enter(self._message(agent, f"boot:{now:%Y-%m-%dT%H:%M:%SZ}", boot_prompt(text), route))

    async def _look(self, agent: AgentId) -> None:
        stored = await self._stored_state(agent)
        now, rhythm = self._around.clock.now(), self._around.rhythms[agent]
        if now < self._next.get(agent, now) or not rhythm.is_active(now):
            return
        if stored.outcome is Outcome.RUNNING and agent in self._unsent:
            await self._is_under_way(agent, stored)
            self._unsent.remove(agent)
        if stored.is_off or stored.outcome is Outcome.RUNNING or self._around.agents[agent].model.name == OFFLINE:
            return
        if self._around.is_busy(SessionKey(agent, SessionType.MAIN)):
            return
        await self._beat(agent, stored, now)

    async def _beat(self, agent: AgentId, stored: HeartbeatState, now: datetime) -> None:
        """Ask for the items due since the last look; the first one only begins."""
        rhythm = self._around.rhythms[agent]
        if stored.ran is not None and now < (ready := stored.ran + rhythm.rest(stored.failures)):
            self._next[agent] = ready
            return
        checklist = await self._checklist(agent)
        since = stored.looked or now
        is_round = stored.looked is None or rhythm.round_after(since) <= now
        digests = await self._digests(agent, checklist.watched)
        changed = changed_files(stored.watched, digests)
        due = due_items(checklist, since, now, changed, is_round=is_round and stored.looked is not None)
        watched = digests if is_round else {path: stored.watched.get(path, each) for path, each in digests.items()}
        looked = structs.replace(stored, looked=now, watched=watched)
        if not due:
            await self._keep(agent, looked)
        elif not await self._ask(agent, looked, stored, due):
            return
        self._next[agent] = next_look(checklist, now, rhythm)

    async def _ask(
        self, agent: AgentId, looked: HeartbeatState, before: HeartbeatState, due: Sequence[DueItem]
    ) -> bool:
        """Ask the agent about the *due* items; return whether its owner can be reached: if not, they stay due."""
        route = await self._around.owner_chat(agent)
        was_reached, self._routes[agent] = self._routes.get(agent, True), route is not None
        if route is None:
            if was_reached:
                await self._around.store.count("no_route")
                log.warning("no heartbeat: no direct chat of the owner is known", agent=agent)
            return False
        now = self._around.clock.now()
        prompt = prompt_for(due, self._around.rhythms[agent].zone)
        slot = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        before = structs.replace(before, looked=before.looked or now, before=None)
        asked = structs.replace(looked, slot=slot, prompt=prompt, before=before, ran=now, outcome=Outcome.RUNNING)
        await self._keep(agent, asked)
        self._unsent.add(agent)
        await self._around.enter(self._message(agent, slot, prompt, route))
        self._unsent.remove(agent)
        return True

    async def _settle(self, agent: AgentId, row: InboxRow, was_told: bool) -> None:
        """Record the outcome of the heartbeat of *row*; failed items stay due."""
        stored = await self._stored_state(agent)
        if row.message.id != stored.slot or stored.outcome is not Outcome.RUNNING:
            return
        transcript = await self._around.sessions.open(_session(agent))
        is_failure = has_failed(transcript.entries_of(row.turn_id))
        if transcript.size > LONGEST_TRANSCRIPT and not self._around.is_busy(_session(agent)):
            await self._around.sessions.archive(_session(agent), self._around.clock.now())
        if not is_failure:
            outcome = Outcome.TOLD if was_told else Outcome.SILENT
            await self._keep(agent, structs.replace(stored, outcome=outcome, failures=0, prompt="", before=None))
            return
        await self._record_failure(agent, stored)

    async def _record_failure(self, agent: AgentId, stored: HeartbeatState) -> None:
        failures = stored.failures + 1
        failed = structs.replace(stored, outcome=Outcome.FAILED, failures=failures, prompt="", before=None)
        if stored.before is not None:
            failed = structs.replace(failed, looked=stored.before.looked, watched=stored.before.watched)
        if failures >= STOPS_AFTER:
            said = (
                f"My heartbeat failed {failures} times in a row, so I stopped it: no language model answered. Due "
                "items stay due. `/status` says what went wrong; `/heartbeat on` starts it again."
            )
            await self._tell(agent, f"heartbeat_stopped:{agent}:{stored.slot}", said)
            failed = structs.replace(failed, is_off=True)
        await self._keep(agent, failed)
        self._next.pop(agent, None)

    # --- queries and commands

    async def switch(self, agent: AgentId, *, on: bool) -> None:
        """Turn heartbeats on or off, for whatever reason they stopped before. Items due meanwhile are dropped."""
        async with self._one_at_a_time:
            stored = await self._stored_state(agent)
            is_new = on and stored.is_off and stored.outcome is not Outcome.FAILED
            looked = self._around.clock.now() if is_new else stored.looked
            await self._keep(agent, structs.replace(stored, is_off=not on, failures=0, looked=looked))
            self._next.pop(agent, None)
        self._woken.set()

    async def now(self, agent: AgentId) -> int:
        """Ask the agent about all items now, whatever their times; return how many. With none, nothing is asked."""
        async with self._one_at_a_time:
            stored, checklist = await self._stored_state(agent), await self._checklist(agent)
            due = [DueItem(item) for item in checklist.items]
            if not due or stored.outcome is Outcome.RUNNING or self._around.agents[agent].model.name == OFFLINE:
                return 0
            return len(due) if await self._ask(agent, stored, stored, due) else 0

    async def standing(self, agent: AgentId) -> HeartbeatStatus:
        """Return the state of the heartbeats of *agent*. Raises StoreError."""
        stored = await self._stored_state(agent)
        checklist = await self._checklist(agent)
        rhythm = self._around.rhythms[agent]
        state = self._state(agent, stored)
        soonest = next_look(checklist, stored.looked or self._around.clock.now(), rhythm) if state == "on" else None
        items, faults = len(checklist.items), checklist.faults
        return HeartbeatStatus(state, items, stored.ran, stored.outcome, soonest, stored.failures, faults)

    def _state(self, agent: AgentId, stored: HeartbeatState) -> str:
        rhythm = self._around.rhythms[agent]
        if rhythm.is_off:
            return "never"
        if stored.is_off:
            return "stopped" if stored.failures >= STOPS_AFTER else "off"
        if self._around.agents[agent].model.name == OFFLINE:
            return "no_model"
        return "on" if self._routes.get(agent, True) else "no_route"

    # --- stored state

    async def _stored_state(self, agent: AgentId) -> HeartbeatState:
        if agent not in self._stored_states:
            kept = await remembered(self._around.store, _key(agent), HeartbeatState)
            self._stored_states[agent] = kept or HeartbeatState()
        stored, now = self._stored_states[agent], self._around.clock.now()
        if is_ahead(stored.looked, now) or is_ahead(stored.ran, now):  # as before the first look
            self._stored_states[agent] = structs.replace(stored, looked=None, ran=None)
            self._next.pop(agent, None)
        return self._stored_states[agent]

    async def _keep(self, agent: AgentId, stored: HeartbeatState) -> None:
        await remember(self._around.store, _key(agent), stored)
        self._stored_states[agent] = stored

    async def _checklist(self, agent: AgentId) -> Checklist:
        """Read the list; the owner is notified of a fault once."""
        try:
            found = read_checklist(await self._text(agent, FILE), self._around.rhythms[agent].zone)
        except WorkspaceError as exc:
            found = Checklist(faults=(str(exc),))
        if found.faults and found != self._lists.get(agent):
            said = "\n".join(
                [f"`{FILE}` contains items that I cannot process:", *(f"- {fault}" for fault in found.faults)]
            )
            await self._tell(agent, f"heartbeat_list:{agent}:{_digest(said)}", said)
        if found.is_prose and found != self._lists.get(agent):
            await self._tell(agent, f"heartbeat_prose:{agent}", _PROSE)
        self._lists[agent] = found
        return found

    async def _text(self, agent: AgentId, name: str) -> str:
        """Return the text of a workspace file, empty if there is none. Raises WorkspaceError."""
        home = self._around.agents[agent]
        found = await home.run(home.workspace.present, name, session_access(_session(agent)))
        return found.whole if found is not None else ""

    async def _digests(self, agent: AgentId, paths: Collection[str]) -> dict[str, str]:
        home, access = self._around.agents[agent], session_access(_session(agent))

        def read() -> dict[str, str]:
            found = {}
            for path in sorted(paths):
                try:
                    present = home.workspace.present(path, access)
                except WorkspaceError as exc:
                    found[path] = f"unreadable: {type(exc).__name__}"
                else:
                    found[path] = present.digest if present is not None else ""
            return found

        return await home.run(read) if paths else {}

    async def _tell(self, agent: AgentId, key: str, said: str) -> None:
        route = await self._around.owner_chat(agent)
        if route is not None and (notice := await self._around.store.notify(key, Outgoing(route, said))):
            self._wake([notice])

    def _message(self, agent: AgentId, slot: str, prompt: str, route: Address) -> InboundMessage:
        now = self._around.clock.now()
        address = heartbeat_address(agent)
        return InboundMessage(address, slot, NOBODY, ChatKind.DIRECT, prompt, True, now, answers_to=route)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _key(agent: AgentId) -> str:
    return f"heartbeat:{agent}"


def _session(agent: AgentId) -> SessionKey:
    return SessionKey(agent, SessionType.HEARTBEAT)
