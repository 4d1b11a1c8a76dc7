"""Memory flush at a conversation's pause or end, after the daily notes are written."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, tzinfo
from pathlib import PurePosixPath

from msgspec import structs

from gateway.agent.entries import COMMAND, ReplyEntry, UserEntry
from gateway.agent.models.port import ModelRequest
from gateway.agent.turn_note import without_last_turn
from gateway.errors import HookError
from gateway.sessions.daily_log import LOG
from gateway.sessions.due import Ending, Pause
from gateway.sessions.flush import Flush, unflushed_records
from gateway.sessions.session import Session
from gateway.transcripts.codec import Record, command_turns

Draft = Callable[[Session], Awaitable[ModelRequest]]
"""Returns the request that a turn of a session would send, without a message."""

_OCCASIONS = frozenset({*Ending, Pause.REST, Pause.SHUTDOWN})
"""Not at a change of the day or of the agent, where a message waits for an answer; a compaction flushes by itself."""


class RestFlush:
    """A listener of the life cycle. It follows the daily notes, so that nothing depends on a model."""

    def __init__(self, flush: Flush, draft: Draft, zone: tzinfo) -> None:
        """*zone* is the owner's: the notes are those of the day of the last message."""
        self._flush = flush
        self._draft = draft
        self._zone = zone

    async def __call__(self, session: Session, why: Ending | Pause) -> list[PurePosixPath]:
        """Have notes saved of the conversation since the last flush; return the files that have them.

        The request begins with all of the last turn's, so that a provider's cache of it is used. Raises StoreError;
        called again, it saves nothing twice that has its receipt.
        """
        if why not in _OCCASIONS or not self._flush.may_ask(session):
            return []
        records = unflushed_records(session.transcript.records)
        said_at = _last_said(records)
        if said_at is None:
            return []
        try:
            request = await self._draft(session)
        except HookError:  # logged and counted at its source: no model is asked
            return []
        receipt = await self._flush(session, _without_running_command(request), said_at.astimezone(self._zone))
        if receipt is None:
            return []
        await session.transcript.append(LOG, receipt)
        paths = (PurePosixPath(citation.rpartition("#")[0]) for citation in receipt.citations)
        return list(dict.fromkeys(paths))


def _without_running_command(request: ModelRequest) -> ModelRequest:
    """Return *request* without the command that ends the conversation: it is still being carried out."""
    before = without_last_turn(request.entries)
    last = request.entries[len(before) :]
    is_command = any(isinstance(entry, ReplyEntry) and entry.model == COMMAND for entry in last)
    return structs.replace(request, entries=before) if is_command else request


def _last_said(records: Sequence[Record]) -> datetime | None:
    """Return the time of the last message other than a command: the subject of the notes."""
    orders = command_turns(records)
    said = (record for record in reversed(records) if isinstance(record.entry, UserEntry))
    return next((record.at for record in said if record.turn_id not in orders), None)
