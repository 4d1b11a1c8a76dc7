"""Life cycle of sessions: ends them, and has conversations written to the notes at every pause and every end.

Everything here happens in the session's own lane: before a message is answered, or between two messages.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import PurePosixPath
from typing import Never

import structlog
from msgspec import Struct, field, structs

from gateway.admission.routing import SessionKey, is_unasked
from gateway.agent.agent import Agent
from gateway.agent.entries import EndEntry, UserEntry
from gateway.errors import StoreError
from gateway.hooks import SESSION_END, SESSION_PAUSE, Hooks
from gateway.runtime.clock import Clock, pause
from gateway.sessions.daily_log import LOG, DailyLog
from gateway.sessions.due import DueSession, Ending, Pause
from gateway.sessions.hook_events import note_rest, note_start
from gateway.sessions.session import Session
from gateway.sessions.session_note import SessionNote
from gateway.sessions.settings import SessionSettings
from gateway.stores.rows import TurnId
from gateway.transcripts.expiry import FORGOTTEN, forget_subagents
from gateway.transcripts.records import Records
from gateway.transcripts.store import Sessions
from workspaces.access import AgentId, SessionType
from workspaces.errors import WorkspaceError

log = structlog.get_logger()

LOOK_EVERY_S = 60.0
LOOK_BACK = timedelta(days=2)
"""How far back a start looks for conversations missing from the notes after a crash; older ones wait for a message."""
UNLOGGED = "session_not_logged"
"""Counted when a conversation could not be written to the notes; it is tried again."""


Listener = Callable[[Session, Ending | Pause], Awaitable[Sequence[PurePosixPath]]]
"""Acts on a pause or an end, and returns the files that it wrote.

It may be called again for the same one. StoreError and WorkspaceError keep the session from ending, so that nothing is
lost silently.
"""


class SessionObservers(Struct, frozen=True):
    """Who learns of pauses and ends, after the daily notes."""

    listeners: Sequence[Listener] = ()
    """Called in order."""
    hooks: Hooks = field(default_factory=Hooks)


@dataclass(frozen=True, slots=True)
class LifecycleSettings(SessionSettings):
    """When sessions pause and end, and the parts that are kept of them."""

    zone: tzinfo = UTC
    """The owner's time zone."""
    keep_days: int = 90
    """Days that subagents' transcripts are kept; 0: for ever."""
    day_summaries: bool = True
    """Whether a model summarises long conversations for the day's notes."""


class _Activity(Struct, frozen=True):
    """The known state, without its transcript, of a session with messages."""

    last: datetime
    due: Ending | Pause | None = None
    """The item passed to its lane since then."""


