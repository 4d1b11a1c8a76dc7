"""Connects to the writable Redis server, rejects one that could lose data, and explains connection faults."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from gateway.errors import ConfigError, StoreError
from gateway.settings.stores import RedisSettings, Tls
from gateway.stores.ports import LeaseLostError, RowStateError, StoreServerError
from gateway.stores.redis.tls import check_tls, tls_fault, tls_options

OLDEST = (7, 0)
SENTINEL_PORT = 26_379


class SentinelRefusalError(AuthenticationError):
    """A sentinel rejected our login; its password may differ from the server's."""


@dataclass(slots=True)
class RedisAddress:
    """Address and credentials of the store."""

    url: str
    """`redis://host:port/0`, `unix:///path`, or `redis+sentinel://host:port,host:port/<name>/0`; with `rediss` in place
    of `redis` by TLS."""
    password: str | None = field(default=None, repr=False)
    timeout_s: float = 5.0
    """Seconds that one round trip may take before the connection counts as broken."""
    patience_s: float = 5.0
    """Seconds that an unsent operation waits for a server that does not answer before it fails."""
    moved_to: tuple[str, int] | None = None
    """Address to which a cluster has redirected our keys."""
    sentinel_password: str | None = field(default=None, repr=False)
    tls: Tls = field(default_factory=Tls)

    def __str__(self) -> str:
        return self.url if self.moved_to is None else f"{self._scheme}://{self.moved_to[0]}:{self.moved_to[1]}"

    @property
    def _scheme(self) -> str:
        return urlsplit(self.url).scheme.removesuffix("+sentinel")

    @property
    def _tls_options(self) -> dict[str, Any]:
        return tls_options(self.tls) if self._scheme == "rediss" else {}

    @property
    def lacks_certificate(self) -> bool:
        """Whether TLS is used and we have no client certificate."""
        return self._scheme == "rediss" and self.tls.cert_file is None

    async def connect(self) -> Redis:
        """Return a client of the server that accepts writes now. Raises RedisError or OSError."""
        client = self._client(await self._address())
        try:
            await client.ping()
        except BaseException as exc:
            await client.aclose()
            if isinstance(exc, RedisError | OSError):
                self.moved_to = None  # the server last named may be gone; the one in the settings knows the current one
            raise
        return client

    def heed(self, exc: RedisError | OSError) -> None:
        """Remember the address to which a cluster redirects our keys."""
        if isinstance(exc, MovedError):
            here = self.moved_to[0] if self.moved_to else urlsplit(self.url).hostname
            self.moved_to = exc.host or str(here), exc.port  # a node that does not know its own name says ":port"

    async def _address(self) -> str:
        parts = urlsplit(self.url)
        if parts.scheme.endswith("+sentinel"):
            name, _, database = parts.path.strip("/").partition("/")
            return f"{self._scheme}://{_netloc(*await self._discover(parts.netloc, name))}/{database or 0}"
        return parts._replace(netloc=_netloc(*self.moved_to)).geturl() if self.moved_to else self.url

    def _client(self, address: str) -> Redis:
        return Redis.from_url(
            address,
            password=self.password,
            protocol=2,
            decode_responses=True,
            encoding_errors="surrogateescape",  # a stored text that is not UTF-8 must not break the connection
            socket_timeout=self.timeout_s,
            socket_connect_timeout=self.timeout_s,
            retry=Retry(NoBackoff(), 0),
            **self._tls_options,
        )

    async def _discover(self, hosts: str, name: str) -> tuple[str, int]:
        watchers = [(each.partition(":")[0], int(each.partition(":")[2] or SENTINEL_PORT)) for each in hosts.split(",")]
        options: dict[str, Any] = {"socket_timeout": self.timeout_s, "socket_connect_timeout": self.timeout_s}
        options |= {"protocol": 2, "password": self.sentinel_password, "ssl": self._scheme == "rediss"}
        options |= self._tls_options
        sentinel = Sentinel(watchers, sentinel_kwargs=options)  # type: ignore[no-untyped-call]
        try:
            host, port = await sentinel.discover_master(name)
        except MasterNotFoundError:
            await self._complain(sentinel)
            raise
        finally:
            for each in sentinel.sentinels:
                await each.aclose()
        return str(host), int(port)

    async def _complain(self, sentinel: Sentinel) -> None:
        """Raise the sentinel's actual error, which redis-py treats as its absence."""
        for each in sentinel.sentinels:
            try:
                await each.ping()
            except AuthenticationError as exc:
                raise SentinelRefusalError(str(exc)) from None
            except RedisConnectionError as exc:
                if tls_fault(exc):
                    raise


def server_of(settings: RedisSettings, environ: Mapping[str, str], timeout_s: float = 5.0) -> RedisAddress:
    """Return the server in the *settings*, which must have a url.

    Raises ConfigError for a missing secret, or an unusable TLS file.
    """
    passwords = [
        source.read(environ) if source else None for source in (settings.password(), settings.sentinel_password())
    ]
    check_tls(settings)
    return RedisAddress(str(settings.url), passwords[0], timeout_s, sentinel_password=passwords[1], tls=settings)


