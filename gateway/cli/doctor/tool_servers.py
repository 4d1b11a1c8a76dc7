"""Check of `strandline doctor` that asks each tool server for its tools."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from gateway.agent.mcp.settings import ProgramServer, ServerSettings
from gateway.control.finding import Finding, Level
from gateway.errors import ConfigError
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.config import Config


async def check_tool_servers(config: "Config", environ: Mapping[str, str], home: Home) -> AsyncIterator[Finding]:
    """Start or contact each server as a turn would; a missing secret was reported before."""
    from gateway.app.tool_servers import server_settings
    from gateway.observability.logs import logging_to_stderr

    try:
        settings = server_settings(config, environ, home)
    except ConfigError:
        return
    with logging_to_stderr("error", config.gateway.log_format):  # a fault is a finding
        for each in settings:
            yield await _look(each)


async def try_server(name: str, config: "Config", environ: Mapping[str, str], home: Home) -> Finding:
    """Let the server *name* of *config* run once, and return what it offers."""
    from gateway.app.tool_servers import server_settings
    from gateway.observability.logs import logging_to_stderr

    with logging_to_stderr("error", config.gateway.log_format):
        for each in server_settings(config, environ, home):
            if each.name == name:
                return await _look(each)
    mend = "strandline hooks enable" if not home.runs_code else "paste its token again"
    return Finding(f"tool-server.{name}", Level.WARN, "it may not run", mend)


async def _look(settings: ServerSettings) -> Finding:
    """Let one server run once; the gateway works without its tools."""
    from gateway.agent.mcp.servers import open_servers
    from gateway.runtime.clock import utc_now

    async with open_servers([settings], utc_now, _ignore_count) as servers:
        (server,) = servers.servers
        await server.tools()
        found, troubles = server.offered.specs, server.troubles()
    check = f"tool-server.{settings.name}"
    if troubles or not found:
        detail = "; ".join(troubles) or "it lists no tools yet: it is still starting, or has none"
        if server.last_line:
            detail += f'; the last line of its standard error: "{server.last_line}"'
        return Finding(check, Level.WARN, detail, _mend(settings))
    return Finding(check, Level.OK, f"{len(found)} {'tool' if len(found) == 1 else 'tools'}: {', '.join(found)}")


def _mend(settings: ServerSettings) -> str:
    place = settings.place
    if isinstance(place, ProgramServer):
        return f"try it in {place.folder}: {shlex.join(place.command)}; its settings are under [mcp.{settings.name}]"
    return f"check that {place.url} answers; its settings are under [mcp.{settings.name}]"


async def _ignore_count(_: str) -> None:
    await asyncio.sleep(0)
