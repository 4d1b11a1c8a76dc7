"""Reads a Redis server's settings and health, to judge whether it can keep messages."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct
from redis.asyncio import Redis
from redis.exceptions import ResponseError

FINE = "ok"


class RedisAbout(Struct, frozen=True):
    """Settings and health of a server."""

    version: str
    is_replica: bool
    keeps_log: bool
    syncs: str
    """`appendfsync`; empty if we may not read it."""
    log_trouble: bool
    """Its latest write or rewrite of the append-only log failed."""
    policy: str
    """`maxmemory-policy`."""
    memory_share: float
    """Used share of its memory limit; 0 without a limit."""
    ahead_s: float
    """Seconds that its clock is ahead of ours."""
    cluster_state: str
    """`ok` also for a server outside a cluster."""
    writes_alone: bool = False
    """It has a replica, and takes writes that no replica has (`min-replicas-to-write`), outside a cluster."""


async def about(client: Redis) -> RedisAbout:
    """Return the settings and health of the server behind *client*. Raises RedisError or OSError."""
    begun = time.time()
    seconds, microseconds = await client.time()
    ahead_s = int(seconds) + int(microseconds) / 1e6 - (begun + time.time()) / 2
    facts = await client.info()
    cluster: Any = {}
    if facts.get("cluster_enabled"):
        cluster = await client.cluster("INFO")
    settings: Mapping[Any, Any] = {}
    with suppress(ResponseError):  # a user without access to the settings can keep messages nevertheless
        settings = await client.config_get("appendfsync")
    return _read({**facts, **settings}, cluster, ahead_s)


def _read(facts: Mapping[str, Any], cluster: Mapping[str, str], ahead_s: float) -> RedisAbout:
    tried = facts.get("aof_last_write_status", FINE), facts.get("aof_last_bgrewrite_status", FINE)
    limit = int(facts.get("maxmemory", 0))
    return RedisAbout(
        version=str(facts["redis_version"]),
        is_replica=facts.get("role") == "slave",
        keeps_log=bool(facts["aof_enabled"]),
        syncs=str(facts.get("appendfsync", "")),
        log_trouble=any(status != FINE for status in tried),
        policy=str(facts["maxmemory_policy"]),
        memory_share=int(facts["used_memory"]) / limit if limit else 0.0,
        ahead_s=ahead_s,
        cluster_state=cluster.get("cluster_state", FINE),
        writes_alone=bool(facts.get("connected_slaves")) and not cluster and "min_slaves_good_slaves" not in facts,
    )
