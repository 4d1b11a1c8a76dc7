"""This file is what every table of the configuration shares: strictness, and the kinds of values."""

import ipaddress
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo

from gateway.config.zone import load_zone


def _rooted(path: Path, info: ValidationInfo) -> Path:
    base = (info.context or {}).get("folder", Path())
    return Path(base) / path.expanduser()


def _plain_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an address that begins with http:// or https://")
    if parts.username or parts.password:
        raise ValueError("must not hold a password; use the setting for the secret")
    return url.rstrip("/")


def _socket_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"ws", "wss"} or not parts.hostname or parts.username or parts.password:
        raise ValueError("must be an address that begins with ws:// or wss://, without a password")
    return url


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach what listens at *host*."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _known_zone(name: str) -> str:
    if load_zone(name) is None:
        raise ValueError('must be a time zone such as "Europe/Berlin"')
    return name


AgentName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=64)]
EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
BotName = Annotated[str, StringConstraints(pattern=r"^(telegram|discord):[a-z0-9][a-z0-9-]*$", max_length=80)]
PersonId = Annotated[str, StringConstraints(pattern=r"^(telegram|discord):[0-9]+$")]
ChatId = Annotated[str, StringConstraints(pattern=r"^-?[0-9]+$")]
RootedPath = Annotated[Path, AfterValidator(_rooted)]
Url = Annotated[str, AfterValidator(_plain_url)]
SocketUrl = Annotated[str, AfterValidator(_socket_url)]
TimeZone = Annotated[str, AfterValidator(_known_zone)]
Temperature = Annotated[float, Field(ge=0, le=2)]


class Section(BaseModel):
    """A table of the file: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, hide_input_in_errors=True)
