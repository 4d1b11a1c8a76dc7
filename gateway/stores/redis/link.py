"""Runs the store's operations in Redis in order, and determines the outcome of each."""

import asyncio
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import count
from typing import Any

import structlog
from msgspec import Struct
from redis.asyncio import Redis
from redis.exceptions import NoScriptError, RedisError

from gateway.stores.codec import valid_unicode
from gateway.stores.ports import StoreServerError
from gateway.stores.redis.server import RedisAddress, describe_error, is_elsewhere, refusal_error
from gateway.stores.rows import STORE_TROUBLE, StoreOutage
from workspaces.backoff import Backoff
from workspaces.fault_points import Checkpoint, unchecked

log = structlog.get_logger()

Argument = str | int
Reply = Any
"""The result of a Lua script: a text, `None`, or nested lists; the caller knows its shape."""

LARGEST_BATCH = 256
"""Most operations in one round trip."""
NAMED_AT_ONCE = 1_000
"""Most names passed to one script; Lua takes some 8,000 arguments."""
RECONNECTING = Backoff(0.05, 1.0)
_LINKS = count(1)
"""Numbers the connections of this process: the server records results under the connection's name."""


class ClusterMember(Struct, frozen=True):
    """One gateway among those that share a server: the identity of its writes."""

    prefix: str
    """Prefix of every key, in braces, so that a cluster keeps all of them together."""
    name: str
    fence: int
    """Grows with every new lease."""

    @property
    def lease_key(self) -> str:
        """Key that holds the fence while the lease runs."""
        return f"{self.prefix}:member:{self.name}"

    @property
    def keys(self) -> tuple[int, str, str]:
        """Return the first arguments of the script: the number of keys, the lease's, and one that never exists.

        Without the latter, a cluster that moves our keys one by one would run a script up to the first key that has
        moved. With it, all operations are rejected during the move.
        """
        return 2, self.lease_key, f"{self.prefix}:absent"

    def __str__(self) -> str:
        return f"{self.name}#{self.fence}"


class _PendingRequest(Struct, eq=False):
    operation: str
    arguments: tuple[Argument, ...]
    outcome: asyncio.Future[Reply]
    expiry: asyncio.TimerHandle


