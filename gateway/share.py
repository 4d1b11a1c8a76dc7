"""This file says which agents a gateway looks after: all of its own, or its share among gateways that use one Redis."""

import asyncio
import math
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

import structlog

from gateway.config import Config
from gateway.door.routing import Routes, route
from gateway.errors import ConfigError, StoreError
from gateway.home import Home
from gateway.stores.ports import Store
from gateway.stores.sqlite import SqliteStore
from gateway.timing import Clock
from workspaces.checkpoint import Checkpoint

if TYPE_CHECKING:
    from gateway.stores.redis.leases import RedisLeases

log = structlog.get_logger()

LOOK_EVERY_S = 1.0
"""How often a gateway looks whether its share has changed; our choice."""


def at_most(agents: int, members: int) -> int:
    """Return how many of so many *agents* one of so many gateways takes, so that all have about the same."""
    return math.ceil(agents / max(1, members))


@dataclass(slots=True)
class Share:
    """What one run of the app looks after; a gateway that is alone has everything, for ever."""

    home: Home
    config: Config
    leases: "RedisLeases | None" = None
    agents: list[str] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the share has changed or the lease is lost: this run ends, and the next one begins with what is then."""
    is_leaving: bool = True
    """Whether the gateway stops altogether, so that others may have at once what was its."""
    locks: ExitStack = field(default_factory=ExitStack)

    @property
    def is_standby(self) -> bool:
        """Whether every agent has its gateway: this one has nothing to do until one becomes free."""
        return not self.agents

    @property
    def mine(self) -> Config:
        """The configuration with no agents but ours; routes are made of the whole one."""
        return self.config.model_copy(update={"agents": {name: self.config.agents[name] for name in self.agents}})

    async def open_store(self, routes: Routes, clock: Clock, checkpoint: Checkpoint) -> Store:
        """Open what survives a crash: the home's own file, or our part of the Redis. Raises StoreError."""
        if self.leases is None:
            begin = self._first_number(clock)
            return await SqliteStore.open(self.home.state_db, clock=clock, checkpoint=checkpoint, begin_after=begin)
        from gateway.stores.redis.store import RedisStore

        return RedisStore(self.leases, self.agents, lambda message: route(message, routes).key.agent, clock=clock)

    def _first_number(self, clock: Clock) -> int:
        """Return where a new state begins to count: beside older conversations, behind every turn that they know."""
        is_lost = not self.home.state_db.exists() and any(self.home.agents.glob("*/sessions/*.jsonl"))
        return int(clock.now().timestamp() * 1000) if is_lost else 0

    async def may_listen(self, channel: str, account: str) -> None:
        """Return once no other gateway listens on this account."""
        name, said = f"bot:{channel}.{account}", False
        while self.leases is not None and not await self.leases.claim([name]):
            if not said:
                log.info("another gateway listens", channel=channel, account=account)
            said = True
            await asyncio.sleep(LOOK_EVERY_S)

    async def watch(self) -> None:
        """End the run when our share of the agents has changed."""
        while self.leases is not None and not self.over.is_set():
            await asyncio.sleep(LOOK_EVERY_S)
            if await self._has_changed(self.leases):
                self.over.set()

    async def claim(self, members: int) -> list[str]:
        """Take agents that are free, up to our share; return those that are new."""
        assert self.leases is not None  # noqa: S101  # only gateways that share have to claim
        wanted = at_most(len(self.config.agents), members)
        new: list[str] = []
        for agent in self.config.agents:
            if len(self.agents) + len(new) < wanted and agent not in self.agents and await self._took(agent):
                new.append(agent)
        self.agents += new
        return new

    async def _took(self, agent: str) -> bool:
        """Claim one agent and lock its folder: a gateway that stands still has lost its claim, but not the folder."""
        assert self.leases is not None  # noqa: S101
        if not await self.leases.claim(_names([agent])):
            return False
        if self._locked(agent):
            return True
        await self.leases.release(_names([agent]))
        return False

    def _locked(self, agent: str) -> bool:
        from filelock import FileLock, Timeout

        lock = FileLock(self.home.agents / f".{agent}.lock", blocking=False)
        try:
            lock.acquire()
        except Timeout:
            return False
        self.locks.callback(lock.release)
        return True

    async def keep(self, leases: "RedisLeases") -> None:
        """Renew the lease; once it is lost, end the run."""
        try:
            await leases.keep()
        finally:
            self.over.set()

    async def _has_changed(self, leases: "RedisLeases") -> bool:
        try:
            members = await leases.members()
            if len(self.agents) > at_most(len(self.config.agents), members):
                return True
            return bool(await self.claim(members))
        except StoreError as exc:
            log.warning("share not looked at", detail=str(exc))
            return False


@asynccontextmanager
async def open_share(home: Home, config: Config, environ: Mapping[str, str], *, alone: bool) -> AsyncIterator[Share]:
    """Give what this gateway looks after, which may be nothing yet.

    *alone*, a command without a gateway, takes all that is free, and has no use for nothing.
    Raises ConfigError for a Redis that cannot be used, StoreError when none answers, or nothing is free for a command.
    """
    if config.redis.url is None:
        yield Share(home, config, agents=list(config.agents))
        return
    leases = await _joined(home, config, environ)
    share = Share(home, config, leases)
    keeping = asyncio.get_running_loop().create_task(share.keep(leases), name="lease")
    try:
        await _first_claim(share, leases, alone=alone)
        yield share
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])
        share.locks.close()
        await (leases.leave() if share.is_leaving else leases.close())


async def _joined(home: Home, config: Config, environ: Mapping[str, str]) -> "RedisLeases":
    try:
        from gateway.stores.redis.leases import RedisLeases
        from gateway.stores.redis.server import Server
    except ImportError as exc:
        raise ConfigError("redis.url: the package for it is missing; run: pip install 'strandline[redis]'") from exc
    settings, source = config.redis, config.redis.password()
    server = Server(str(settings.url), source.read(environ) if source else None)
    name, lease_s = member_name(home), settings.lease_s
    return await RedisLeases.join(server, settings.prefix, name, lease_s, accept_loss=settings.accept_loss)


def member_name(home: Home) -> str:
    """Return the name under which the gateway of *home* holds its lease.

    The home's lock says that whoever had this name before is gone: it means one folder of one machine.
    """
    return blake2b(f"{socket.gethostname()}\0{home.path.resolve()}".encode(), digest_size=6).hexdigest()


async def _first_claim(share: Share, leases: "RedisLeases", *, alone: bool) -> None:
    if not await share.claim(1 if alone else await leases.members()):
        if alone:
            raise StoreError("every agent of this home is looked after by another gateway; stop that one first")
        log.info("standing by: every agent has its gateway")
    await leases.release(
        _names([name for name in share.config.agents if name not in share.agents])
    )  # of the run before


def _names(agents: Sequence[str]) -> list[str]:
    return [f"agent:{agent}" for agent in agents]
