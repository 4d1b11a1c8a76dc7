"""The store of a gateway that shares its state with others, in Redis or Valkey."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Any

import structlog
from msgspec import Struct, structs
from redis.exceptions import RedisError

from adapters.channel import InboundMessage
from gateway.errors import StoreError
from gateway.runtime.bounded_dict import BoundedDict
from gateway.runtime.clock import Clock, SystemClock, pause
from gateway.stores.admission import UNREADABLE_MESSAGE, Overheard, Pairings, Silences
from gateway.stores.codec import MESSAGES, address_key, encode_time, message_key
from gateway.stores.jobs import Jobs, RunState
from gateway.stores.losses import StateLoss, keep_loss
from gateway.stores.ports import Changes, Inbox, Outbox
from gateway.stores.quarantine import Quarantine
from gateway.stores.redis.admission import RedisOverheard, RedisPairings, RedisSilences
from gateway.stores.redis.aside import set_aside
from gateway.stores.redis.changes import RedisChanges
from gateway.stores.redis.jobs import RedisJobs
from gateway.stores.redis.leases import RedisLeases
from gateway.stores.redis.link import RedisLink
from gateway.stores.redis.outbox import RedisOutbox, outbox_arguments, queued_row, score, unsure_send
from gateway.stores.redis.purge import purge
from gateway.stores.redis.quarantine import RedisQuarantine
from gateway.stores.redis.server import end_if_cancelled
from gateway.stores.redis.spending import RedisSpending
from gateway.stores.redis.spool import Spool, SpooledMessage, mark_of
from gateway.stores.retention import Retention
from gateway.stores.rows import (
    FIRST,
    MESSAGE_RESTORED,
    NOTICE_PREFIX,
    STATE_LOST,
    InboxId,
    InboxRow,
    OutboxId,
    OutboxRow,
    Outgoing,
    StoreOutage,
    StoreReport,
    TurnCommit,
    TurnId,
)
from gateway.stores.spending import Spending
from gateway.stores.unreadable import Unreadable, legible, moment_of, silences_of
from workspaces.backoff import Backoff
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.redact import Redaction

log = structlog.get_logger()

PRUNED_AT_ONCE = 1_000
"""Rows of a kind that one script removes; others wait for a millisecond or two meanwhile."""

READ_AT_ONCE = 32
"""Messages of one agent in one reply of Redis: an API client's message contains its images, a megabyte and more."""
REREADING = Backoff(0.2, 1.0)
TRIM_EVERY_S = 5.0
"""Seconds between questions which messages of the spool another gateway has answered; our choice."""
TRIMMED_AT_ONCE = 500
_LOST = (
    "The Redis server that keeps my state has lost messages that it confirmed: it was emptied, has an older copy of "
    "its data, or is another server. I restored the messages that I had accepted and not answered; none of them is "
    "lost. Jobs, approvals and guests are as Redis has them now: check `strandline cron list`, `strandline approvals "
    "list` and `strandline pair list`. To avoid such a loss, set `appendonly yes` on the server and disable FLUSHALL."
)
KNOWN = 10_000
"""Recent messages remembered to avoid passing them on again when the connection breaks and the queues are read anew."""

Entry = tuple[str, str, Sequence[str]]
"""An unanswered message as Redis keeps it: its agent, its id in the stream, names and values in turn."""

AgentOf = Callable[[InboundMessage], str]
"""Returns the agent for a message."""


class _Breaks:
    """Interruptions in a row of one reading: the first is logged, and their number when it goes on."""

    def __init__(self) -> None:
        self._number = 0

    def next(self, detail: str) -> float:
        """Return the seconds until the next attempt, after the fault *detail*."""
        if not self._number:
            log.warning("arrivals interrupted", detail=detail)
        self._number += 1
        return REREADING.delay_s(self._number - 1)

    def over(self) -> None:
        if self._number:
            log.info("arrivals are read again", attempts=self._number)
        self._number = 0


