"""Replies in Redis, from their commitment to the platform's receipt."""

import json
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from adapters.channel import Address
from gateway.runtime.clock import Clock
from gateway.stores.codec import OUTGOING, address_key, encode_time, reply_row
from gateway.stores.ports import LeaseLostError, RowStateError
from gateway.stores.redis.aside import set_aside
from gateway.stores.redis.leases import RedisLeases
from gateway.stores.redis.link import Argument, RedisLink
from gateway.stores.redis.spool import Spool
from gateway.stores.rows import OutboxId, OutboxRow, OutboxState, Outgoing, TurnId, UnsureSend
from gateway.stores.unreadable import UNREADABLE_REPLY, Unreadable, legible

MICROSECOND = 1_000_000
Fields = tuple[str, str, str, str, str, str, str, str, str | None, str | None]
"""A reply as `unfinished` of store.lua returns it: its agent, its id, then its fields."""


def score(moment: datetime) -> int:
    """Return *moment* as a sortable number, in microseconds since 1970."""
    return round(moment.timestamp() * MICROSECOND)


_ENDS_OF_A_SEND = ("part_sent", "record_unsure")
"""Operations whose first argument is the part that was being sent."""


class RedisOutbox(Struct, frozen=True):
    """Implements `Outbox` for the replies of *agents*."""

    link: RedisLink
    leases: RedisLeases
    clock: Clock
    agents: Sequence[str]
    unsure_kept: int
    spool: Spool | None = None
    """Told of each reply that needs no further sending, where there is one."""

    async def unfinished(self) -> Sequence[OutboxRow]:
        rows: list[Fields] = await self.link.run_over("unfinished", self.agents)
        good, bad = legible(rows, lambda row: reply_row(row[1:]))  # the agent comes first
        for (agent, id_, *_), why in bad:
            row = Unreadable(UNREADABLE_REPLY, id_, why)
            await set_aside(self.link, "set_reply_aside", agent, row, self.clock.now())
        return sorted(good, key=lambda row: row.id)

    async def begin_part(self, row: OutboxId, part: int, at: datetime) -> None:
        await self._change("begin_part", row, part, encode_time(at))

    async def part_sent(self, row: OutboxId, part: int, message_id: str, *, is_last: bool) -> None:
        state = OutboxState.SENT if is_last else OutboxState.QUEUED
        await self._change("part_sent", row, part, state.value, message_id, self._now())
        if is_last:
            self._note_delivered(row)

    async def put_back(self, row: OutboxId, not_before: datetime, why: str) -> None:
        await self._change("put_back", row, encode_time(not_before), why)

    async def record_unsure(self, row: OutboxId, part: int, why: str) -> None:
        await self._change("record_unsure", row, part, why, encode_time(self.clock.now()), self.unsure_kept)

    async def finish(self, row: OutboxId) -> None:
        await self._change("finish", row, self._now())
        self._note_delivered(row)

    async def bury(self, row: OutboxId, why: str) -> None:
        await self._change("bury", row, why, self._now())
        self._note_delivered(row)

    async def _change(self, operation: str, row: OutboxId, *arguments: Argument) -> None:
        """Change a reply. Raises StoreError.

        We alone change it while we hold its agent, so a server that has it in another state, or no more, has lost a
        change that it confirmed. With a spool it is told again that the send had begun, or the gateway begins anew, by
        LeaseLostError.
        """
        try:
            try:
                await self.link.run(operation, row, *arguments)
            except RowStateError:
                if self.spool is None or operation not in _ENDS_OF_A_SEND:
                    raise
                await self.link.run("begin_part", row, arguments[0], encode_time(self.clock.now()))
                await self.link.run(operation, row, *arguments)
        except RowStateError as exc:
            if self.spool is None:
                raise
            self.leases.lose()
            raise LeaseLostError(f"the server has lost a change of reply {row} that it confirmed: {exc}") from exc

    def _note_delivered(self, row: OutboxId) -> None:
        if self.spool is not None:
            self.spool.delivered(row)

    def _now(self) -> int:
        return score(self.clock.now())


def outbox_arguments(outgoing: Outgoing) -> tuple[Argument, Argument]:
    """Return *outgoing* as the arguments of store.lua: its queue, and its content."""
    return address_key(outgoing.address), OUTGOING.encode(outgoing)


def queued_row(id_: str, turn_id: TurnId, encoded: Argument, now: datetime) -> OutboxRow:
    """Return a reply that was just stored, as a later read would."""
    outgoing = OUTGOING.decode(str(encoded))
    return OutboxRow(OutboxId(int(id_)), turn_id, outgoing, now, OutboxState.QUEUED, 0, 0, None, None)


def unsure_send(entry: str) -> UnsureSend:
    """Read an entry of the list of unsure sends."""
    row, address, part, at, why = json.loads(entry)
    return UnsureSend(OutboxId(int(row)), Address(*json.loads(address)), int(part), datetime.fromisoformat(at), why)
