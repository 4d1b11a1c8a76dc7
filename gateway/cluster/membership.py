"""Decides which agents a gateway runs: all of its own, or its share among gateways that use one Redis."""

import asyncio
import math
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct, field

from adapters.channel import InboundMessage
from gateway.admission.routing import Routes, route
from gateway.cluster.file_ownership import (
    MEND,
    FolderState,
    inspect_folder,
    is_new,
    next_claim,
    objection,
    volume_of,
    write_mark,
)
from gateway.cluster.own_state import open_own_state
from gateway.cluster.workspace_locks import agent_lock, workspace_locks, workspaces_of
from gateway.config import Config
from gateway.errors import ConfigError, StoreError, WorkspaceLockedError
from gateway.home import Home
from gateway.runtime.clock import Clock, SystemClock, pause
from gateway.stores.pins import KnownAgent
from gateway.stores.ports import Store
from workspaces.extras import install_command
from workspaces.fault_points import Checkpoint

if TYPE_CHECKING:
    from gateway.stores.redis.leases import RedisLeases

log = structlog.get_logger()

LOOK_EVERY_S = 1.0
"""Seconds between checks whether our membership has changed; our choice."""
COMMAND_PATIENCE_S = 2.0
"""Seconds that a command without a gateway waits for the store: somebody looks at the terminal. Our choice."""


def fair_share(agents: int, members: int) -> int:
    """Return how many of *agents* each of *members* gateways may take, so that all have about the same."""
    return math.ceil(agents / max(1, members))


class AgentQuota(Struct, frozen=True):
    """The most agents that a gateway takes, so that those that share a volume have about the same."""

    whole: int
    """Agents with local files, and new ones."""
    new: int
    """Up to this total, it also takes agents without any known files."""

    @classmethod
    def of(cls, usable: int, agents: int, volume: str, volumes: Sequence[str]) -> "AgentQuota":
        """Return the limits of a gateway on *volume*, which could take *usable* of all the *agents*."""
        whole = fair_share(usable, volumes.count(volume))
        return cls(whole, min(whole, fair_share(agents, len(volumes))))


class Share(Struct):
    """The agents of one run of the app; a single gateway has all of them, permanently."""

    home: Home
    config: Config
    leases: "RedisLeases | None" = None
    volume: str = ""
    """Volume of our agents' folders, if others share the store."""
    agents: list[str] = field(default_factory=list)
    strays: dict[str, str] = field(default_factory=dict)
    """Agents without a gateway that we cannot run, with the reason and the remedy."""
    locked: dict[str, str] = field(default_factory=dict)
    """Agents whose files were locked at the last claim, with the holder; they leave again once claimed by another."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when our membership has changed or the lease is lost: this run ends, and the next one starts with the new
    state."""
    is_leaving: bool = True
    """Whether the gateway stops altogether, so that others may take over its agents at once."""
    locks: ExitStack = field(default_factory=ExitStack)
    clock: Clock = field(default_factory=SystemClock)
    _seen: tuple[Sequence[str], int] = ((), 0)
    """The gateways at the last claim, and our limit of agents then."""

    @property
    def is_standby(self) -> bool:
        """Whether every agent has its gateway: this one is idle until one becomes free."""
        return not self.agents

    @property
    def mine(self) -> Config:
        """The configuration with only our agents; routes are made from the whole one."""
        return self.config.model_copy(update={"agents": {name: self.config.agents[name] for name in self.agents}})

    async def open_store(self, routes: Routes, clock: Clock, checkpoint: Checkpoint) -> Store:
        """Open the durable state: the home's own file, or our part of the Redis. Raises StoreError."""
        if self.leases is None:
            return await open_own_state(self.home, clock, checkpoint)
        from gateway.stores.redis.spool import Spool
        from gateway.stores.redis.store import RedisStore

        def agent_of(message: InboundMessage) -> str:
            return route(message, routes).key.agent

        store = RedisStore(self.leases, self.agents, agent_of, clock=clock, checkpoint=checkpoint)
        try:
            await store.use(await asyncio.to_thread(Spool.open, self.home.spool, checkpoint))
        except StoreError:
            await store.close()
            raise
        return store

    def end(self, *, for_good: bool) -> None:
        """Note that this run ends: *for_good* if the gateway stops altogether."""
        self.is_leaving = for_good

    async def may_listen(self, channel: str, account: str) -> None:
        """Return once no other gateway listens on this account."""
        name, said = f"bot:{channel}.{account}", False
        while self.leases is not None and not await self.leases.claim([name]):
            if not said:
                log.info("another gateway listens", channel=channel, account=account)
            said = True
            await pause(self.clock, LOOK_EVERY_S)

    async def watch(self) -> None:
        """End the run when our membership has changed."""
        while self.leases is not None and not self.over.is_set():
            await pause(self.clock, LOOK_EVERY_S)
            if await self._has_changed(self.leases):
                self.over.set()

    async def claim(self, volumes: Sequence[str]) -> list[str]:
        """Claim free agents with local files, up to our share among gateways on these *volumes*.

        Returns the newly claimed ones.
        """
        assert self.leases is not None  # noqa: S101  # only gateways that share have to claim
        known = await self.leases.known(list(self.config.agents))
        here = await asyncio.to_thread(self._look, list(known))
        objections = {agent: objection(here[agent], each) for agent, each in known.items()}
        usable = [agent for agent, why in objections.items() if not why]
        part = AgentQuota.of(len(usable), len(known), self.volume, volumes)
        taken: list[str] = []
        refused: dict[str, str] = {}
        for agent in usable:
            most = part.new if is_new(here[agent], known[agent]) else part.whole
            if agent in self.agents or not known[agent].is_free or len(self.agents) >= most:
                continue
            try:
                if await self._took(agent, known[agent]):
                    taken.append(agent)
                    self.agents.append(agent)  # at once: should the store fail at the next one, this one is ours
            except OSError as exc:
                objections[agent] = f"its folder here cannot be written ({exc.strerror})"
            except WorkspaceLockedError as exc:
                refused[agent] = str(exc)
        strays = {agent: f"{why}. To fix this, {MEND.format(agent=agent)}" for agent, why in objections.items() if why}
        strays |= {agent: why for agent, why in refused.items() if agent in self.locked}  # not just a claim under way
        self.locked = refused
        self._tell({agent: why for agent, why in strays.items() if known[agent].is_free})
        self._seen = volumes, part.whole
        return taken

    def told(self) -> tuple[str, ...]:
        """Return, for each agent without a gateway whose files we cannot use, the reason and the remedy."""
        return tuple(
            f"agent {agent} has no gateway, and this one cannot take it: {why}" for agent, why in self.strays.items()
        )

    def _look(self, agents: Sequence[str]) -> dict[str, FolderState]:
        return {agent: inspect_folder(self.home.agent(agent)) for agent in agents}

    def _tell(self, strays: dict[str, str]) -> None:
        is_told = strays.keys() <= self.strays.keys()
        self.strays = strays
        if not is_told:
            for each in self.told():
                log.warning("files are not here", detail=each)

    async def _took(self, agent: str, known: KnownAgent) -> bool:
        """Lock one agent's files and claim it: a suspended gateway has lost its claim, but not the locks.

        Raises WorkspaceLockedError.
        """
        with ExitStack() as stack:
            workspace = workspaces_of(self.home, self.config)[agent]
            stack.enter_context(workspace_locks(self.home, {agent: workspace}))
            stack.enter_context(agent_lock(self.home, agent))
            if not await self._pin(agent, known):
                return False
            self.locks.push(stack.pop_all())
            return True

    async def _pin(self, agent: str, known: KnownAgent) -> bool:
        """Claim *agent*, whose folder we have locked, under the next pin: first in the folder, then in the store."""
        assert self.leases is not None  # noqa: S101
        here = inspect_folder(self.home.agent(agent))
        if objection(here, known):
            return False
        fresh = next_claim(here)
        write_mark(self.home, agent, fresh)
        if await self.leases.take(agent, known.pin, fresh.pin):
            return True
        write_mark(self.home, agent, here.mark)
        return False

    async def keep(self, leases: "RedisLeases") -> None:
        """Renew the lease; once it is lost, end the run."""
        try:
            await leases.keep()
        finally:
            self.over.set()

    async def _has_changed(self, leases: "RedisLeases") -> bool:
        before = len(self.agents)
        try:
            volumes = await leases.members()
            is_settled = (volumes, len(self.agents)) == self._seen and not self.strays and not self.locked
            if is_settled and self.agents:  # agents free elsewhere concern us only when a gateway comes or goes
                return False
            is_more = bool(await self.claim(volumes))
            return is_more or len(self.agents) > self._seen[1]
        except StoreError as exc:
            log.warning("membership not checked", detail=str(exc))
            return len(self.agents) > before