class Lifecycle:
    """Manages the life cycle of sessions.

    Sessions end by `end_session` alone, and are paused by `pause_session` alone.
    """

    def __init__(
        self,
        agents: Mapping[AgentId, Agent],
        sessions: Sessions,
        settings: LifecycleSettings,
        clock: Clock,
        count: Callable[[str], Awaitable[None]],
        observers: SessionObservers | None = None,
    ) -> None:
        """*count* takes a reason code for the ledger."""
        observers = observers or SessionObservers()
        self._agents = agents
        self._sessions = sessions
        self._settings = settings
        self._clock = clock
        self._count = count
        self._active: dict[SessionKey, _Activity] = {}
        self._latest_main: SessionKey | None = None
        self._submit: Callable[[SessionKey, DueSession], None] | None = None
        """Passes due items to the lanes, once `watch` runs; without it a later look finds them."""
        notes: list[Listener] = [
            DailyLog(settings.zone, asks_model=settings.day_summaries),
            SessionNote(settings.zone),
        ]
        self._listeners = [*notes, *observers.listeners]
        self._hooks = observers.hooks

    # --- in the lane of the session

    async def end_session(self, key: SessionKey, why: Ending, turn: TurnId = LOG) -> list[PurePosixPath]:
        """End the session and return the files that its end wrote; in a turn of its own, *turn* is the last.

        A session ends only once. The transcript is archived when its turn is over. Raises StoreError and
        WorkspaceError; the session then continues.
        """
        session = await self._session(key)
        if _ended_at(session.transcript.records) is not None:
            return []
        written = await self._notify_hooks(session, why)
        await session.transcript.append(turn, EndEntry(why))
        self._active.pop(key, None)
        note_rest(self._hooks, SESSION_END, session, why, written)
        log.info("session ended", session=str(key), reason=why)
        return written

    async def pause_session(self, key: SessionKey, why: Pause) -> list[PurePosixPath]:
        """Write the conversation so far to the notes, and return the files. Raises StoreError and WorkspaceError."""
        session = await self._session(key)
        written = await self._notify_hooks(session, why)
        note_rest(self._hooks, SESSION_PAUSE, session, why, written)
        return written

    async def enter(self, key: SessionKey, turn: TurnId) -> None:
        """Prepare the session for a message whose *turn* begins, or resumes after a crash.

        Overdue pauses and ends happen first. A pause that fails is tried again later: the message need not wait for it.
        """
        if is_unasked(key):
            return  # an unprompted session has no people, no pauses, no days and no notes
        if key.name == SessionType.MAIN:
            self._leave_other_main(key)
        try:
            session = await self._session(key)
            if not session.transcript.records.knows(turn):
                note_start(self._hooks, await self._make_current(session))
        except Exception as exc:  # noqa: BLE001  # a defect in reading what was said delays its note, and not the message
            await self._tell_trouble(key, exc)
        self._active[key] = _Activity(self._now())

    async def settle(self, due: DueSession) -> None:
        """Carry out *due*; an end is skipped if a message has arrived since."""
        try:
            session = await self._session(due.key)
            if isinstance(due.why, Ending) or _ended_at(session.transcript.records) is not None:
                if due.key in self._active and (last := _last_said(session.transcript.records)) is not None:
                    self._active[due.key] = _Activity(last.astimezone(self._settings.zone))
                await self._make_current(session)
            else:
                await self.pause_session(due.key, due.why)
                self._drop_if_done(due)
        except Exception as exc:  # noqa: BLE001  # a defect in reading what was said delays its note, and ends no gateway
            await self._tell_trouble(due.key, exc)

    async def _make_current(self, session: Session) -> Session:
        """Archive an ended session; end or pause one for which that is due. Return the session that goes on."""
        key, records = session.key, session.transcript.records
        last = _last_said(records)
        why = self._settings.due(last.astimezone(self._settings.zone), self._now()) if last is not None else None
        if _ended_at(records) is None and isinstance(why, Ending):
            await self.end_session(key, why)
        if (ended := _ended_at(session.transcript.records)) is not None:
            await self._sessions.archive(key, ended)
            return await self._session(key)
        if why is Pause.DAY:
            await self.pause_session(key, why)
        return session

    async def _notify_hooks(self, session: Session, why: Ending | Pause) -> list[PurePosixPath]:
        return [path for listener in self._listeners for path in await listener(session, why)]

    async def _session(self, key: SessionKey) -> Session:
        return Session(key, self._agents[key.agent], await self._sessions.open(key))

    # --- beside the lanes

    async def watch(self, submit: Callable[[SessionKey, DueSession], None]) -> Never:
        """Pass due items to the lanes, by *submit*, until cancelled."""
        self._submit = submit
        known = await asyncio.to_thread(self._sessions.known, self._clock.now() - LOOK_BACK)
        for key, at in known.items():
            if not is_unasked(key):
                self._active.setdefault(key, _Activity(at.astimezone(self._settings.zone)))
        while True:
            for due in self._due():
                submit(due.key, due)
            await pause(self._clock, LOOK_EVERY_S)

    async def finish(self, grace_s: float) -> None:
        """Write the remaining text to the notes when no turn runs any more; anything left waits for the next start."""
        left = [key for key, activity in self._active.items() if activity.due is None]

        async def settle(key: SessionKey) -> None:
            await self.settle(DueSession(key, Pause.SHUTDOWN))
            left.remove(key)

        with suppress(TimeoutError):  # all at once: one that waits for its model delays no other
            async with asyncio.timeout(grace_s), asyncio.TaskGroup() as tasks:
                for key in list(left):
                    tasks.create_task(settle(key))
        if left:
            log.warning("not written down yet; the next start does it", sessions=len(left))

    async def forget_helpers(self, busy: Collection[SessionKey]) -> None:
        """Remove old subagents' transcripts, unless a note cites them or they are *busy*.

        Raises StoreError and WorkspaceError.
        """
        if not self._settings.keep_days:
            return
        before = self._clock.now() - timedelta(days=self._settings.keep_days)
        for _ in range(await forget_subagents(self._agents, self._sessions, before, busy)):
            await self._count(FORGOTTEN)

    def _due(self) -> list[DueSession]:
        """Return the due items not passed on yet; after a pause there is nothing to write, but an end may come."""
        now, found = self._now(), []
        for key, activity in self._active.items():
            why = self._settings.due(activity.last, now)
            if why is not None and why != activity.due and (isinstance(why, Ending) or activity.due is None):
                found.append(DueSession(key, why))
        for due in found:
            self._active[due.key] = structs.replace(self._active[due.key], due=due.why)
        return found

    def _drop_if_done(self, done: DueSession) -> None:
        """Forget a session with nothing more due before its next message: there may be very many."""
        activity = self._active.get(done.key)
        if activity is not None and activity.due is done.why and not self._settings.has_ends:
            del self._active[done.key]

    def _leave_other_main(self, key: SessionKey) -> None:
        left, self._latest_main = self._latest_main, key
        if left is None or left == key or left not in self._active or self._active[left].due is not None:
            return
        self._active[left] = structs.replace(self._active[left], due=Pause.SWITCH)
        if self._submit is not None:
            self._submit(left, DueSession(left, Pause.SWITCH))

    async def _tell_trouble(self, key: SessionKey, exc: Exception) -> None:
        told = "what was said is not written down yet"
        if isinstance(exc, StoreError | WorkspaceError):
            log.warning(told, session=str(key), detail=str(exc))
        else:
            log.error(told, session=str(key), exc_info=exc)
        if key in self._active:
            self._active[key] = structs.replace(self._active[key], due=None)
        with suppress(StoreError):  # the store reports its own failures
            await self._count(UNLOGGED)

    def _now(self) -> datetime:
        return self._clock.now().astimezone(self._settings.zone)


def _ended_at(records: Records) -> datetime | None:
    return ended.at if (ended := records.latest(EndEntry)) else None


def _last_said(records: Records) -> datetime | None:
    return said.at if (said := records.latest(UserEntry)) else None