class RedisInbox(Struct, frozen=True):
    """Implements `Inbox`, and `Arrivals` for *agents*."""

    link: RedisLink
    leases: RedisLeases
    clock: Clock
    dedupe: timedelta
    agents: Sequence[str]
    agent_of: AgentOf
    spool: Spool | None = None
    """Keeps messages until they are answered, in case the server loses them."""

    async def append(self, message: InboundMessage) -> InboxRow | None:
        now, encoded = self.clock.now(), MESSAGES.encode(message)
        names = self.agent_of(message), address_key(message.address), message_key(message.address, message.id)
        times = score(now), score(now + self.dedupe)
        stored = await self.link.run("append", *names, *times, encoded, encode_time(now), *mark_of(self.spool))
        if not stored:
            return None
        row = InboxRow(InboxId(int(stored[0])), MESSAGES.decode(encoded), now)
        if self.spool is not None:
            await self.spool.keep(row.id, SpooledMessage(encoded, encode_time(now)))
        return row

    async def restore(self, spool: Spool) -> int | None:
        """Put back messages of *spool* that the server has lost.

        Returns how many, or `None` if it has lost nothing. Raises StoreError.
        """
        (has_lost,) = await self.link.run("has_lost", *spool.mark)
        if not has_lost:
            return None
        now, count = self.clock.now(), 0
        for id_, spooled in spool.kept():
            message = MESSAGES.decode(spooled.message)
            names = self.agent_of(message), address_key(message.address), message_key(message.address, message.id)
            times = score(now), score(now + self.dedupe)
            put = await self.link.run("restore", *names, *times, spooled.message, spooled.received_at, id_)
            count += len(put)
            if put and (fresh := InboxId(int(put[0]))) != id_:
                await spool.keep(fresh, spooled)
                spool.forget([id_])
        return count

    async def waiting(self, after: InboxId = FIRST, limit: int | None = None) -> Sequence[InboxRow]:
        while True:
            entries: list[Entry] = await self.link.run_over("waiting", self.agents, after, limit or 0)
            rows, bad = legible(entries, _inbox_row)
            if not bad:
                return sorted(rows, key=lambda row: row.id)[:limit]
            for entry, why in bad:  # and read again, so that a page is as full as possible
                await self._set_aside(entry, why)

    async def drop(self, row: InboxId, reason: str) -> None:
        await self.link.run("drop", row, reason)
        if self.spool is not None:
            self.spool.forget([row])

    async def arrivals(self) -> AsyncGenerator[InboxRow, None]:
        known: BoundedDict[InboxId, None] = BoundedDict(KNOWN)
        breaks = _Breaks()
        while self.agents:  # a gateway on standby has no queue to read
            try:
                async with aclosing(self._read(breaks.over)) as rows:
                    async for row in rows:
                        if row.id in known:
                            continue
                        known[row.id] = None
                        if (agent := self.agent_of(row.message)) in self.agents:
                            yield row
                        else:
                            await self._move(row, agent)
            except (RedisError, OSError, StoreError) as exc:
                end_if_cancelled()
                if not isinstance(exc, StoreError):
                    self.leases.server.heed(exc)
                await pause(self.clock, breaks.next(str(exc)))

    async def _move(self, row: InboxRow, agent: str) -> None:
        moved = await self.link.run("move", row.id, agent)
        if moved and self.spool is not None and (spooled := self.spool.find(row.id)):
            await self.spool.keep(InboxId(int(moved[0])), spooled)
            self.spool.forget([row.id])

    async def _set_aside(self, entry: Entry, why: str) -> None:
        agent, id_, fields = entry
        row, now = Unreadable(UNREADABLE_MESSAGE, id_, why), self.clock.now()
        if await set_aside(self.link, "set_message_aside", agent, row, now):
            for silence in silences_of(fields, now):
                await RedisSilences(self.link).record(silence)

    async def _read(self, works: Callable[[], None]) -> AsyncGenerator[InboxRow, None]:
        """Yield every row of our queues from the first on, over one connection; *works* is called after each reply."""
        client = await self.leases.server.connect()
        agents = {f"{self.leases.member.prefix}:inbox:{agent}": agent for agent in self.agents}
        last: dict[Any, Any] = dict.fromkeys(agents, "0")
        wait_ms = round(self.leases.server.timeout_s * 500)
        try:
            while True:
                end_if_cancelled()
                arrived: Any = await client.xread(last, count=READ_AT_ONCE, block=wait_ms)
                for queue, entries in arrived:
                    for id_, fields in entries:
                        last[queue] = id_
                        stored = agents[queue], id_, [each for pair in fields.items() for each in pair]
                        rows, bad = legible([stored], _inbox_row)
                        for row in rows:
                            yield row
                        for entry, why in bad:
                            await self._set_aside(entry, why)
                works()
        finally:
            await client.aclose()


