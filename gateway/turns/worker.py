"""Worker of a session's lane: answers a message, or carries out a due pause or end."""

import asyncio
from contextlib import suppress

from msgspec import Struct

from gateway.admission.routing import SessionKey, route
from gateway.errors import StoreError
from gateway.inbound.edits import as_edited, void_reason
from gateway.inbound.queue_modes import Item
from gateway.runtime.lanes import RetryLater
from gateway.runtime.work_journal import WorkJournal
from gateway.sessions.due import DueSession
from gateway.sessions.lifecycle import Lifecycle
from gateway.stores.rows import InboxRow
from gateway.transcripts.records import Records
from gateway.turns.turn import Turns


class LaneWork(Struct, frozen=True):
    """Handles one item at a time; called by a lane."""

    turns: Turns
    lifecycle: Lifecycle
    journal: WorkJournal | None = None

    async def __call__(self, item: Item) -> RetryLater | None:
        """Handle *item*; the result asks to be called again when that is not possible now."""
        if isinstance(item, DueSession):
            await self.lifecycle.settle(item)
            return None
        work = self._answer(item)
        return await (self.journal.followed(f"message {item.id}", work) if self.journal else work)

    async def _answer(self, item: InboxRow) -> RetryLater | None:
        envelope = route(item.message, self.turns.routes)
        key = envelope.key
        if self.turns.queueing.queues.has_passed(key):
            retry = await self.turns.answer(item, envelope, is_passing=True)
            return retry and RetryLater(retry.delay_s)
        if pause_s := self.turns.queueing.pause_s(key, item):
            return RetryLater(pause_s, next_wakes=False)
        with suppress(StoreError):  # the turn fails the same way, and reports it
            records = (await self.turns.sessions.open(key)).records
            if await self._needs_no_turn(key, item, records):
                return None
            if not records.knows(item.turn_id):  # once its turn has begun, the message stays as it was then
                item = as_edited(item, self.turns.queueing.queues.behind(key))
        await self.lifecycle.enter(key, item.turn_id)
        return await self.turns.answer(item, envelope)

    async def _needs_no_turn(self, key: SessionKey, row: InboxRow, records: Records) -> bool:
        """Return whether *row* was answered by an earlier turn, or stopped before its own, and finish it then."""
        if records.has_joined(row.id):
            return True
        is_begun = records.knows(row.turn_id)
        behind = self.turns.queueing.queues.behind(key)
        if not is_begun and (void := void_reason(row.message, records, behind, self.turns.planner.clock())):
            await self.turns.store.inbox.drop(row.id, void.value)
            self.turns.outcome(row, [])
            return True
        if is_begun or not self.turns.queueing.is_stopped(key, row):
            return False
        rows = self.turns.queueing.clear(key, row)
        await asyncio.gather(*(self.turns.store.inbox.drop(each.id, "stopped") for each in rows))
        for each in rows:
            self.turns.outcome(each, [])
        return True
