"""Settings of servers that keep state: Qdrant for the index, Redis for the rest."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints

from gateway.settings.secrets import SecretSource
from gateway.settings.section import EnvName, Url
from workspaces.memory.index.settings import ONE_NODE, QdrantServer

_Prefix = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$", max_length=40)]


@dataclass(frozen=True, slots=True)
class QdrantSettings(QdrantServer):
    """A Qdrant server that keeps the index instead of the engine inside the gateway."""

    url: Url | None = None
    prefix: _Prefix = ONE_NODE.prefix
    other_urls: tuple[Url, ...] = ()
    api_key_env: EnvName | None = None

    def __post_init__(self) -> None:
        QdrantServer.__post_init__(self)
        if self.other_urls and not self.url:
            raise ValueError("other_urls are further nodes of the cluster whose first one is url")
        if self.ca_file and not (self.url or "").startswith("https"):
            raise ValueError("ca_file is for a url that begins with https")

    def api_key(self) -> SecretSource | None:
        """Return the source of the server's key, `None` if it needs none."""
        return (
            SecretSource("qdrant.api_key_env", self.api_key_env, None, in_header=True)
            if self.url and self.api_key_env
            else None
        )


_ENCRYPTED = {"rediss", "rediss+sentinel"}


def _redis_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {*_ENCRYPTED, "redis", "unix", "redis+sentinel"} or not (parts.netloc or parts.path):
        raise ValueError("must begin with redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://")
    if "@" in parts.netloc:
        raise ValueError("must not hold a password; use the setting for the secret")
    return url


@dataclass(frozen=True, slots=True)
class Tls:
    """How both ends authenticate; names of PEM files."""

    ca_file: Path | None = None
    """Authority of the server's certificate; not set: the system's trusted ones."""
    cert_file: Path | None = None
    """Our own certificate, if the server requires one."""
    key_file: Path | None = None


@dataclass(frozen=True, slots=True)
class RedisSettings(Tls):
    """A Redis or Valkey with all durable state, for several gateways at once."""

    url: Annotated[str, AfterValidator(_redis_url)] | None = None
    """Not set: a file in the home, for one gateway."""
    password_env: EnvName | None = None
    sentinel_password_env: EnvName | None = None
    prefix: _Prefix = "strandline"
    lease_s: Annotated[float, Field(ge=2, le=300)] = 10
    accept_loss: bool = False

    def password(self) -> SecretSource | None:
        """Return the source of the server's password, `None` if it needs none."""
        return SecretSource("redis.password_env", self.password_env, None) if self.url and self.password_env else None

    def sentinel_password(self) -> SecretSource | None:
        """Return the source of the sentinels' password, `None` if they need none."""
        name = self.sentinel_password_env if self.url else None
        return SecretSource("redis.sentinel_password_env", name, None) if name else None

    def __post_init__(self) -> None:
        scheme = urlsplit(self.url or "").scheme
        if any((self.ca_file, self.cert_file, self.key_file)) and scheme not in _ENCRYPTED:
            raise ValueError("ca_file, cert_file and key_file are for a url that begins with rediss")
        if bool(self.cert_file) != bool(self.key_file):
            raise ValueError("cert_file and key_file belong together")
        if self.sentinel_password_env and not scheme.endswith("+sentinel"):
            raise ValueError("sentinel_password_env is for a url that begins with redis+sentinel or rediss+sentinel")
