"""Compaction of a conversation: notes are saved and read back, then a summary replaces the older part.

That part stays in the transcript, word for word. Nothing is summarised before it is in the notes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import structlog
from msgspec import Struct, structs

from gateway.agent.budget import CostCause
from gateway.agent.entries import CHARACTERS_A_TOKEN, OFFLINE, Entry, FlushEntry, SummaryEntry, UserEntry
from gateway.agent.house import is_house
from gateway.agent.models.paid import paid_for
from gateway.agent.models.port import Model, ModelRequest, reader_of, unshown
from gateway.agent.turn_note import without_last_turn
from gateway.agent.window.compact import (
    extract,
    first_kept,
    instructions,
    longest_summary,
    missing,
    parts,
    standing_orders,
)
from gateway.agent.window.count import entry_tokens
from gateway.agent.window.rounds import Round
from gateway.agent.window.settings import ContextSettings
from gateway.agent.write_policy import is_from_outside
from gateway.errors import ModelError, StoreError
from gateway.hooks import Hooks
from gateway.sessions.due import Pause
from gateway.sessions.flush import Flush
from gateway.sessions.hook_events import allow_summary, note_summary
from gateway.sessions.lifecycle import Lifecycle
from gateway.sessions.session import Session
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record
from workspaces.access import may_know
from workspaces.errors import WorkspaceError

log = structlog.get_logger()

BY_WORDING = "strandline:extract"
"""`SummaryEntry.model` of a summary that no model wrote."""
FAILED = "compaction_failed"
"""Counted when notes could not be saved and therefore nothing was summarised."""
_TEMPERATURE = 0.3
_PART_SHARE = 0.5
"""Share of a model's window that the text to summarise may fill in one request."""


class CompactionResult(Struct, frozen=True):
    turns: int
    """How many turns shown before the summary replaces."""
    flushed: FlushEntry | None
    summary: SummaryEntry


class SummaryOrder(Struct, frozen=True):
    """A person's or a model's request for a summary."""

    focus: str = ""
    """The subject to keep most of; empty for no preference."""


class Crowded(Struct, frozen=True):
    """A conversation that needs more room."""

    session: Session
    turn: TurnId
    """The turn that needs it."""
    request: ModelRequest
    """The request that the turn would send, its tools included."""
    window_tokens: int
    order: SummaryOrder | None = None
    """Set if the summary was requested: then a short conversation is summarised too, except for its last quarter."""

    @property
    def focus(self) -> str:
        return self.order.focus if self.order else ""