class RedisStore:
    """Implements `Store` for the *agents* that *leases* holds; others' messages are only passed on to them.

    `report` covers all gateways that share the server.
    """

    def __init__(
        self,
        leases: RedisLeases,
        agents: Sequence[str],
        agent_of: AgentOf,
        *,
        clock: Clock | None = None,
        retention: Retention | None = None,
        checkpoint: Checkpoint = unchecked,
    ) -> None:
        self._clock, self._retention = clock or SystemClock(), retention or Retention()
        self._agents = agents
        self._leases = leases
        self._spool: Spool | None = None
        self._link = link = RedisLink(leases.server, leases.member, "store", owns_up=True, checkpoint=checkpoint)
        self._inbox = RedisInbox(link, leases, self._clock, self._retention.dedupe, agents, agent_of)
        self.inbox: Inbox = self._inbox
        self._outbox = RedisOutbox(link, leases, self._clock, agents, self._retention.unsure)
        self.outbox: Outbox = self._outbox
        self.changes: Changes = RedisChanges(link, self._clock, agents)
        self.jobs: Jobs = RedisJobs(link, self._clock, self._retention.dedupe, agents)
        self.pairings: Pairings = RedisPairings(link, self._clock, agents)
        self.overheard: Overheard = RedisOverheard(link, self._clock, self._retention.heard)
        self.silences: Silences = RedisSilences(link)
        self.spending: Spending = RedisSpending(link, self._retention.spending)
        self.quarantine: Quarantine = RedisQuarantine(link, self._clock)

    async def use(self, spool: Spool) -> None:
        """Put back what the server has lost of *spool*, and keep each message in it until it is answered.

        A loss is kept for the owner. The store closes the spool. Raises StoreError.
        """
        self._spool = spool
        if (restored := await self._inbox.restore(spool)) is not None:
            log.error("redis has lost messages that it confirmed", restored=restored)
            await keep_loss(self, StateLoss(self._clock.now(), _LOST))
            await self.count(STATE_LOST)
            if restored:
                await self.count(MESSAGE_RESTORED, restored)
            await self._link.run("accepted", *spool.mark)
        self._leases.prove(spool)
        self.inbox = self._inbox = structs.replace(self._inbox, spool=spool)
        self.outbox = self._outbox = structs.replace(self._outbox, spool=spool)

    async def trim_spool(self) -> None:
        """Implement `SpooledStore`."""
        while self._spool is not None:
            await pause(self._clock, TRIM_EVERY_S)
            try:
                await self._forget_answered(self._spool)
                await self._spool.trim()
            except StoreError as exc:
                log.info("spool not trimmed", detail=str(exc))

    async def _forget_answered(self, spool: Spool) -> None:
        ids = [id_ for id_, _ in spool.kept()]
        for first in range(0, len(ids), TRIMMED_AT_ONCE):
            asked = ids[first : first + TRIMMED_AT_ONCE]
            waiting = set(map(int, await self._link.run("unanswered", *spool.mark, *asked)))
            spool.forget(id_ for id_ in asked if id_ not in waiting)

    async def commit_turn(self, commit: TurnCommit) -> Sequence[OutboxRow]:
        now, along = self._clock.now(), [outbox_arguments(each) for each in commit.outgoing]
        state = RunState.FAILED if commit.has_failed else RunState.ANSWERED if along else RunState.SILENT
        head = commit.turn_id, score(now), encode_time(now), self._agents[0], state.value, len(commit.answers)
        ids = await self._link.run("commit", *head, *commit.answers, *(each for pair in along for each in pair))
        if self._spool is not None and (ids or not along):
            self._spool.answered(commit.answers, [OutboxId(int(id_)) for id_ in ids])
        return [queued_row(id_, commit.turn_id, told, now) for id_, (_, told) in zip(ids, along, strict=bool(ids))]

    async def notify(self, key: str, outgoing: Outgoing) -> OutboxRow | None:
        if not self._agents:  # a gateway on standby sends nothing: the key stays free for its next run, or another one
            return None
        now, turn, (chat, told) = self._clock.now(), TurnId(NOTICE_PREFIX + key), outbox_arguments(outgoing)
        times = score(now), encode_time(now)
        ids = await self._link.run("notify", key, *times, self._agents[0], turn, chat, told)
        return queued_row(ids[0], turn, told, now) if ids else None

    async def count(self, reason: str, amount: int = 1) -> None:
        await self._link.run("count", reason, amount)

    async def get(self, key: str) -> str | None:
        found: str | None = await self._link.run("get", key)
        return found

    async def put(self, key: str, value: str) -> None:
        await self._link.run("put", key, value)

    async def report(self) -> StoreReport:
        found = await self._link.run("report", score(self._clock.now()))
        waiting, queued_, dead, undecided, unsure, ledger, quarantined = found
        counters = dict(sorted(zip(ledger[::2], map(int, ledger[1::2]), strict=True)))
        return StoreReport(waiting, queued_, dead, list(map(unsure_send, unsure)), counters, undecided, quarantined)

    def outage(self) -> StoreOutage | None:
        """Implement `Distant`: the lease is renewed all the time, so it may know more of an outage."""
        found = [each for each in (self._link.outage(), self._leases.outage()) if each is not None]
        return max(found, key=lambda outage: outage.seconds, default=None)

    async def prune(self, now: datetime) -> int:
        kept = self._retention
        ages = (kept.sent, kept.dead, kept.decided, kept.keys, kept.silences)
        limits = [score(now), *(score(now - age) for age in ages)]
        total = 0
        while removed := int((await self._link.run("prune", *limits, PRUNED_AT_ONCE))[0]):
            total += removed
        return total

    async def purge(self, redaction: Redaction) -> int:
        if self._spool is not None:
            await self._spool.rewrite()
        return await purge(self._link, redaction)

    async def close(self) -> None:
        await self._link.close()
        if self._spool is not None:
            await self._spool.close()


def _inbox_row(entry: Entry) -> InboxRow:
    _, id_, stored = entry
    fields = dict(zip(stored[::2], stored[1::2], strict=True))
    number, _, rest = id_.partition("-")
    if rest != "0":
        raise ValueError("it is none that a gateway wrote")  # and no answer would remove it
    return InboxRow(InboxId(int(number)), MESSAGES.decode(fields["message"]), moment_of(fields["received_at"]))
