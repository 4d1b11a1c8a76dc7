"""Checks of `strandline doctor` for the servers that keep state: Redis and Qdrant."""

import re
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from gateway.control.finding import Finding, Level
from gateway.errors import ConfigError
from workspaces.extras import install_command
from workspaces.memory.index.settings import version_fault

if TYPE_CHECKING:
    from gateway.config import Config, QdrantSettings
    from gateway.stores.redis.about import RedisAbout

PATIENCE_S = 3.0
"""Seconds that a server may take for one answer; our choice."""
FULL = 0.9
"""Share of its memory from which on a Redis gives a warning; our choice."""
SKEW_S = 2.0
"""Seconds between clocks from which on the order of several gateways' writes is doubtful: each uses its own.

Our choice.
"""
OLDEST_REDIS = (7, 0)
MANY_COLLECTIONS = 200
"""Qdrant advises against hundreds of collections."""


async def check_servers(config: "Config", environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    """Check each server that the settings name; a missing secret was reported before."""
    try:
        if config.redis.url is not None:
            async for finding in _redis(config, environ):
                yield finding
        if config.qdrant.url is not None:
            async for finding in _qdrant(config.qdrant, environ):
                yield finding
    except ConfigError:
        return


# --- Redis


async def _redis(config: "Config", environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    try:
        from redis.exceptions import RedisError

        from gateway.stores.redis.about import about
        from gateway.stores.redis.server import describe_error, server_of
    except ImportError:
        yield Finding("redis", Level.FAIL, "the package for it is missing", f"run: {install_command('redis')}")
        return
    try:
        server = server_of(config.redis, environ, PATIENCE_S)
    except ConfigError as exc:
        if not any(str(exc).startswith(source.key) for source in config.secret_sources()):  # reported before
            yield Finding("redis", Level.FAIL, str(exc), "name a PEM file; messages need the server")
        return
    try:
        client = await server.connect()
        try:
            found = await about(client)
        finally:
            await client.aclose()
    except (RedisError, OSError) as exc:
        yield Finding("redis", Level.FAIL, describe_error(exc, server), "the setting is redis.url; messages need it")
        return
    for finding in redis_findings(found, accepts_loss=config.redis.accept_loss):
        yield finding


def redis_findings(found: "RedisAbout", *, accepts_loss: bool) -> Iterator[Finding]:
    """Report the settings of a Redis server that would lose messages or soon refuse them."""
    troubles = list(_redis_troubles(found, Level.WARN if accepts_loss else Level.FAIL))
    if not troubles:
        detail = f"Redis {found.version} accepts writes, keeps a log and evicts nothing; its clock is off by "
        yield Finding("redis", Level.OK, f"{detail}{abs(found.ahead_s):.2f} s")
    yield from troubles


def _redis_troubles(found: "RedisAbout", forgets: Level) -> Iterator[Finding]:
    if _release(found.version) < OLDEST_REDIS:
        yield Finding("redis", Level.FAIL, f"it is Redis {found.version}", "7.0 or newer is needed")
    yield from _replication_troubles(found)
    if not found.keeps_log:
        mend = "on the server: CONFIG SET appendonly yes, then CONFIG REWRITE"
        yield Finding("redis", forgets, "it keeps no log of its writes: a restart forgets messages", mend)
    elif found.syncs not in {"", "always"}:
        detail = f"it syncs its log later (appendfsync {found.syncs}): a crash may lose its last confirmed writes"
        yield Finding("redis", Level.WARN, detail, "on the server: CONFIG SET appendfsync always, then CONFIG REWRITE")
    if found.log_trouble:
        yield Finding("redis", Level.FAIL, "it could not write its log", "check its disk and its own log")
    if found.policy != "noeviction":
        mend = "on the server: CONFIG SET maxmemory-policy noeviction, then CONFIG REWRITE"
        yield Finding("redis", forgets, f"it evicts keys when memory is short ({found.policy})", mend)
    if found.cluster_state != "ok":
        yield Finding(
            "redis", Level.FAIL, "its cluster accepts no writes now", "run: redis-cli --cluster check HOST:PORT"
        )
    if found.memory_share > FULL:
        detail = f"{found.memory_share:.0%} of its memory limit is used; at 100% it accepts nothing"
        yield Finding("redis", Level.WARN, detail, "raise maxmemory")
    if abs(found.ahead_s) > SKEW_S:
        way = "ahead of" if found.ahead_s > 0 else "behind"
        detail = f"its clock is {abs(found.ahead_s):.1f} s {way} this machine's"
        yield Finding("redis", Level.WARN, detail, "synchronise both clocks by NTP")


def _replication_troubles(found: "RedisAbout") -> Iterator[Finding]:
    if found.is_replica:
        mend = "name the primary, or a sentinel, in redis.url"
        yield Finding("redis", Level.FAIL, "it is a replica, which accepts no writes", mend)
    if found.writes_alone:
        detail = "it has a replica and takes writes without it: after a failover it may confirm what is then lost"
        mend = "on both servers: CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 2, then CONFIG REWRITE"
        yield Finding("redis", Level.WARN, detail, mend)


# --- Qdrant


async def _qdrant(settings: "QdrantSettings", environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    import httpx2

    source = settings.api_key()
    headers = {"api-key": source.read(environ)} if source else {}
    try:
        verify = ssl.create_default_context(cafile=settings.ca_file) if settings.ca_file else True
    except OSError as exc:
        mend = "name a PEM file; searches use keywords in the files"
        yield Finding("qdrant", Level.FAIL, f"qdrant.ca_file cannot be read: {exc}", mend)
        return
    for url in (str(settings.url), *settings.other_urls):
        client = httpx2.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE_S, trust_env=False, verify=verify)
        try:
            async with client:
                version, listed = await client.get("/"), await client.get("/collections")
        except httpx2.HTTPError as exc:
            rest = (
                "the cluster's other nodes are asked" if settings.other_urls else "searches use keywords in the files"
            )
            detail = f"{url} does not answer ({type(exc).__name__}); {rest}"
            yield Finding("qdrant", Level.FAIL, detail, "start it, or correct qdrant.url")
            continue
        for finding in _clock(url, listed.headers.get("date", "")):
            yield finding
        for finding in qdrant_findings(settings, url, _json(version), listed.status_code, _json(listed)):
            yield finding


def _clock(url: str, date: str) -> Iterator[Finding]:
    try:
        ahead_s = parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError:
        return
    if abs(ahead_s) > SKEW_S + 1:  # the header has whole seconds
        way = "ahead of" if ahead_s > 0 else "behind"
        detail = f"the clock of {url} is {abs(ahead_s):.0f} s {way} this machine's; answers do not depend on it"
        yield Finding(
            "qdrant", Level.WARN, detail, "synchronise both clocks by NTP: certificates and keys expire by them"
        )


def qdrant_findings(settings: "QdrantSettings", url: str, greeting: Any, status: int, listed: Any) -> Iterator[Finding]:
    """Report the missing abilities of a node with this greeting, status and list of collections."""
    version = str(greeting.get("version", "")) if isinstance(greeting, dict) else ""
    if not version:
        detail = f"the server at {url} is not Qdrant"
        yield Finding("qdrant", Level.FAIL, detail, "correct qdrant.url; its port is 6333, not 6334")
        return
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        mend = "name the variable that holds it in qdrant.api_key_env"
        yield Finding("qdrant", Level.FAIL, f"Qdrant {version} rejects the API key", mend)
        return
    if fault := version_fault(version):
        detail, mend = fault.split("; ")
        yield Finding("qdrant", Level.FAIL, detail, mend)
        return
    yield from _collections(settings, version, _names(listed))


def _collections(settings: "QdrantSettings", version: str, names: Sequence[str]) -> Iterator[Finding]:
    ours = sum(name.startswith(f"{settings.prefix}_") for name in names)
    yield Finding("qdrant", Level.OK, f"Qdrant {version}, {ours} of its {len(names)} collections are ours")
    if ours > MANY_COLLECTIONS:
        mend = "divide the agents among several servers, each with gateways and a home of its own"
        yield Finding("qdrant", Level.WARN, f"{ours} collections of ours, more than Qdrant advises", mend)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _json(answer: Any) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None


def _names(listed: Any) -> list[str]:
    try:
        return [str(each["name"]) for each in listed["result"]["collections"]]
    except (KeyError, TypeError):
        return []