@asynccontextmanager
async def open_share(home: Home, config: Config, environ: Mapping[str, str], *, alone: bool) -> AsyncIterator[Share]:
    """Yield the membership of this gateway, which may have no agents yet.

    *alone*, a command without a gateway, takes all free agents, and needs at least one. Raises ConfigError for an
    unusable Redis, StoreError if none answers, or no agent is free for a command.
    """
    if config.redis.url is None:
        yield Share(home, config, agents=list(config.agents))
        return
    leases = await _join(home, config, environ, alone=alone)
    share = Share(home, config, leases, volume_of(home))
    keeping = asyncio.get_running_loop().create_task(share.keep(leases), name="lease")
    try:
        await _first_claim(share, leases, alone=alone)
        yield share
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])
        share.locks.close()
        await (leases.leave() if share.is_leaving else leases.close())


async def _join(home: Home, config: Config, environ: Mapping[str, str], *, alone: bool) -> "RedisLeases":
    try:
        from gateway.stores.redis.leases import START_PATIENCE_S, RedisLeases
        from gateway.stores.redis.server import server_of
    except ImportError as exc:
        raise ConfigError(f"redis.url: the package for it is missing; run: {install_command('redis')}") from exc
    settings, server = config.redis, server_of(config.redis, environ)
    name, lease_s = member_name(home), settings.lease_s
    patience_s = COMMAND_PATIENCE_S if alone else START_PATIENCE_S
    return await RedisLeases.join(
        server, settings.prefix, name, lease_s, accept_loss=settings.accept_loss, patience_s=patience_s
    )


def member_name(home: Home) -> str:
    """Return the name under which the gateway of *home* holds its lease.

    The home's lock proves that the name's previous holder is gone: it means one folder of one machine.
    """
    return blake2b(f"{socket.gethostname()}\0{home.path.resolve()}".encode(), digest_size=6).hexdigest()


async def _first_claim(share: Share, leases: "RedisLeases", *, alone: bool) -> None:
    await leases.dwell(share.volume)
    if not await share.claim([share.volume] if alone else await leases.members()):
        if alone:
            others = "every agent of this home is run by another gateway; stop that one first"
            raise StoreError("; ".join([*share.told(), *share.locked.values()]) or others)
        if not share.strays:
            log.info("on standby: every agent has its gateway")
    await leases.release(
        [f"agent:{name}" for name in share.config.agents if name not in share.agents]
    )  # of the run before
