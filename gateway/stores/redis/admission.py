"""State of admission in Redis."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from adapters.channel import Address, OverheardMessage
from gateway.runtime.clock import Clock
from gateway.stores.admission import SILENCES_KEPT, Context, Guest, PairingRequest, Silence, Visitor
from gateway.stores.codec import OVERHEARD, address_key, encode_time
from gateway.stores.redis.link import RedisLink
from gateway.stores.redis.outbox import outbox_arguments, queued_row, score
from gateway.stores.rows import NOTICE_PREFIX, OutboxRow, Outgoing, TurnId
from gateway.stores.unreadable import UNREADABLE_HEARD, Unreadable, legible, text_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RedisPairings(Struct, frozen=True):
    """Implements `Pairings`."""

    link: RedisLink
    clock: Clock
    agents: Sequence[str]

    async def ask(self, request: PairingRequest, most: int, reply: Outgoing, older: datetime) -> OutboxRow | None:
        now, visitor = self.clock.now(), request.visitor
        turn, (chat, told) = TurnId(f"{NOTICE_PREFIX}pair:{request.code}"), outbox_arguments(reply)
        who = _key(visitor.channel, visitor.account, visitor.id), f"{visitor.channel}.{visitor.account}"
        kept = request.code, score(request.expires_at), encode_time(request.asked_at), _encode_visitor(visitor)
        along = encode_time(now), self.agents[0], turn, chat, told
        ids = await self.link.run("pair_ask", score(now), *who, *kept, most, encode_time(older), *along)
        return queued_row(ids[0], turn, told, now) if ids else None

    async def waiting(self) -> Sequence[PairingRequest]:
        rows: list[tuple[str, str, str, str]] = await self.link.run("pair_waiting", score(self.clock.now()))
        found = [
            PairingRequest(_visitor(told), code, datetime.fromisoformat(asked_at), _moment(ends))
            for code, ends, asked_at, told in rows
        ]
        return sorted(found, key=lambda request: (request.asked_at, request.visitor.id, request.visitor.account))

    async def approve(self, code: str) -> Guest | None:
        now = self.clock.now()
        found: list[str] = await self.link.run("pair_approve", score(now), code, encode_time(now))
        return Guest(_visitor(found[0]), now) if found else None

    async def let_in(self, visitor: Visitor) -> None:
        name = _key(visitor.channel, visitor.account, visitor.id)
        await self.link.run("pair_let_in", name, encode_time(self.clock.now()), _encode_visitor(visitor))

    async def refuse(self, code: str, until: datetime) -> Visitor | None:
        found: list[str] = await self.link.run("pair_refuse", score(self.clock.now()), code, score(until))
        return _visitor(found[0]) if found else None

    async def revoke(self, channel: str, id: str) -> Sequence[Guest]:  # noqa: A002  # reads as the field
        meant = [g for g in await self.guests() if (g.visitor.channel, g.visitor.id) == (channel, id)]
        await self.link.run("pair_revoke", *(_key(channel, guest.visitor.account, id) for guest in meant))
        return meant

    async def guests(self) -> Sequence[Guest]:
        rows: list[str] = await self.link.run("guests")
        parts = [row.partition("|") for row in rows]
        found = [Guest(_visitor(told), datetime.fromisoformat(since)) for since, _, told in parts]
        return sorted(found, key=lambda guest: (guest.since, guest.visitor.id, guest.visitor.account))

    async def is_guest(self, channel: str, account: str, id: str) -> bool:  # noqa: A002
        return bool(await self.link.run("is_guest", _key(channel, account, id)))


class RedisOverheard(Struct, frozen=True):
    """Implements `Overheard`."""

    link: RedisLink
    clock: Clock
    age: timedelta

    async def keep(self, address: Address, message_id: str, heard: OverheardMessage, most: int) -> None:
        life_s = round(self.age.total_seconds())
        await self.link.run("overhear", address_key(address), message_id, OVERHEARD.encode(heard), most, life_s)

    async def of(self, address: Address) -> Context:
        rows: list[tuple[str, str]] = await self.link.run("overheard", address_key(address))
        found, bad = legible(rows, lambda row: (int(row[0]), OVERHEARD.decode(text_of(row[1]))))
        for (mark, *_), why in bad:
            if await self.link.run("let_heard_go", address_key(address), mark, UNREADABLE_HEARD):
                Unreadable(UNREADABLE_HEARD, mark, why).tell()
        since = self.clock.now() - self.age
        kept = [(mark, heard) for mark, heard in found if heard.sent_at > since]
        return Context(tuple(heard for _, heard in kept), kept[-1][0] if kept else 0)

    async def forget(self, address: Address, last: int) -> None:
        await self.link.run("forget_heard", address_key(address), last)

    async def drop(self, address: Address, message_id: str) -> None:
        await self.link.run("drop_heard", address_key(address), message_id)


class RedisSilences(Struct, frozen=True):
    """Implements `Silences`."""

    link: RedisLink

    async def record(self, silence: Silence) -> None:
        line = json.dumps([address_key(silence.address), silence.person, silence.reason])
        await self.link.run("silence", line, score(silence.at), silence.times, SILENCES_KEPT)

    async def latest(self) -> Sequence[Silence]:
        rows: list[tuple[str, str, str]] = await self.link.run("silences")
        return [_silence(*row) for row in rows]


def _silence(line: str, at: str, times: str) -> Silence:
    place, person, reason = json.loads(line)
    return Silence(_moment(at), Address(*json.loads(place)), person, reason, int(times))


def _key(channel: str, account: str, person: str) -> str:
    return json.dumps([channel, account, person])


def _encode_visitor(visitor: Visitor) -> str:
    return json.dumps([visitor.channel, visitor.account, visitor.id, visitor.name])


def _visitor(told: str) -> Visitor:
    return Visitor(*json.loads(told))


def _moment(microseconds: str) -> datetime:
    return _EPOCH + timedelta(microseconds=int(microseconds))
