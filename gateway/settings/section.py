"""The base of every configuration table: strictness, and the kinds of values."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, model_validator

from gateway.settings.zone import load_zone
from workspaces.lazy_pattern import lazy_pattern


def _rooted(path: Path, info: ValidationInfo) -> Path:
    base = (info.context or {}).get("folder", Path())
    return Path(base) / path.expanduser()


_HOST = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}", re.ASCII)
_URL = lazy_pattern(
    r"(?P<scheme>[a-z]+)://(?:\[(?P<numeric>[0-9A-Fa-f:.]{2,45})\]|(?P<host>[A-Za-z0-9._-]{1,253}))"
    r"(?::(?P<port>[0-9]{1,5}))?(?:[/?][^\s\\#]*)?",
    re.ASCII,
)
_LAST_PORT = 65_535


def _checked_url(url: str, schemes: tuple[str, str]) -> str:
    """Return *url* if every parser reads the same host from it.

    Raises ValueError, without the text: it may be secret.
    """
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ValueError("must not hold a password or a name before an @; use the setting for the secret")
    found = _URL.fullmatch(url)
    host = (found["numeric"] or found["host"]) if found else ""
    if found is None or found["scheme"] not in schemes or not _is_host(host):
        raise ValueError(
            f"must be an address that begins with {schemes[0]}:// or {schemes[1]}://, then the name or IP address of a "
            "machine, without blanks, # or \\"
        )
    if found["port"] and not 1 <= int(found["port"]) <= _LAST_PORT:
        raise ValueError(f"its port must be from 1 to {_LAST_PORT}")
    return url


def _is_host(host: str) -> bool:
    """Return whether *host* is an IP address or a host name as written."""
    if ":" not in host:
        return _HOST.fullmatch(host) is not None
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def _listening_host(host: str) -> str:
    if not _is_host(host):
        raise ValueError('must be an IP address or the name of this machine, such as "127.0.0.1", without a port')
    return host


def is_loopback(host: str) -> bool:
    """Return whether a listener at *host* can be reached from this machine only."""
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
ChannelName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=64)]
BotName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*:[a-z0-9][a-z0-9-]*$", max_length=80)]
PERSON = r"^[a-z][a-z0-9-]*:\S+$"
"""A channel and the id that the platform gives; the channel's own settings say how its ids look."""
PersonId = Annotated[str, StringConstraints(pattern=PERSON, max_length=200)]
PlatformId = Annotated[str, StringConstraints(pattern=r"^\S+$", max_length=200)]
"""Id of a chat, server or role, in the platform's own form."""
ChatId = Annotated[str, StringConstraints(pattern=r"^-?[0-9]+$")]
RootedPath = Annotated[Path, AfterValidator(_rooted)]
Host = Annotated[str, AfterValidator(_listening_host)]
Url = Annotated[str, AfterValidator(lambda url: _checked_url(url, ("http", "https")).rstrip("/"))]
SocketUrl = Annotated[str, AfterValidator(lambda url: _checked_url(url, ("ws", "wss")))]
TimeZone = Annotated[str, AfterValidator(_known_zone)]
Temperature = Annotated[float, Field(ge=0, le=2)]


class Section(BaseModel):
    """A table of the file: unknown keys are rejected, values are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, hide_input_in_errors=True)


class ServerSection(Section):
    """The address of one of the gateway's own servers."""

    host: Host = "127.0.0.1"
    port: int = Field(default=0, ge=0, le=65_535)
    """0: a free one."""
    allow_remote: bool = False

    @model_validator(mode="after")
    def _is_loopback_or_allowed(self) -> Self:
        if not self.allow_remote and not is_loopback(self.host):
            raise ValueError("host is not loopback; other machines could reach it: set allow_remote = true to mean it")
        return self
