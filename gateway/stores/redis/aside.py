"""This file sets aside, in Redis, what cannot be read: it is kept, whole, and what is behind it is read on."""

from dataclasses import dataclass

from gateway.runtime.clock import Clock
from gateway.stores.codec import encode_time
from gateway.stores.redis.link import Link
from gateway.stores.unreadable import Unreadable


@dataclass(frozen=True, slots=True)
class Aside:
    """Where rows of one kind go that cannot be read."""

    link: Link
    operation: str
    """Of store.lua."""
    reason: str
    clock: Clock

    async def keep(self, agent: str, row: str, why: str) -> bool:
        """Move that row of *agent* out of the way, and warn of it; `False` if it was gone already."""
        at = encode_time(self.clock.now())
        is_moved = bool(await self.link.run(self.operation, self.reason, agent, row, why, at))
        if is_moved:
            Unreadable(self.reason, row, why).tell()
        return is_moved
