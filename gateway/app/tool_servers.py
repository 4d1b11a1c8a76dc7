"""Builds the settings of the configured tool servers, and notifies the owner of servers that are away."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from gateway.agent.mcp.server import Standing, ToolServer
from gateway.agent.mcp.settings import ProgramServer, ServerSettings, Site
from gateway.app.house import is_here_server
from gateway.config import Config, McpSettings
from gateway.delivery.owner_notices import Notices
from gateway.home import Home
from gateway.settings.secrets import secret_gaps
from gateway.stores.ports import Store

KEPT_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR")
"""Environment variables passed to every program; none is a key."""


def server_settings(config: Config, environ: Mapping[str, str], home: Home) -> list[ServerSettings]:
    """Return the settings of each tool server that may run; programs start in the folder of *home*.

    While a restore has disabled the home's code, none has a command. One whose secret is missing is left out.
    """
    return [
        ServerSettings(
            name,
            _place(name, server, environ, home.path),
            server,
            is_here_server(config.house, name, server.url),
        )
        for name, server in config.mcp.items()
        if (home.runs_code or not server.command) and not secret_gaps(server.secret_sources(name), environ)
    ]


async def tell_of_tool_server(
    notices: Notices, store: Store, clock: Callable[[], datetime], server: ToolServer, standing: Standing
) -> None:
    """Tell the owner that a tool server is away: once until it has come up, and once a day at most. Raises StoreError.

    Of one that is slow to start they are told once for all, since it may be so at every start.
    """
    name = server.settings.name
    key = f"tool_server:{name}"
    known = await store.get(key) or ""
    if standing is Standing.UP:
        if known:
            await store.put(key, "")
    elif standing is Standing.STARTING:
        await notices.tell(
            f"{key}:starting",
            f"The tool server {name} is still starting, so an answer was given without its tools; they are available "
            "once it is up. `strandline doctor` starts it separately and reports the result.",
        )
    elif not known:
        await notices.tell(
            f"{key}:{clock():%Y-%m-%d}",
            f"The tool server {name} is unavailable: {server.trouble}. Until it is back, answers are given without "
            "its tools. It is retried automatically; `strandline doctor` says what to do; its settings are under "
            f"[mcp.{name}].",
        )
        await store.put(key, "down")


def _place(name: str, server: McpSettings, environ: Mapping[str, str], folder: Path) -> ProgramServer | Site:
    if server.url is not None:
        token = server.token(name)
        return Site(server.url, token.read(environ) if token else None)
    kept = {each: environ[each] for each in KEPT_VARIABLES if each in environ}
    given = {each: server.variable(name, each).read(environ) for each in server.env_from}
    return ProgramServer(server.command, kept | given, folder)
