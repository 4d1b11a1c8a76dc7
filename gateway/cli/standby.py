"""Recomposes a gateway after its cluster membership changes, and waits for an unavailable store, however long."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from msgspec import Struct

from gateway.cli.invocation import Composed
from gateway.errors import StoreError, leaves
from gateway.home import Home
from gateway.runtime.clock import SystemClock, pause

if TYPE_CHECKING:
    from gateway.config import OwnerZone
    from gateway.control.front import Front
    from gateway.control.standby_app import StandbyApp

PAUSE_S = 1.0
"""Seconds between two attempts, each of which waits for the store itself. Our choice."""

Make = Callable[[], AbstractAsyncContextManager[Composed]]


class StandbyAddress(Struct, frozen=True):
    """Where a waiting gateway answers requests."""

    home: Home
    zone: "OwnerZone"
    front: "Front"
    short_s: float = 0.5
    """A changed membership takes effect in less time than that, so no notice is needed. Our choice."""
    pause_s: float = PAUSE_S


async def composed_again(stack: AsyncExitStack, make: Make, standby_address: StandbyAddress) -> Composed:
    """Return the gateway that *make* composes, entered into *stack*, once its store is available.

    Nothing is accepted meanwhile. Raises ConfigError for an available store that must not be used.
    """
    import structlog

    log = structlog.get_logger()
    async with _telling(standby_address) as waiting:
        while True:
            try:
                return await stack.enter_async_context(make())
            except StoreError as exc:
                if waiting.state.waits_for != (str(exc),):
                    log.warning("on standby until the store answers", detail=str(exc))
                waiting.wait_for(str(exc))
            await pause(SystemClock(), standby_address.pause_s)


@asynccontextmanager
async def outlasting(stop: asyncio.Event, begun: asyncio.Event) -> AsyncIterator[None]:
    """End a run quietly when its store fails: the next composition waits for the store.

    A store fails a run by becoming unavailable again while the leftovers of an earlier run are taken up. Before
    one has *begun*, only a lost lease ends quietly: the store is there, the start took longer than the lease.
    """
    import structlog

    from gateway.stores.ports import LeaseLostError

    try:
        yield
    except* StoreError as group:
        if not begun.is_set() and group.split(LeaseLostError)[1] is not None:
            raise
        for why in dict.fromkeys(map(str, leaves(group))):
            structlog.get_logger().warning("restarted: the store failed", detail=why)
        await SystemClock().wait(stop, PAUSE_S)


@asynccontextmanager
async def _telling(standby_address: StandbyAddress) -> "AsyncIterator[StandbyApp]":
    from gateway.control.standby_app import StandbyApp
    from gateway.control.status_wire import Status

    state = Status(
        version("strandline"),
        str(standby_address.home.path),
        ready=False,
        uptime_s=0,
        time_zone=standby_address.zone.name,
        time_zone_source=standby_address.zone.source,
        standby=True,
        waits_for=("its store cannot be read yet",),
    )
    waiting, over = StandbyApp(state), asyncio.Event()
    telling = asyncio.get_running_loop().create_task(_answer(waiting, standby_address, over), name="waiting")
    try:
        yield waiting
    finally:
        over.set()
        await asyncio.wait([telling])
    telling.result()


async def _answer(waiting: "StandbyApp", standby_address: StandbyAddress, over: asyncio.Event) -> None:
    await SystemClock().wait(over, standby_address.short_s)
    if over.is_set():
        return
    front = standby_address.front
    async with front.showing(waiting.app(front.token)):
        await over.wait()
