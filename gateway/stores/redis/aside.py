"""Quarantine of unreadable rows in Redis: kept whole, so that the rows behind them are read."""

from dataclasses import dataclass

from gateway.runtime.clock import Clock
from gateway.stores.codec import encode_time
from gateway.stores.redis.link import RedisLink
from gateway.stores.unreadable import Unreadable


@dataclass(frozen=True, slots=True)
class Aside:
    """Quarantines unreadable rows of one kind."""

    link: RedisLink
    operation: str
    """Operation of store.lua."""
    reason: str
    clock: Clock

    async def keep(self, agent: str, row: str, why: str) -> bool:
        """Quarantine that row of *agent*, and log a warning; `False` if it was gone already."""
        at = encode_time(self.clock.now())
        is_moved = bool(await self.link.run(self.operation, self.reason, agent, row, why, at))
        if is_moved:
            Unreadable(self.reason, row, why).tell()
        return is_moved
