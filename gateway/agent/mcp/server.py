"""Life cycle of one tool server: started on first use, stopped when it fails, restarted after a delay."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

import structlog
from msgspec import structs
from pydantic import JsonValue, RootModel

from gateway.agent.mcp.offered import Called, Offer, offer, result_text
from gateway.agent.mcp.settings import ServerSettings
from gateway.agent.tools.tool import FromOutside, Told, Tool, done
from gateway.errors import McpError, StoreError, ToolError, first_error
from gateway.runtime.clock import is_ahead, unless
from workspaces.backoff import Backoff
from workspaces.extras import install_command

if TYPE_CHECKING:
    from gateway.agent.mcp.link import ToolServerLink

log = structlog.get_logger()

UNAVAILABLE = "mcp_unavailable"
"""Counted whenever a server could not be started, or disconnected."""
START_S = 60.0
"""How long a server may take to list its tools: some are downloaded at their first start."""
PATIENCE_S = 5.0
"""How long a turn waits for that; it goes on without the tools, and a later turn has them."""
RESTARTS = Backoff(1.0, 600.0)
"""Delays before a failed server is restarted."""
STEADY = timedelta(minutes=5)
"""After this uptime, earlier failures no longer count."""


class Standing(StrEnum):
    """State of a server as turns see it."""

    UP = "up"
    STARTING = "starting"
    """It still starts, and a turn went on without its tools."""
    DOWN = "down"


OpenLink = Callable[[ServerSettings], AbstractAsyncContextManager["ToolServerLink"]]

OnStanding = Callable[["ToolServer", Standing], Awaitable[None]]
"""Told each time that a server comes up, fails, or keeps a turn waiting in vain."""


Remember = Callable[[ServerSettings, Offer], Awaitable[Offer]]
"""Takes a server and its offer, and returns what of it holds after what it offered before. Raises StoreError."""


class _AnyArguments(RootModel[dict[str, JsonValue]]):
    """Any arguments that a model gives; the server validates them by its own schema."""


class ToolServer:
    """One server; every caller gets an answer within a bound, whatever the server does."""

    def __init__(
        self,
        settings: ServerSettings,
        clock: Callable[[], datetime],
        count: Callable[[str], Awaitable[None]],
        start: Callable[["ToolServer"], None],
        on_standing: OnStanding | None = None,
        remember: Remember | None = None,
    ) -> None:
        """*start* runs `run` in the background until the gateway stops."""
        self.settings = settings
        self.trouble = ""
        """Why its tools are unavailable, as text; empty while they are available, or before the first use."""
        self.last_line = ""
        """The last line of its standard error when it ended: somebody else's words, for a terminal."""
        self.offered = Offer({})
        self._clock = clock
        self._count = count
        self._start = start
        self._on_standing = on_standing
        self._remember = remember
        self._link: ToolServerLink | None = None
        self._settled = asyncio.Event()
        """Set once the availability of its tools is known."""
        self._fallen = asyncio.Event()
        """Set when a call showed that the connection is no longer usable."""
        self._running = False
        self._failures = 0
        self._rests_until: datetime | None = None

    async def tools(self) -> list[Tool]:
        """Return its tools, after a bounded wait; none while it is unavailable."""
        if not self._running and not self._is_resting():
            self._running = True
            self._settled.clear()
            self._start(self)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._settled.wait()
        except TimeoutError:
            await self._stands(Standing.STARTING)
        return self._tools() if self._link is not None else []

    @property
    def is_away(self) -> bool:
        """Its tools are not there now."""
        return self._link is None

    def troubles(self) -> list[str]:
        """Return the reasons why it is unavailable, or why some of its tools are not offered, one line each."""
        name = self.settings.name
        trouble = self.trouble or ("it is still starting" if self._running and self.is_away else "")
        away = [f"tool server {name}: {trouble}"] if trouble else []
        return [*away, *(f"tool server {name}: {each}" for each in self.offered.left_out)]

    async def run(self) -> None:
        """Connect, and stay connected until the server fails; no failure of the server is raised."""
        began = self._clock()
        try:
            await self._connected()
        except Exception as exc:  # noqa: BLE001 - somebody else's program: no failure of it may end the gateway
            if self._clock() - began > STEADY:
                self._failures = 0
            await self._failed(first_error(exc))
        finally:
            self._link = None
            self._running = False
            self._settled.set()

    async def _connected(self) -> None:
        opened = await asyncio.to_thread(_load)  # the library takes a second to load
        self._fallen.clear()
        async with asyncio.timeout(START_S) as starting, opened(self.settings) as link:
            self.offered = await self._as_known(
                offer(self.settings.name, await link.tools(), self.settings.rules.tools)
            )
            starting.reschedule(None)
            for each in self.offered.left_out:
                log.warning("a tool was skipped", server=self.settings.name, why=each)
            self._link, self.trouble = link, ""
            self._settled.set()
            await self._stands(Standing.UP)
            await unless(link.lost.event, self._fallen.wait())
            self._link = None
            raise McpError(self.trouble or link.lost.why)

    async def _as_known(self, listed: Offer) -> Offer:
        if self._remember is None:
            return listed
        try:
            return await self._remember(self.settings, listed)
        except StoreError as exc:
            log.error("the store cannot be read", detail=str(exc))
            return structs.replace(listed, closed=frozenset())

    async def _failed(self, exc: BaseException) -> None:
        self.trouble = why = _words(exc)
        self.last_line = exc.last_line if isinstance(exc, McpError) else ""
        rest_s = RESTARTS.delay_s(self._failures)
        self._failures += 1
        self._rests_until = self._clock() + timedelta(seconds=rest_s)
        log.warning(
            "a tool server is unavailable",
            server=self.settings.name,
            why=why,
            its_last_line=self.last_line,
            rest_s=rest_s,
        )
        try:
            await self._count(UNAVAILABLE)
        except StoreError as exc:
            log.error("the store cannot be written", detail=str(exc))
        await self._stands(Standing.DOWN)

    async def _stands(self, standing: Standing) -> None:
        if self._on_standing is None:
            return
        try:
            await self._on_standing(self, standing)
        except StoreError as exc:
            log.error("the store cannot be written", detail=str(exc))

    def _is_resting(self) -> bool:
        until, now = self._rests_until, self._clock()
        return until is not None and now < until and not is_ahead(until, now)

    # --- its tools

    def _tools(self) -> list[Tool]:
        asks = not self.settings.rules.trusted
        return [
            Tool(
                spec,
                _AnyArguments,
                self._caller(name),
                sends=asks and name not in self.offered.closed,
                is_here=self.settings.is_here,
            )
            for name, spec in self.offered.specs.items()
        ]

    def _caller(self, tool: str) -> Callable[..., Awaitable[Told]]:
        async def call(root: dict[str, object]) -> Told:
            called = await self._call(tool, root)
            said = FromOutside(result_text(self.settings.name, called))
            return said if called.has_failed else done(said, "used", self.offered.specs[tool].name)

        return call

    async def _call(self, tool: str, arguments: dict[str, object]) -> Called:
        """Call *tool*. Raises ToolError, and restarts the server, when it does not answer in time or at all."""
        if (link := self._link) is None:
            raise ToolError(f"the tool server {self.settings.name} is unavailable now; continue without it")
        try:
            async with asyncio.timeout(self.settings.rules.timeout_s):
                called = await unless(link.lost.event, link.call(tool, arguments))
        except TimeoutError as exc:
            self._fall(f"it did not answer within {self.settings.rules.timeout_s:g} s")
            raise ToolError(f"{self.settings.name} did not answer in time; continue without it") from exc
        except McpError as exc:
            self._fall(link.lost.why if link.lost.event.is_set() else str(exc))
            raise ToolError(f"{self.settings.name} lost the connection; continue without it") from exc
        if called is None:
            raise ToolError(f"{self.settings.name} lost the connection; continue without it")
        return called

    def _fall(self, why: str) -> None:
        self._link, self.trouble = None, why
        self._fallen.set()


def _load() -> OpenLink:
    try:
        from gateway.agent.mcp.link import open_link
    except ImportError as exc:
        raise McpError(f"the package for it is missing; run: {install_command('mcp')}") from exc
    return open_link


def _words(exc: BaseException) -> str:
    """Return why a server is unavailable: our own words, or the kind of failure, as a library's text may quote it."""
    match exc:
        case McpError():
            return str(exc)
        case TimeoutError():
            return f"it did not list its tools within {START_S:g} s"
        case _:
            return f"it cannot be connected to ({type(exc).__name__})"
