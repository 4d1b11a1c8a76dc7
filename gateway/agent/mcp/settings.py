"""Settings of a tool server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workspaces.access import SessionType


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
class ServerSettings:
    """One tool server."""

    name: str
    """Prefix of its tools' names."""
    place: ProgramServer | Site
    sessions: frozenset[SessionType] = frozenset({SessionType.MAIN})
    """The session types in which its tools are offered."""
    allowed: frozenset[str] | None = None
    """The only tools that are offered, by the server's own names; `None` offers all."""
    is_trusted: bool = False
    """Its tools never wait for approval, whatever the turn has read."""
    timeout_s: float = 30
    """How long one call may take."""
