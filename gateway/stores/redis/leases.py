"""A gateway's lease in Redis, and its holdings."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import MovedError, RedisError

from gateway.errors import StoreError
from gateway.stores.pins import KnownAgent, Pin
from gateway.stores.redis.link import ClusterMember, RedisLink, script
from gateway.stores.redis.server import RedisAddress, check, describe_error, end_if_cancelled, remedy
from gateway.stores.redis.spool import Spool, mark_of
from gateway.stores.rows import StoreOutage
from workspaces.backoff import Backoff

log = structlog.get_logger()

START_PATIENCE_S = 30.0
"""Seconds that a start waits for a server that does not answer or rejects our login."""
STARTING = Backoff(0.1, 2.0)
LEAVE_S = 2.0
"""Seconds that a stopping gateway tries to return its lease; others can always wait for its expiry."""
CLUSTER_HOPS = 3
"""Nodes tried for a single request; our choice."""
RENEWALS = 4
"""Renewals within the lifetime of a lease."""


class RedisLeases:
    """Ownership of agents and bot connections among several gateways; made by `join`.

    Everything that a gateway holds depends on one lease with one number, the fence. It is renewed while the gateway
    lives; after it expires, others may claim its holdings, and the store rejects every write under the old number. An
    agent's pin names the copy of its files that may be claimed.
    """

    def __init__(self, server: RedisAddress, member: ClusterMember, lease_s: float) -> None:
        self.server = server
        self.member = member
        self.lost = asyncio.Event()
        """Set once the lease has expired, or may have, or is given up: the gateway has to begin anew."""
        self._spool: Spool | None = None
        self._lease_s = lease_s
        self._link = RedisLink(server, member, "lease")

    def prove(self, spool: Spool) -> None:
        """Renew the lease by *spool* from now on: a server that knows of fewer messages than it has lost some."""
        self._spool = spool

    @classmethod
    async def join(
        cls,
        server: RedisAddress,
        prefix: str,
        name: str,
        lease_s: float,
        *,
        accept_loss: bool,
        patience_s: float = START_PATIENCE_S,
    ) -> "RedisLeases":
        """Take a lease as *name*, with the holdings of that name: its previous holder is certainly gone.

        Raises ConfigError for a server that could lose data, StoreError if none admits us within *patience_s*.
        """
        prefix = f"{{{prefix}}}"
        ask = partial(_ask, server, ClusterMember(prefix, name, 0), lease_s, accept_loss=accept_loss)
        fence = await _first_lease(server, ask, patience_s)
        return cls(server, ClusterMember(prefix, name, fence), lease_s)

    async def claim(self, names: Sequence[str]) -> Sequence[str]:
        """Claim those of *names* that no live gateway holds; return the ones that are ours now.

        Raises LeaseLostError.
        """
        return await self._link.run_over("claim", names)

    async def release(self, names: Sequence[str]) -> None:
        """Let others claim *names* at once."""
        await self._link.run_over("release", names)

    async def dwell(self, volume: str) -> None:
        """Publish the *volume* that holds our agents' files."""
        await self._link.run("dwell", volume)

    async def members(self) -> Sequence[str]:
        """Return, for each gateway with a valid lease, the volume that holds its agents' files."""
        volumes: list[str] = await self._link.run("members")
        return sorted(volumes)

    async def known(self, agents: Sequence[str]) -> Mapping[str, KnownAgent]:
        rows: list[tuple[str, int]] = await self._link.run_over("known", agents)
        return {
            agent: KnownAgent(Pin.read(pin), bool(is_free)) for agent, (pin, is_free) in zip(agents, rows, strict=True)
        }

    async def take(self, agent: str, had: Pin | None, fresh: Pin) -> bool:
        """Claim *agent* and make *fresh* its pin; `False`, changing nothing, if it is not free or *had* is not its pin.

        Raises LeaseLostError.
        """
        return bool(await self._link.run("take_agent", agent, str(had or ""), str(fresh)))

    def lose(self) -> None:
        """Give the lease up: the server has lost changes that it confirmed, and only a new beginning reads the rest."""
        self.lost.set()

    async def keep(self) -> None:
        """Renew the lease until it is lost or this is cancelled."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._lease_s
        try:
            while not self.lost.is_set():
                asked = loop.time()
                async with asyncio.timeout_at(deadline):
                    if not await self._renew_all():
                        break
                deadline = asked + self._lease_s
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._lease_s / RENEWALS):
                        await self.lost.wait()
        except TimeoutError:
            pass
        self.lost.set()
        log.error("lease lost: another gateway may run our agents", member=str(self.member))

    async def leave(self) -> None:
        """Return the lease, so that others need not wait for its expiry, and close the connection."""
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._link.run("leave")
        except (StoreError, TimeoutError) as exc:
            log.info("lease not given back; it runs out", detail=str(exc))
        await self.close()

    async def close(self) -> None:
        """Close the connection; our holdings stay ours until the lease expires, or until we join again."""
        await self._link.close()

    def outage(self) -> StoreOutage | None:
        """Return the time since which the lease cannot be renewed, and the reason."""
        return self._link.outage()

    async def renew(self) -> bool:
        """Extend the lease from now on; `False` if it is over, or the server has lost messages that it confirmed.

        Raises StoreError while the server is unavailable.
        """
        (is_ours,) = await self._link.run("renew", round(self._lease_s * 1000), *mark_of(self._spool))
        return bool(is_ours)

    async def _renew_all(self) -> bool:
        while True:
            try:
                return await self.renew()
            except StoreError:
                continue  # it has waited for the server already; the deadline ends this


async def adopt(server: RedisAddress, prefix: str, agent: str, fresh: Pin) -> str:
    """Make *fresh* the pin of *agent*; return the gateway that runs it and prevents this, or an empty text.

    Raises StoreError for a server that cannot be used.
    """
    nobody = ClusterMember(f"{{{prefix}}}", "nobody", 0)
    try:
        return str(await _run_operation(server, nobody, "adopt", agent, str(fresh)))
    except (RedisError, OSError) as exc:
        raise StoreError(describe_error(exc, server)) from exc


async def _first_lease(server: RedisAddress, ask: Callable[[], Awaitable[int]], patience_s: float) -> int:
    loop = asyncio.get_running_loop()
    deadline, failures, said = loop.time() + patience_s, 0, ""
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                return await ask()
        except (RedisError, OSError) as exc:
            end_if_cancelled()
            trouble = describe_error(exc, server)
            server.heed(exc)
            if isinstance(exc, MovedError):
                log.info("redis", detail=trouble)
            elif trouble != said:
                log.warning("waiting for Redis", seconds=round(deadline - loop.time()), detail=trouble + remedy(exc))
            said = trouble
            wait_s = STARTING.delay_s(failures)
            if loop.time() + wait_s > deadline:
                raise StoreError(trouble + remedy(exc)) from exc
        await asyncio.sleep(wait_s)
        failures += 1


async def _ask(server: RedisAddress, nobody: ClusterMember, lease_s: float, *, accept_loss: bool) -> int:
    client = await server.connect()
    try:
        await check(client, server, accept_loss=accept_loss)
        return int(await _eval(client, nobody, "join", round(lease_s * 1000)))
    finally:
        await client.aclose()


async def _run_operation(server: RedisAddress, nobody: ClusterMember, operation: str, *arguments: str) -> Any:
    for _ in range(CLUSTER_HOPS):
        client = await server.connect()
        try:
            return await _eval(client, nobody, operation, *arguments)
        except MovedError as exc:
            server.heed(exc)
        finally:
            await client.aclose()
    raise StoreError(f"the cluster at {server} sends us from node to node; try again")


async def _eval(client: Redis, nobody: ClusterMember, operation: str, *arguments: str | int) -> Any:
    head: Sequence[Any] = (nobody.prefix, nobody.name, 0, "", 0, 0)
    return await client.eval(script(), *nobody.keys, *head, operation, *arguments)
