"""Settings of a tool server."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct
from pydantic import Field, StringConstraints

from gateway.settings.secrets import SecretSource, refuse_two_places
from gateway.settings.section import EnvName, RootedPath, Url

McpName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=24)]
"""Prefix of the names of a server's tools, of which providers accept 64 characters."""
_Word = Annotated[str, StringConstraints(min_length=1, max_length=4_000)]
_ToolName = Annotated[str, StringConstraints(min_length=1, max_length=128)]


@dataclass(frozen=True, slots=True)
class ProgramServer:
    """A server that runs as a local program, and communicates by its standard input and output."""

    command: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)
    """Its complete environment."""
    folder: Path
    """Its working folder; a relative `command` is resolved there."""


@dataclass(frozen=True, slots=True)
class Site:
    """A server at an address (streamable HTTP)."""

    url: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ToolServerRules:
    """Where and how a server's tools are offered."""

    sessions: tuple[Literal["main", "guest", "group", "subagent", "cron", "heartbeat"], ...] = ("main",)
    """The session types in which they are offered."""
    tools: tuple[_ToolName, ...] | None = None
    """The only ones that are offered, by the server's own names; `None` offers all."""
    trusted: bool = False
    """No call of them waits for approval, not even in a turn that has read others' words."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30
    """How long one call may take."""


@dataclass(frozen=True, slots=True)
class McpSettings(ToolServerRules):
    """A server of tools as configured; its name prefixes theirs."""

    command: tuple[_Word, ...] = ()
    """The program and its arguments; started when a turn may first use it."""
    env_from: tuple[EnvName, ...] = ()
    """Variables of the gateway's environment that the program receives too."""
    url: Url | None = None
    token_env: EnvName | None = None
    token_file: RootedPath | None = None

    def __post_init__(self) -> None:
        if bool(self.command) == (self.url is not None):
            raise ValueError('needs either command, such as ["uvx", "mcp-server-time"], or url')
        if self.command and (self.token_env is not None or self.token_file is not None):
            raise ValueError("a token is for url; a command is given its secrets by env_from")
        if self.url is not None and self.env_from:
            raise ValueError("env_from is for command; url has token_env or token_file")
        refuse_two_places("token", self.token_env, self.token_file)

    def token(self, name: str) -> SecretSource | None:
        """Return the source of the token for the server at `url`; *name* is the server's in the file."""
        if self.token_env is None and self.token_file is None:
            return None
        return SecretSource.of(f"mcp.{name}.token", self.token_env, self.token_file)

    def variable(self, name: str, variable: str) -> SecretSource:
        """Return the source of the value of *variable*; *name* is the server's in the file."""
        return SecretSource(f"mcp.{name}.env_from", variable, None)

    def secret_sources(self, name: str) -> Iterator[SecretSource]:
        """Yield the sources of every secret passed to the server; *name* is its own in the file."""
        yield from (self.variable(name, each) for each in self.env_from)
        if token := self.token(name):
            yield token


class ServerSettings(Struct, frozen=True):
    """One tool server."""

    name: str
    """Prefix of its tools' names."""
    place: ProgramServer | Site
    rules: ToolServerRules = ToolServerRules()  # frozen
    is_here: bool = False
    """What it is told stays on the owner's machines, as its address or the owner says."""
