"""Quarantine of unreadable rows in Redis: kept whole, so that the rows behind them are read."""

from datetime import datetime

from gateway.stores.codec import encode_time
from gateway.stores.redis.link import RedisLink
from gateway.stores.unreadable import Unreadable


async def set_aside(link: RedisLink, operation: str, agent: str, row: Unreadable, now: datetime) -> bool:
    """Quarantine *row* of *agent* by an *operation* of store.lua, and log a warning; `False` if it was gone already."""
    is_moved = bool(await link.run(operation, row.reason, agent, row.row, row.why, encode_time(now)))
    if is_moved:
        row.tell()
    return is_moved
