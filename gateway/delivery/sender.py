"""Delivers replies from the outbox to adapters, in order for each address, with retries by the kind of error."""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog
from msgspec import Struct, field

from adapters.channel import (
    Adapter,
    Address,
    Body,
    ChannelConfigError,
    ChannelError,
    ChannelUnavailableError,
    OutboundMessage,
    SendRefusedError,
    Sent,
    UnsureSendError,
)
from gateway.admission.internal_channels import CHANNELS
from gateway.delivery.refused_messages import RESENT_PLAIN, plainly, refusal_notice
from gateway.delivery.rendering import Rendering
from gateway.delivery.retry_policy import RetryPolicy
from gateway.errors import StoreError
from gateway.hooks import Hooks
from gateway.observability.spans import span
from gateway.runtime.clock import pause
from gateway.runtime.lanes import Lanes, RetryLater
from gateway.sessions.hook_events import note_sent
from gateway.stores.ports import Outbox, RowStateError
from gateway.stores.rows import OutboxId, OutboxRow, OutboxState
from workspaces.secrets import redact

log = structlog.get_logger()

AccountKey = tuple[str, str]
"""Channel and account, as addresses name them."""
OnDead = Callable[[OutboxRow, str], Awaitable[None]]
"""Called with an abandoned reply and the reason; after a crash perhaps again, so it needs a key."""


class DeliveryObservers(Struct, frozen=True):
    """Callbacks with the outcomes of sends."""

    on_dead: OnDead
    on_sent: Callable[[Address], None] | None = None
    """Called with the address of each part that the platform confirmed."""
    hooks: Hooks = field(default_factory=Hooks)


class Adapters:
    """The accounts that send replies: configured from the start, usable once loaded."""

    def __init__(self, configured: Iterable[AccountKey], loaded: Mapping[AccountKey, Adapter] | None = None) -> None:
        self._configured = frozenset(configured)
        self.loaded = dict(loaded or {})

    def of(self, address: Address) -> Adapter:
        """Return the adapter that sends to *address*.

        Raises ChannelUnavailableError while it is being loaded, SendRefusedError if it is not configured.
        """
        key = (address.channel, address.account)
        if adapter := self.loaded.get(key):
            return adapter
        if key in self._configured:
            raise ChannelUnavailableError("the channel is being loaded, or was refused: `strandline status` says which")
        raise SendRefusedError(f"no account {address.account!r} of {address.channel!r} is configured")