class Compaction:
    """Summarises conversations, in the lane of the session."""

    def __init__(
        self,
        settings: ContextSettings,
        flush: Flush,
        lifecycle: Lifecycle,
        count: Callable[[str], Awaitable[None]],
        clock: Callable[[], datetime],
        hooks: Hooks | None = None,
    ) -> None:
        """*count* takes a reason code for the ledger; *clock* gives the time in the owner's time zone."""
        self.settings = settings
        self._clock = clock
        self._flush = flush
        self._lifecycle = lifecycle
        self._count = count
        self._hooks = hooks or Hooks()

    async def make_room(self, crowded: Crowded) -> CompactionResult | None:
        """Summarise all but the latest turns; `None` if there is nothing before them.

        Raises StoreError and WorkspaceError when notes could not be saved before, and HookError when a hook refuses it;
        then nothing is summarised.
        """
        session = crowded.session
        known = session.transcript.records.rounds
        summary, rounds = known.summary, list(known)
        kept = first_kept([each.entries for each in rounds], self._room(crowded, rounds))
        if kept == 0:
            return None
        await allow_summary(self._hooks, session, kept)
        try:
            flushed = await self._save(crowded)
        except (StoreError, WorkspaceError) as exc:
            log.warning("not summarised: the notes could not be saved", detail=str(exc))
            with suppress(StoreError):
                await self._count(FAILED)
            raise
        older = [entry for each in rounds[:kept] for entry in each.entries]
        entry = await self._summary(crowded, _known(summary, session), _known(older, session))
        await session.transcript.append(crowded.turn, replace(entry, kept_from=rounds[kept].turn_id))
        note_summary(self._hooks, session, kept, entry)
        log.info("summarised", session=str(session.key), turns=kept, by=entry.model)
        return CompactionResult(kept, flushed, entry)

    def _room(self, crowded: Crowded, rounds: Sequence[Round]) -> int:
        """Return how many tokens of the latest turns stay whole."""
        room = self.settings.kept(crowded.window_tokens)
        if crowded.order is None:
            return room
        return min(room, sum(entry_tokens(entry) for each in rounds for entry in each.entries) // 4)

    async def _save(self, crowded: Crowded) -> FlushEntry | None:
        """Have notes saved, unless that was done just before; the conversation goes into the daily notes anyway."""
        session, request = crowded.session, crowded.request
        flushed = await self._flush(session, structs.replace(request, entries=without_last_turn(request.entries)))
        if flushed is not None:
            await session.transcript.append(crowded.turn, flushed)
        await self._lifecycle.pause_session(session.key, Pause.COMPACTION)
        return flushed

    async def _summary(self, crowded: Crowded, previous: Sequence[Entry], older: Sequence[Entry]) -> SummaryEntry:
        last = latest_summary(crowded.session.transcript.records) if previous else None
        stays = any(map(is_house, [*previous, *older]))
        model = paid_for(crowded.session.agent.model, CostCause.FLUSH)
        orders = await asyncio.to_thread(standing_orders, older, last.orders if last else ())
        before = last.text if last else ""
        task = _Task(
            model,
            crowded.window_tokens,
            orders,
            crowded.focus,
            self._clock(),
            stays,
        )
        text = await task.summary(before, older)
        outside = any(map(is_from_outside, [*previous, *older]))
        if text is None:
            longest = longest_summary(crowded.window_tokens)
            extracted = await asyncio.to_thread(extract, older, before, longest)
            return SummaryEntry(extracted, "", orders, outside, BY_WORDING, stays)
        return SummaryEntry(text, "", orders, outside, model.name, stays)


def _known(entries: Sequence[Entry], session: Session) -> list[Entry]:
    """Return those of *entries* that the model of *session* may know; the others stay in the notes."""
    reader = reader_of(session.agent.model)
    return [entry for entry in entries if may_know(reader, is_house=is_house(entry))]


class _Task(Struct, frozen=True):
    """A model that is asked for a summary."""

    model: Model
    window_tokens: int
    orders: Sequence[str]
    focus: str
    now: datetime
    is_house: bool
    """Some of the conversation stays on the owner's machines."""

    async def summary(self, before: str, older: Sequence[Entry]) -> str | None:
        """Return a summary of the summary *before* and the entries since, made in as many parts as the window requires.

        `None` if one of them fails.
        """
        if self.model.name == OFFLINE:
            return None
        longest = max(int(self.window_tokens * _PART_SHARE) * CHARACTERS_A_TOKEN, 1)
        summary = before
        for part in parts(older, longest, self.now.tzinfo):
            known = f"Summary of what came before:\n{summary}\n\n" if summary else ""
            told = await self._complete_summary(f"{known}{part}")
            if told is None:
                return None
            summary = told
        return summary or None

    async def _complete_summary(self, said: str) -> str | None:
        """Ask, and once more if the answer lacks a part; `None` if it still does or the model fails."""
        lacks: list[str] = []
        longest = longest_summary(self.window_tokens)
        told = instructions(self.orders, self.focus, longest)
        for _ in range(2):
            again = f"\nYour last summary lacked: {', '.join(lacks)}." if lacks else ""
            message = UserEntry(said, self.now, "", "", is_house=self.is_house)
            request = ModelRequest(told + again, (message,), (), temperature=_TEMPERATURE)
            try:
                reply = await self.model.reply(request, unshown)
            except ModelError as exc:
                log.warning("no summary", why=type(exc).__name__)
                return None
            lacks = missing(reply.text, longest)
            if not lacks:
                return reply.text.strip()
        return None


def latest_summary(records: Sequence[Record]) -> SummaryEntry | None:
    """Return the summary of the older part of a conversation; `None` while all of it is shown."""
    return next((r.entry for r in reversed(records) if isinstance(r.entry, SummaryEntry)), None)
