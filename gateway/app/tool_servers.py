"""Builds the settings of the configured tool servers."""

from collections.abc import Mapping
from pathlib import Path

from gateway.agent.mcp.settings import Program, ServerSettings, Site
from gateway.config import Config, McpSettings
from gateway.home import Home
from workspaces.access import SessionType

KEPT_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR")
"""Environment variables passed to every program; none is a key."""


def server_settings(config: Config, environ: Mapping[str, str], home: Home) -> list[ServerSettings]:
    """Return the settings of each tool server that may run; programs start in the folder of *home*.

    While a restore has disabled the home's code, none has a command. Raises ConfigError for a missing secret.
    """
    return [
        ServerSettings(
            name,
            _place(name, server, environ, home.path),
            frozenset(map(SessionType, server.sessions)),
            None if server.tools is None else frozenset(server.tools),
            server.timeout_s,
        )
        for name, server in config.mcp.items()
        if home.runs_code or not server.command
    ]


def _place(name: str, server: McpSettings, environ: Mapping[str, str], folder: Path) -> Program | Site:
    if server.url is not None:
        token = server.token(name)
        return Site(server.url, token.read(environ) if token else None)
    kept = {each: environ[each] for each in KEPT_VARIABLES if each in environ}
    given = {each: server.variable(name, each).read(environ) for each in server.env_from}
    return Program(server.command, kept | given, folder)
