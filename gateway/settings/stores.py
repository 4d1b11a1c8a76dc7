"""Settings of servers that keep state: Qdrant for the index, Redis for the rest."""

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from gateway.settings.secrets import SecretSource
from gateway.settings.section import EnvName, Section, Url


class QdrantSettings(Section):
    """A Qdrant server that keeps the index instead of the engine inside the gateway."""

    url: Url | None = None
    """Not set: the embedded engine."""
    api_key_env: EnvName | None = None
    timeout_s: float = Field(default=5, ge=1, le=60)
    prefix: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$", max_length=40)] = "strandline"
    layout: Literal["agent", "shared"] = "agent"
    replication_factor: Annotated[int, Field(ge=1, le=32)] | None = None
    """Not set: the server's own default."""
    write_consistency_factor: Annotated[int, Field(ge=1, le=32)] | None = None
    read_consistency: Annotated[int, Field(ge=1, le=32)] | Literal["majority", "quorum", "all"] | None = None

    @field_validator("write_consistency_factor")
    @classmethod
    def _can_be_met(cls, confirmed: int | None, given: ValidationInfo) -> int | None:
        replicas = given.data.get("replication_factor")
        if confirmed is not None and replicas is not None and confirmed > replicas:
            raise ValueError(
                f"must not be more than replication_factor, which is {replicas}: no write would be confirmed"
            )
        return confirmed

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


class RedisSettings(Section):
    """A Redis or Valkey with all durable state, for several gateways at once."""

    url: Annotated[str, AfterValidator(_redis_url)] | None = None
    """Not set: a file in the home, for one gateway."""
    password_env: EnvName | None = None
    sentinel_password_env: EnvName | None = None
    ca_file: Path | None = None
    """Not set: the system's certificate authorities."""
    cert_file: Path | None = None
    key_file: Path | None = None
    prefix: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$", max_length=40)] = "strandline"
    lease_s: float = Field(default=10, ge=2, le=300)
    accept_loss: bool = False

    def password(self) -> SecretSource | None:
        """Return the source of the server's password, `None` if it needs none."""
        return SecretSource("redis.password_env", self.password_env, None) if self.url and self.password_env else None

    def sentinel_password(self) -> SecretSource | None:
        """Return the source of the sentinels' password, `None` if they need none."""
        name = self.sentinel_password_env if self.url else None
        return SecretSource("redis.sentinel_password_env", name, None) if name else None

    @model_validator(mode="after")
    def _means_what_it_says(self) -> "RedisSettings":
        scheme = urlsplit(self.url or "").scheme
        if any((self.ca_file, self.cert_file, self.key_file)) and scheme not in _ENCRYPTED:
            raise ValueError("ca_file, cert_file and key_file are for a url that begins with rediss")
        if bool(self.cert_file) != bool(self.key_file):
            raise ValueError("cert_file and key_file belong together")
        if self.sentinel_password_env and not scheme.endswith("+sentinel"):
            raise ValueError("sentinel_password_env is for a url that begins with redis+sentinel or rediss+sentinel")
        return self