def end_if_cancelled() -> None:
    """End a task that was cancelled while redis-py connected or read: it can swallow the cancellation, and a loop would
    go on."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _netloc(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def check(client: Redis, server: RedisAddress, *, accept_loss: bool) -> None:
    """Reject a server that is too old or, unless *accept_loss*, may lose confirmed writes. Raises ConfigError."""
    about = await client.info()
    version = str(about["redis_version"])
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        raise ConfigError(f"redis.url: {server} is Redis {version}; 7.0 or newer is needed")
    wrong = list(_would_forget(bool(about["aof_enabled"]), str(about["maxmemory_policy"])))
    if wrong and not accept_loss:
        raise ConfigError(
            f"redis.url: {server} may lose messages that it confirmed: {'; '.join(wrong)}. Set `appendonly yes` and "
            "`maxmemory-policy noeviction` on the server, or redis.accept_loss = true to mean it"
        )


def _would_forget(keeps_log: bool, policy: str) -> Sequence[str]:
    kept_log = [] if keeps_log else ["it keeps no log of its writes (appendonly is no)"]
    evicts = [] if policy == "noeviction" else [f"it evicts keys when memory is short (maxmemory-policy {policy})"]
    return kept_log + evicts


_SAID = {
    AuthenticationError: "{server} rejects the password ({exc}); check redis.password_env",
    AuthorizationError: "{server} rejects the password ({exc}); check redis.password_env",
    ReadOnlyError: "{server} is a replica, which accepts no writes; name the primary, or a sentinel, in redis.url",
    OutOfMemoryError: "{server} is out of memory; nothing was stored. Give it more, or raise maxmemory",
    BusyLoadingError: "{server} is still loading its data",
    TryAgainError: "the cluster at {server} is moving our keys",
    AskError: "the cluster at {server} is moving our keys",
    MovedError: "the cluster at {server} keeps our keys elsewhere ({exc}); that is tried next",
    ClusterDownError: "the cluster at {server} accepts no writes now ({exc})",
    MasterDownError: "the cluster at {server} accepts no writes now ({exc})",
    SentinelRefusalError: "a sentinel of {server} rejects the password ({exc}); check redis.sentinel_password_env",
    MasterNotFoundError: "no sentinel of {server} knows a primary ({exc}); if it stays so, "
    "check the name after the hosts in redis.url",
    ResponseError: "{server} refuses what is asked of it ({exc}); nothing was stored",
    RedisError: "{server} does not answer ({exc})",
    OSError: "{server} does not answer ({exc})",
}


def describe_error(exc: RedisError | OSError, server: RedisAddress) -> str:
    """Return *exc*, raised while talking to *server*, as a sentence with its remedy."""
    cause = exc.__cause__ if isinstance(exc.__cause__, RedisError) else exc  # redis-py wraps the handshake's error
    if _is_without_replica(cause):
        return f"{server} takes no writes without a replica in step (min-replicas-to-write)"
    by_tls = tls_fault(exc, lacks_certificate=server.lacks_certificate)
    sentence = by_tls or next(_SAID[kind] for kind in type(cause).__mro__ if kind in _SAID)
    return sentence.format(server=server, exc=str(exc) or type(exc).__name__)


def remedy(exc: RedisError | OSError) -> str:
    """Return the remedy for a server that cannot be reached, after `describe_error`; that names any other one."""
    is_absent = type(exc) in {RedisConnectionError, RedisTimeoutError} or isinstance(exc, OSError)
    return "; start it, or correct redis.url in config.toml" if is_absent and not tls_fault(exc) else ""


def is_elsewhere(reply: object) -> bool:
    """Return whether a *reply* means that the server did nothing, and another one, or this one in a moment, will."""
    known = ReadOnlyError | AskError | TryAgainError | ClusterDownError | BusyLoadingError
    return isinstance(reply, known) or _is_without_replica(reply)


def _is_without_replica(reply: object) -> bool:
    """Return whether a primary with `min-replicas-to-write` took nothing: it may have an heir."""
    return isinstance(reply, ResponseError) and str(reply).startswith("NOREPLICAS")


def refusal_error(exc: RedisError, server: RedisAddress) -> StoreError:
    """Return the server's rejection of one operation, which had no effect, as our error."""
    code, _, text = str(exc).partition(" ")
    match code:
        case "FENCE":
            return LeaseLostError("the lease ran out, so another gateway may write here; nothing was stored")
        case "LOST":
            return LeaseLostError(f"{server} has lost messages that it confirmed; nothing was stored")
        case "STATE":
            return RowStateError(f"{text}: the change does not start from there")
        case _:
            return StoreServerError(describe_error(exc, server))