class _QueuedReply(Struct):
    """A reply being delivered; `row` follows the store's record of it."""

    row: OutboxRow
    unsure: int = 0
    """Consecutive sends of the current part that may or may not have arrived."""
    noted: int = 0
    """Messages before the current part, which say that it is late, that the platform took: they are not repeated."""
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Delivery:
    """Sends the replies in the outbox, one at a time for each address, addresses concurrently.

    Nothing is lost: a row leaves only when the platform confirmed its last part or rejected it for good. A part is sent
    again only if it certainly did not arrive, or if that is unknown; the latter is recorded as unsure.
    """

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        outbox: Outbox,
        adapters: Adapters,
        observers: DeliveryObservers,
        retry_policy: RetryPolicy,
        rendering: Rendering | None = None,
    ) -> None:
        self._outbox = outbox
        self._adapters = adapters
        self._observers = observers
        self._retry_policy = retry_policy
        self._rendering = rendering or Rendering()
        self._lanes: Lanes[Address, _QueuedReply] = Lanes(
            tasks, self._deliver, retry_policy.clock, retry_policy.at_once
        )
        self._jobs: dict[OutboxId, _QueuedReply] = {}
        self._turns: defaultdict[AccountKey, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._has_recovered = False
        self._is_open = True

    @property
    def waiting(self) -> int:
        """Return the number of undelivered replies."""
        return len(self._jobs)

    def wake(self, rows: Iterable[OutboxRow]) -> None:
        """Send *rows*, just committed, after the replies that their addresses already wait for."""
        for row in rows:
            if self._is_open and row.id not in self._jobs:
                self._jobs[row.id] = job = _QueuedReply(row)
                if self._has_recovered:
                    self._lanes.submit(row.outgoing.address, job)

    async def recover(self, is_ours: Callable[[Address], bool]) -> int:
        """Resume, at start, the replies that an earlier run left for addresses that are ours; return their number.

        A part being sent when that run ended is recorded as unsure and sent again. Nothing is sent before: rows woken
        meanwhile follow the older ones. Raises StoreError.
        """
        unfinished = [row for row in await self._outbox.unfinished() if is_ours(row.outgoing.address)]
        rows = [await self._settle(row) for row in unfinished]
        self.wake(rows)
        self._has_recovered = True
        for _, job in sorted(self._jobs.items()):
            self._lanes.submit(job.row.outgoing.address, job)
        return len(rows)

    def wake_channel(self, channel: str, account: str) -> None:
        """Retry, at once, all replies waiting for this account: it was loaded, or a reader connected."""
        self._lanes.wake(lambda address: (address.channel, address.account) == (channel, account))

    async def finished(self, row: OutboxId) -> None:
        """Return once the reply is delivered or given up, or left for the next run.

        At once if it is not being delivered.
        """
        if job := self._jobs.get(row):
            await job.done.wait()

    async def drain(self, grace_s: float) -> list[OutboxRow]:
        """Send all sendable replies, for *grace_s* seconds, and stop; return the interrupted ones.

        The rest stays in the outbox for the next run.
        """
        self._is_open = False
        cut = await self._lanes.drain(grace_s, finish_queued=True)
        for job in list(self._jobs.values()):
            self._close(job)
        return [job.row for job in cut]

    async def _settle(self, row: OutboxRow) -> OutboxRow:
        if row.state is not OutboxState.SENDING:
            return row
        await self._outbox.record_unsure(row.id, row.parts_sent, "the gateway stopped while this was being sent")
        log.warning("send unsure", outbox=row.id, channel=row.outgoing.address.channel, part=row.parts_sent)
        return replace(row, state=OutboxState.QUEUED, attempts=row.attempts + 1)

    async def _deliver(self, job: _QueuedReply) -> RetryLater | None:
        if wait_s := self._retry_policy.seconds_until(job.row.not_before):
            job.row = replace(job.row, not_before=None)  # whatever ends the wait, the next attempt is a real one
            return RetryLater(wait_s, next_wakes=False)
        try:
            await self._send(job)
        except ChannelUnavailableError as exc:
            return await self._retry_later(job, exc, exc.retry_after_s)
        except ChannelConfigError as exc:
            return await self._retry_later(job, exc, self._retry_policy.refused_account_s)
        except UnsureSendError as exc:
            if retry := await self._retry_unsure(job, exc):
                return retry
            await self._bury(job, f"{self._retry_policy.unsure_tries} sends in a row ended unsure; the last: {exc}")
        except SendRefusedError as exc:
            await self._bury(job, redact(str(exc)))
        await self._rendering.release(job.row.outgoing.files)
        self._close(job)
        return None

    async def _send(self, job: _QueuedReply) -> None:
        row = job.row
        adapter = self._adapters.of(row.outgoing.address)
        now = self._retry_policy.clock.now()
        begun_at = row.begun_at if row.parts_sent and row.begun_at else now
        parts = await self._rendering.parts(adapter, row, self._text(row, begun_at))
        if row.parts_sent >= len(parts):
            await self._write_until_stored(partial(self._outbox.finish, row.id))
            return
        note = self._is_late(row, now) and not self._is_late(row, begun_at)
        before = adapter.render(self._retry_policy.late_note(row.created_at, now)) if note else []
        for number in range(row.parts_sent, len(parts)):
            bodies = [*before, await self._rendering.loaded(parts[number])]
            await self._send_part(job, adapter, bodies, begun_at, is_last=number == len(parts) - 1)
            before = []

    def _text(self, row: OutboxRow, begun_at: datetime) -> str:
        """Return the whole reply; its stated age depends on its stored times only, so parts keep their cut."""
        text = redact(row.outgoing.text)
        if not text.strip() or not self._is_late(row, begun_at):
            return text
        return f"{self._retry_policy.late_note(row.created_at, begun_at)}\n\n{text}"

    def _is_late(self, row: OutboxRow, at: datetime) -> bool:
        """Return whether a reply *row* sent *at* that time must state its age to a person."""
        is_read_by_a_person = row.outgoing.address.channel not in CHANNELS
        return is_read_by_a_person and self._retry_policy.is_late(row.created_at, at)

    async def _send_part(
        self, job: _QueuedReply, adapter: Adapter, bodies: Sequence[Body], begun_at: datetime, *, is_last: bool
    ) -> None:
        row, part = job.row, job.row.parts_sent
        async with self._turn((adapter.channel, adapter.account)):
            await self._write_until_stored(partial(self._outbox.begin_part, row.id, part, begun_at))
            with span("send", apart=True, turn=row.turn_id, channel=adapter.channel, part=part):
                messages = _messages(row, bodies, is_last=is_last)
                sent = await self._send_or_fall_back(job, adapter, messages)
        if self._observers.on_sent is not None:
            self._observers.on_sent(row.outgoing.address)
        # The store takes this before the next send's `begin_part`, which waits behind it: no await lies between.
        await self._write_until_stored(partial(self._outbox.part_sent, row.id, part, sent.message_id, is_last=is_last))
        note_sent(self._observers.hooks, row, messages[-1], sent, is_last=is_last)
        job.row = replace(row, parts_sent=part + 1, begun_at=begun_at)
        job.unsure = job.noted = 0

    @asynccontextmanager
    async def _turn(self, account: AccountKey) -> AsyncIterator[None]:
        """Let the sends of one account out one by one: a crash then leaves one of them in doubt, not one a chat.

        A slow send gives up its turn while it continues, so that a stuck chat does not block the others.
        """
        lock = self._turns[account]
        await lock.acquire()
        over = _Once(lock.release)
        timer = asyncio.get_running_loop().call_later(self._retry_policy.turn_s, over)
        try:
            yield
        finally:
            timer.cancel()
            over()

    async def _send_or_fall_back(
        self, job: _QueuedReply, adapter: Adapter, messages: Sequence[OutboundMessage]
    ) -> Sent:
        """Send *messages*; what is refused goes out as plain text. If that is refused too, a sentence says so.

        Raises ChannelError; of a refusal the first.
        """
        try:
            return await self._hand_over(job, adapter, messages)
        except SendRefusedError as exc:
            refusal = exc
        log.warning("send refused", channel=adapter.channel, why=(why := redact(str(refusal))))
        if plain := plainly(messages[-1], why):
            with suppress(SendRefusedError):
                sent = await self._hand_over(job, adapter, plain)
                await self._write_until_stored(lambda: self._rendering.count(RESENT_PLAIN))
                return sent
        with suppress(SendRefusedError):
            await self._hand_over(job, adapter, [refusal_notice(messages[-1])])
        raise refusal

    async def _hand_over(self, job: _QueuedReply, adapter: Adapter, messages: Sequence[OutboundMessage]) -> Sent:
        try:
            async with asyncio.timeout(self._retry_policy.send_timeout_s):
                *before, last = messages
                for message in before[job.noted :]:
                    await adapter.send(message)
                    job.noted += 1
                return await adapter.send(last)
        except TimeoutError as exc:
            raise UnsureSendError(f"no answer within {self._retry_policy.send_timeout_s:.0f} seconds") from exc

    async def _retry_later(self, job: _QueuedReply, exc: ChannelError, wait_s: float | None) -> RetryLater:
        row = job.row
        delay_s = self._retry_policy.retry_s(row.attempts) if wait_s is None else wait_s
        not_before = self._retry_policy.clock.now() + timedelta(seconds=delay_s)
        log.warning("send delayed", outbox=row.id, channel=row.outgoing.address.channel, for_s=delay_s, why=str(exc))
        await self._write_until_stored(partial(self._outbox.put_back, row.id, not_before, redact(str(exc))))
        job.row = replace(row, attempts=row.attempts + 1)
        return RetryLater(delay_s, next_wakes=False)

    async def _retry_unsure(self, job: _QueuedReply, exc: UnsureSendError) -> RetryLater | None:
        row = job.row
        log.warning("send unsure", outbox=row.id, channel=row.outgoing.address.channel, part=row.parts_sent)
        await self._write_until_stored(partial(self._outbox.record_unsure, row.id, row.parts_sent, redact(str(exc))))
        job.row = replace(row, attempts=row.attempts + 1)
        job.unsure += 1
        if job.unsure >= self._retry_policy.unsure_tries:
            return None
        return RetryLater(self._retry_policy.retry_s(job.unsure - 1), next_wakes=False)

    async def _bury(self, job: _QueuedReply, why: str) -> None:
        """Give the reply up; notify its observers first, so that a crash between the two hides nothing."""
        log.error("reply given up", outbox=job.row.id, channel=job.row.outgoing.address.channel, why=why)
        await self._write_until_stored(partial(self._observers.on_dead, job.row, why))
        await self._write_until_stored(partial(self._outbox.bury, job.row.id, why))

    def _close(self, job: _QueuedReply) -> None:
        del self._jobs[job.row.id]
        job.done.set()

    async def _write_until_stored(self, write: Callable[[], Awaitable[None]]) -> None:
        """Repeat *write* until the store accepts it: until then only this process knows the outcome of the send."""
        attempts = 0
        while True:
            try:
                return await write()
            except RowStateError:
                raise
            except StoreError as exc:
                log.error("outbox not written", why=str(exc))
                await pause(self._retry_policy.clock, self._retry_policy.retry_s(attempts))
                attempts += 1


def _messages(row: OutboxRow, bodies: Sequence[Body], *, is_last: bool) -> list[OutboundMessage]:
    """Return the part, and the messages before it; keys are the same for every attempt."""
    part, address = row.parts_sent, row.outgoing.address
    reply_to = row.outgoing.reply_to if part == 0 else None
    *before, body = bodies
    key = _key_of(row)
    notes = [OutboundMessage(address, each, f"{key}.{part}.note{n}") for n, each in enumerate(before)]
    buttons = row.outgoing.buttons if is_last else ()
    return [*notes, OutboundMessage(address, body, f"{key}.{part}", reply_to, buttons, row.turn_id)]


def is_part_of(message: OutboundMessage, row: OutboxRow) -> bool:
    """Return whether *message* is a part of the reply in *row*."""
    return message.key.partition(".")[0] == _key_of(row)


def _key_of(row: OutboxRow) -> str:
    """Return the mark of a reply, derived from itself alone: its number would reveal to a chat the traffic in
    others."""
    facts = (str(row.outgoing.address), row.created_at.astimezone(UTC).isoformat(), row.outgoing.text)
    return hashlib.blake2b("\0".join(facts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class _Once:
    """Calls a function at the first call, and not again."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function: Callable[[], None] | None = function

    def __call__(self) -> None:
        function, self._function = self._function, None
        if function:
            function()
