"""Connects to the operator: the running gateway's, or that of a gateway composed for this one command."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from msgspec import Struct

from gateway.cli.invocation import Composed, Invocation, config_of
from gateway.errors import HomeLockedError
from gateway.home import Home, holder_in

if TYPE_CHECKING:
    from gateway.control.operator_api import OperatorApi

STARTS_WITHIN_S = 20.0
"""How long a gateway may take from its lock to its first answer; our choice."""


class Reached(Struct, frozen=True):
    """An operator and its location."""

    operator: "OperatorApi"
    address: str | None
    """Address of the running gateway; `None` if this process composed one."""


@asynccontextmanager
async def reach(invocation: Invocation, home: Home, purpose: str, *, answers: bool = False) -> AsyncIterator[Reached]:
    """Yield the operator of *home*; other processes see *purpose* while this process owns the home.

    A gateway composed here answers messages only if it *answers*: reading its state changes nothing.

    Raises HomeLockedError when the home is owned by a process that cannot be asked, WorkspaceLockedError when one of
    another home works in a workspace, ConfigError when there is no gateway and none can be composed, StrandlineError
    when there is no home.
    """
    async with AsyncExitStack() as stack:
        yield await _reached(stack, invocation, home, purpose, answers)


async def _reached(stack: AsyncExitStack, invocation: Invocation, home: Home, purpose: str, answers: bool) -> Reached:
    """Return the operator, which *stack* leaves; a gateway that is just starting is waited for."""
    until = time.monotonic() + STARTS_WITHIN_S
    while True:
        if (control := home.control()) is not None:
            from gateway.control.remote import reach_gateway

            operator = await stack.enter_async_context(reach_gateway(control))
            if operator is not None:
                return Reached(operator, control.address)
        try:
            return await stack.enter_async_context(_local_operator(invocation, home, purpose, answers))
        except HomeLockedError:
            holder = holder_in(home.holder_file)
            if "(strandline up)" not in holder:
                raise
            if time.monotonic() > until:
                raise HomeLockedError(
                    f"the gateway of {home.path}, {holder}, does not answer: it is starting, waits for its store, or "
                    "hangs; its log says more"
                ) from None
            await asyncio.sleep(0.2)


@asynccontextmanager
async def _local_operator(invocation: Invocation, home: Home, purpose: str, answers: bool) -> AsyncIterator[Reached]:
    from gateway.app.ownership import own
    from gateway.observability.logs import logging_to_stderr

    invocation.refuse_absent(home)
    environ = invocation.environ_of(home)
    invocation.guard(config_of(home), home)
    level = "error" if answers else "warning"  # a conversation says itself what failed
    with own(home, purpose) as config, logging_to_stderr(level, config.gateway.log_format):
        composing = invocation.compose(home, config, environ, channels=False)
        async with composing as gateway, _answering(gateway) if answers else nullcontext():
            yield Reached(gateway.operator, None)


@asynccontextmanager
async def _answering(gateway: Composed) -> AsyncIterator[None]:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(gateway.run(stop))
        try:
            yield
        finally:
            stop.set()