class RedisLink:
    """A member's only connection for writes; waiting operations share a round trip.

    An operation that was sent is sent again, under the same number, until its outcome is known: the script runs it
    once. One not sent within the server's `patience_s` fails without effect.
    """

    def __init__(
        self,
        server: RedisAddress,
        member: ClusterMember,
        purpose: str,
        *,
        owns_up: bool = False,
        checkpoint: Checkpoint = unchecked,
    ) -> None:
        """With *owns_up*, each outage is counted in the ledger once it is over."""
        self._server = server
        self._member = member
        self.name = f"{purpose}-{next(_LINKS)}"
        self._waiting: list[_PendingRequest] = []
        self._has_work = asyncio.Event()
        self._closing = asyncio.Event()
        self._batches = count(1)
        self._client: Redis | None = None
        self._digest = ""
        self._failures = 0
        self._trouble = f"{server} does not answer"
        self._owns_up = owns_up
        self._checkpoint = checkpoint
        self._away_since: float | None = None
        self._worker = asyncio.get_running_loop().create_task(self._work(), name=f"redis {self.name}")

    async def run(self, operation: str, *arguments: Argument) -> Reply:
        """Run *operation* of store.lua; return its result.

        Raises StoreServerError, which describes the server's fault, or RowStateError; both without effect.
        """
        if self._closing.is_set():
            raise StoreServerError("the store in Redis is closed: the gateway is stopping")
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Reply] = loop.create_future()
        sent = tuple(_sendable(each) for each in arguments)
        call = _PendingRequest(
            operation, sent, outcome, loop.call_later(self._server.patience_s, self._expire, outcome)
        )
        self._waiting.append(call)
        self._has_work.set()
        return await outcome

    def outage(self) -> StoreOutage | None:
        """Return the server's fault, and its start, if an operation met it and none has succeeded since."""
        if self._away_since is None:
            return None
        return StoreOutage(self._trouble, asyncio.get_running_loop().time() - self._away_since)

    async def run_over(self, operation: str, names: Sequence[str], *before: Argument) -> list[Any]:
        """Run *operation*, which takes any number of *names* after its other arguments; return the lists joined.

        Many names are split into several operations; a failure may leave some of them done.
        """
        parts = [names[first : first + NAMED_AT_ONCE] for first in range(0, len(names), NAMED_AT_ONCE)]
        return [each for part in parts for each in await self.run(operation, *before, *part)]

    async def close(self) -> None:
        """Finish pending operations, if the server still answers, and close the connection."""
        self._closing.set()
        self._has_work.set()
        await self._worker
        await self._disconnect()

    async def _work(self) -> None:
        while not (self._closing.is_set() and not self._waiting):
            await self._has_work.wait()
            self._has_work.clear()
            while self._waiting:
                if await self._ensure_connected():
                    await self._settle(self._next_batch())
                elif self._closing.is_set():
                    self._leave(self._next_batch())

    def _next_batch(self) -> list[_PendingRequest]:
        batch, self._waiting = self._waiting[:LARGEST_BATCH], self._waiting[LARGEST_BATCH:]
        for call in batch:
            call.expiry.cancel()
        return [call for call in batch if not call.outcome.done()]

    async def _settle(self, batch: Sequence[_PendingRequest]) -> None:
        """Send *batch* until the outcome of each of its calls is known."""
        number, open_calls = next(self._batches), dict(enumerate(batch))
        give_up = asyncio.get_running_loop().time() + self._server.patience_s
        while open_calls:
            while (replies := await self._send(number, open_calls)) is None:
                while not await self._ensure_connected():
                    if self._closing.is_set():
                        self._leave(list(open_calls.values()))
                        return
            may_wait = asyncio.get_running_loop().time() < give_up and not self._closing.is_set()
            open_calls = self._hand_out(open_calls, replies, may_wait)
            if any(map(is_elsewhere, replies)):
                await self._disconnect()
                await self._pause()
            elif self._away_since is not None:
                self._away_since = None
                self._count_outage()

    async def _send(self, number: int, calls: Mapping[int, _PendingRequest]) -> list[Reply] | None:
        """Return the replies; `None` if the outcome of the calls is unknown, or the script is gone."""
        if self._client is None:
            return None
        member, pipeline = self._member, self._client.pipeline(transaction=False)
        head = (self._digest, *member.keys, member.prefix, member.name, member.fence, self.name, number)
        for index, call in calls.items():
            pipeline.execute_command("EVALSHA", *head, index, call.operation, *call.arguments)
        try:
            self._checkpoint("redis.begin", 0)
            replies: list[Reply] = await pipeline.execute(raise_on_error=False)
            self._checkpoint("redis.end", 0)
        except (RedisError, OSError) as exc:
            self._notice(exc)
        else:
            if not any(isinstance(reply, NoScriptError) for reply in replies):
                return replies
        await self._disconnect()
        return None

    def _hand_out(
        self, calls: Mapping[int, _PendingRequest], replies: Sequence[Reply], may_wait: bool
    ) -> dict[int, _PendingRequest]:
        """Set the outcomes; return the calls that were not run and that another server may run."""
        again = {}
        for (index, call), reply in zip(calls.items(), replies, strict=True):
            if call.outcome.done():
                continue
            if is_elsewhere(reply):
                self._notice(reply)
            if is_elsewhere(reply) and may_wait:
                again[index] = call
            elif isinstance(reply, RedisError):
                call.outcome.set_exception(refusal_error(reply, self._server))
            else:
                call.outcome.set_result(reply)
        return again

    def _expire(self, outcome: "asyncio.Future[Reply]") -> None:
        self._waiting = [call for call in self._waiting if call.outcome is not outcome]
        if not outcome.done():
            outcome.set_exception(StoreServerError(f"{self._trouble}; nothing was stored"))

    def _count_outage(self) -> None:
        if not self._owns_up:
            return
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Reply] = loop.create_future()
        outcome.add_done_callback(asyncio.Future.exception)  # nobody waits for it
        expiry = loop.call_later(self._server.patience_s, self._expire, outcome)
        self._waiting.append(_PendingRequest("count", (STORE_TROUBLE, 1), outcome, expiry))

    def _leave(self, batch: Sequence[_PendingRequest]) -> None:
        for call in batch:
            if not call.outcome.done():
                call.outcome.set_exception(StoreServerError(f"{self._trouble}; the outcome is unknown"))

    # --- the connection

    async def _ensure_connected(self) -> bool:
        """Connect unless connected; `False` after a failed attempt and a pause."""
        try:
            if self._client is None:
                self._client = await self._server.connect()
                self._digest = str(await self._client.script_load(script()))
            pool: Any = self._client.connection_pool  # its methods have no types
            await pool.release(await pool.get_connection())  # detects a connection that ended while idle
        except (RedisError, OSError) as exc:
            self._notice(exc)
            await self._disconnect()
            await self._pause()
            return False
        self._failures = 0
        return True

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(RECONNECTING.delay_s(self._failures)):
                await self._closing.wait()
        except TimeoutError:
            self._failures += 1

    def _notice(self, exc: RedisError | OSError) -> None:
        if self._away_since is None:
            self._away_since = asyncio.get_running_loop().time()
        trouble = describe_error(exc, self._server)
        self._server.heed(exc)
        if trouble != self._trouble:
            log.warning("redis", detail=trouble)
        self._trouble = trouble


def _sendable(argument: Argument) -> Argument:
    """Return *argument* as sendable text: invalid Unicode would end the worker, and every operation waiting for it."""
    return valid_unicode(argument) if isinstance(argument, str) and not argument.isascii() else argument


def script() -> str:
    """Return the operations as Lua."""
    return files("gateway.stores.redis").joinpath("store.lua").read_text("utf-8")
