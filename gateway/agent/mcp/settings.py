"""This file is what is known of a tool server before it is asked anything."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workspaces.access import SessionType


@dataclass(frozen=True, slots=True)
class Program:
    """A server that is started here, and talks by its standard input and output."""

    command: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)
    """All of its environment."""
    folder: Path
    """Where it is started; a relative `command` is looked for there."""


@dataclass(frozen=True, slots=True)
class Site:
    """A server at an address (streamable HTTP)."""

    url: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """One tool server."""

    name: str
    """Its tools' names begin with it."""
    place: Program | Site
    sessions: frozenset[SessionType] = frozenset({SessionType.MAIN})
    """The kinds of conversation in which its tools are offered."""
    allowed: frozenset[str] | None = None
    """The only tools that are taken, by the server's own names; `None` takes all."""
    timeout_s: float = 30
    """How long one call may take."""
