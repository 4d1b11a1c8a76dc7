"""Quarantined rows in Redis."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from msgspec import Struct

from gateway.runtime.clock import Clock
from gateway.stores.codec import MESSAGES, OUTGOING
from gateway.stores.jobs import JobId
from gateway.stores.quarantine import KINDS, QuarantinedRow, QuarantineKind, Retried
from gateway.stores.redis.aside import set_aside
from gateway.stores.redis.link import RedisLink
from gateway.stores.redis.outbox import queued_row
from gateway.stores.rows import InboxId, InboxRow, OutboxRow, TurnId
from gateway.stores.unreadable import Unreadable, moment_of

_CONTENT: Mapping[QuarantineKind, str] = MappingProxyType(
    {QuarantineKind.MESSAGE: "message", QuarantineKind.REPLY: "outgoing", QuarantineKind.JOB: "errand"}
)
"""Field of an entry that holds the stored content."""


class RedisQuarantine(Struct, frozen=True):
    """Implements `Quarantine` for all gateways that share the server."""

    link: RedisLink
    clock: Clock

    async def all(self) -> Sequence[QuarantinedRow]:
        return [row for row, _ in await self._entries()]

    async def add(self, reason: str, row: int, why: str) -> bool:
        operation = "set_message_aside" if KINDS[reason] is QuarantineKind.MESSAGE else "set_reply_aside"
        return await set_aside(self.link, operation, "", Unreadable(reason, str(row), why), self.clock.now())

    async def retry(self, id: str) -> Retried | None:  # noqa: A002  # the field's name
        found = [(row, fields) for row, fields in await self._entries() if row.id == id]
        if not found:
            return None
        row, fields = found[0]
        row.check()
        outcome = await self.link.run(f"retry_{row.kind}", id)
        if not outcome:
            return None
        match row.kind:
            case QuarantineKind.MESSAGE:
                received = moment_of(fields["received_at"])
                return InboxRow(InboxId(int(outcome[0])), MESSAGES.decode(row.content), received)
            case QuarantineKind.REPLY:
                return _reply(outcome, row.content)
            case QuarantineKind.JOB:
                return JobId(int(outcome[0]))

    async def drop(self, id: str) -> bool:  # noqa: A002  # the field's name
        return bool(await self.link.run("drop_quarantined", id))

    async def _entries(self) -> list[tuple[QuarantinedRow, Mapping[str, str]]]:
        stored = [(id_, _fields(each)) for id_, each in await self.link.run("quarantine")]
        return [(_row(id_, fields), fields) for id_, fields in stored]


def _reply(outcome: Sequence[str], content: str) -> OutboxRow:
    id_, turn_id, created_at, parts_sent, attempts = outcome
    row = queued_row(id_, TurnId(turn_id), content, moment_of(created_at))
    return replace(row, outgoing=OUTGOING.decode(content), parts_sent=int(parts_sent), attempts=int(attempts))


def _fields(stored: Sequence[str]) -> Mapping[str, str]:
    return dict(zip(stored[::2], stored[1::2], strict=True))


def _row(id_: str, fields: Mapping[str, str]) -> QuarantinedRow:
    reason = fields["reason"]
    content = fields.get(_CONTENT[KINDS[reason]], "")
    row = fields["row"].removesuffix("-0")
    return QuarantinedRow(id_, reason, row, fields["why"], datetime.fromisoformat(fields["at"]), content)
