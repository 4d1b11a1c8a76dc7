"""`strandline up`: owns the home, serves its channels and its operator, and shuts down in order."""

import asyncio
import gc
import os
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.invocation import Composed, HomeOption, Invocation
from gateway.cli.scaffold import prepare_home, wishes_of
from gateway.cli.signals import stop_on_signals
from gateway.cli.standby import StandbyAddress, composed_again, outlasting
from gateway.control.status_wire import disabled_line
from gateway.home import ControlFile, Home
from gateway.runtime.clock import unless

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from gateway.config import Config

GARBAGE = (10_000, 10, 10)
"""Objects after which Python looks for cycles, and the thresholds of the older generations.

With its own 700 it took 1 ms a message, and up to 111 ms at once, measured under load; collecting later costs some
megabytes.
"""


def up(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = None,
    home: HomeOption = None,
) -> None:
    """Start the gateway. A new home is set up first; Ctrl-C shuts it down in order."""
    invocation: Invocation = context.obj
    asyncio.run(serve(invocation, invocation.home(home), port))


async def serve(invocation: Invocation, home: Home, port: int | None) -> None:
    """Run the gateway of *home* until a signal. Raises StrandlineError before any change, if at all."""
    from gateway.app.tracing import tracing
    from gateway.config import collect_secrets, owner_zone
    from gateway.observability.logs import logging_to_stderr
    from gateway.runtime.http_server import serving
    from gateway.settings.secrets import known_secrets
    from workspaces.secrets import guarding

    stop, token = asyncio.Event(), secrets.token_urlsafe(32)
    ready = prepare_home(home, wishes_of(invocation.environ), "strandline up")
    with ready as (config, _), stop_on_signals(stop), collecting_seldom():
        collect_secrets(config.secret_sources(), invocation.environ)  # none is missing
        known = [token, *known_secrets(config, invocation.environ)]
        settings = config.gateway
        with guarding(known), logging_to_stderr(settings.log_level, settings.log_format), tracing(config.traces):
            where = settings.host, settings.port if port is None else port
            make = partial(invocation.compose, home, config, invocation.environ, channels=True)
            standby_address = StandbyAddress(
                home, owner_zone(config.owner.time_zone, invocation.environ), *where, token
            )
            is_first = True
            while not stop.is_set():  # a gateway that shares its store starts again when its membership has changed
                async with outlasting(stop, is_first=is_first), AsyncExitStack() as stack:
                    begin = (
                        stack.enter_async_context(make()) if is_first else composed_again(stack, make, standby_address)
                    )
                    gateway = await unless(stop, begin)
                    if gateway is None:
                        break
                    is_first = False
                    app = with_metrics(token, gateway, config, invocation.environ)
                    address = await stack.enter_async_context(serving(app, *where))
                    web = await stack.enter_async_context(open_web(gateway, config))
                    with home.announced(ControlFile(address, token, os.getpid())):
                        for line in greeting(config, address, invocation, home):
                            print(line, flush=True)
                        if web is not None:
                            print(f"  page      {web}   ({invocation.command('web link', home)})", flush=True)
                        if gateway.readiness.standby:
                            print("  standby   no agent is free for this gateway; it waits for one", flush=True)
                        await gateway.run(stop)
    print("Stopped.", flush=True)


@asynccontextmanager
async def open_web(gateway: Composed, config: "Config") -> AsyncIterator[str | None]:
    """Serve HTTP while the block runs, if enabled; yields the address."""
    from gateway.runtime.http_server import serving

    if gateway.web is None:
        yield None
        return
    admission, at = gateway.web, config.web
    async with serving(admission.app, at.host, at.port, key="web.port", on_stop=admission.close) as address:
        yield address


def with_metrics(token: str, gateway: Composed, config: "Config", environ: Mapping[str, str]) -> "ASGIApp":
    """Return the operator API, with the gateway's metrics if enabled. Raises ConfigError."""
    from gateway.control.exposition import Exposition
    from gateway.control.server import control_app

    app = control_app(gateway.operator, gateway.readiness, token)
    if gateway.meter is None:
        return app
    source = config.metrics.token()
    return Exposition(app, gateway.operator, gateway.meter, source.read(environ) if source else "")


def greeting(config: "Config", address: str, invocation: Invocation, home: Home) -> Iterator[str]:
    """Yield lines with the gateway's address, its work, and how to talk to it."""
    from importlib.metadata import version

    from gateway.channels.settings import channel_faults

    bots = [f"{bot.channel}.{account}" for account, bot in config.channels.bots()]
    yield f"Strandline {version('strandline')} is running at {address}"
    yield f"  home      {home.path}"
    for agent, settings in config.agents.items():
        yield f"  agent     {agent}: {_model(settings.model)}"
    ways = [*bots, "page"] if config.web.enabled else bots
    yield f"  channels  {', '.join(['terminal', *ways])}{'' if ways else ' (everything else is closed)'}"
    for line in channel_faults(config.channels):
        yield f"  plug-in   {line}"
    for line in disabled_line(home.disabled()):
        yield f"  disabled  {line}"
    yield f"  talk      {invocation.command('chat', home)}   (in another terminal)"
    yield "  stop      Ctrl-C"


def _model(name: str) -> str:
    if name == "offline":
        return "no language model is configured; the offline responder answers from memory"
    return f"model {name}"


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Collect garbage less often while the block runs."""
    before = gc.get_threshold()
    gc.set_threshold(*GARBAGE)
    try:
        yield
    finally:
        gc.set_threshold(*before)
