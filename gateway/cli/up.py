"""`strandline up`: owns the home, serves its channels and its operator, and shuts down in order."""

import asyncio
import gc
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from gateway.cli.call import Call
from gateway.cli.invocation import Composed, Invocation
from gateway.cli.scaffold import prepare_home, zone_of
from gateway.cli.settings_watch import LiveSettings, SettingsWatch, read_settings
from gateway.cli.standby import StandbyAddress, composed_again, outlasting
from gateway.control.admission_wire import ClaimAnswer, ClaimOrder
from gateway.control.status_wire import disabled_line
from gateway.errors import ConfigError, StrandlineError, leaves
from gateway.home import ControlFile, Home
from gateway.runtime.clock import unless
from gateway.runtime.imports import without
from workspaces.memory_trim import avoid_holes

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from gateway.config import Config
    from gateway.control.front import Front

STOPPING = (signal.SIGTERM, signal.SIGINT)


def up(
    call: Call,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = None,
) -> None:
    """Start the gateway. A new home is set up first; Ctrl-C shuts it down in order."""
    gc.disable()  # until it is ready: all that is loaded stays, and scanning it took 7 % of the start
    with without("rich"):  # for tracebacks in colour, which the log does not have; 5 % of the start
        import structlog  # noqa: F401
    asyncio.run(serve(call.invocation, call.home, port))


async def serve(invocation: Invocation, home: Home, port: int | None) -> None:
    """Run the gateway of *home* until a signal. Raises StrandlineError before any change, if at all."""
    from gateway.app.tracing import tracing
    from gateway.control.front import Front
    from gateway.observability.logs import logging_to_stderr
    from gateway.runtime.http_server import serving

    if home.state_db.exists() and not home.config_file.exists():
        raise ConfigError(
            f"{home.config_file} is missing, although this home was used before. Restore it from a backup: tar xzf "
            f"FILE config.toml; to begin with a new one: {invocation.command('init', home)}"
        )
    stop, token = asyncio.Event(), secrets.token_urlsafe(32)
    ready = prepare_home(home, zone_of(invocation.environ), "strandline up")
    avoid_holes()
    with ready, stop_on_signals(stop), ExitStack() as until_end:
        watch = SettingsWatch(home, invocation.environ, read_settings(home, invocation.environ))
        settings = watch.running.config.gateway
        guard_secrets(until_end, watch.running, token)
        with logging_to_stderr(settings.log_level, settings.log_format), tracing(watch.running.config.traces):
            front = Front(token, watch.report)
            where = settings.host, settings.port if port is None else port
            async with serving(front, *where) as address:
                await Runs(invocation, home, watch, front, address, until_end).until(stop)
    announce("Stopped.")


def guard_secrets(stack: ExitStack, settings: LiveSettings, *others: str) -> None:
    """Redact the secrets of *settings*, and *others*, until *stack* is closed: earlier ones stay redacted."""
    from gateway.settings.secrets import known_secrets
    from workspaces.secrets import guarding

    stack.enter_context(guarding([*others, *settings.secrets, *known_secrets(settings.config, settings.environ)]))


class Runs(Struct, frozen=True):
    """The runs of one gateway process: a new one begins when its settings or its membership have changed."""

    invocation: Invocation
    home: Home
    watch: SettingsWatch
    front: "Front"
    address: str
    until_end: ExitStack
    """What lasts for all runs: redaction of their secrets, the address that other processes find."""

    async def until(self, stop: asyncio.Event) -> None:
        """Run one after the other until *stop* is set."""
        from gateway.config import owner_zone

        begun = asyncio.Event()
        while not stop.is_set():
            is_first, live = not begun.is_set(), self.watch.running
            zone, faults = owner_zone(live.config.owner.time_zone, live.environ), list[Exception]()
            standby = StandbyAddress(self.home, zone, self.front)
            make = partial(self.invocation.compose, self.home, live.config, live.environ, channels=True)
            gateway: Composed | None = None
            fresh: LiveSettings | None = None
            try:
                async with outlasting(stop, begun), AsyncExitStack() as stack:
                    begin = stack.enter_async_context(make()) if is_first else composed_again(stack, make, standby)
                    gateway = await unless(stop, begin)
                    if gateway is None:
                        break
                    begun.set()
                    fresh = await self._run(gateway, live, stop, is_first=is_first)
            except* ConfigError as group:
                if is_first or live is self.watch.earlier:
                    raise
                faults += leaves(group)
            if faults:
                self.watch.go_back(str(faults[0]))
            elif fresh is not None:
                guard_secrets(self.until_end, fresh)
                self.watch.use(fresh)

    async def _run(
        self, gateway: Composed, live: LiveSettings, stop: asyncio.Event, *, is_first: bool
    ) -> LiveSettings | None:
        """Run *gateway* to its end; return the settings of the next run if those have changed."""
        config, changed = live.config, asyncio.get_running_loop().create_future()
        app = with_metrics(self.front.token, gateway, config, live.environ)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.front.showing(app))
            web = await stack.enter_async_context(open_web(gateway, config))
            self.watch.begun(live)
            if self.home.control() is None:
                self.until_end.enter_context(
                    self.home.announced(ControlFile(self.address, self.front.token, os.getpid()))
                )
            lines = self._greeting(gateway, live, web) if is_first else ["Taken up: the changed settings."]
            for line in (*lines, *await self._claims(gateway)):
                announce(line)
            gc.freeze()
            gc.enable()

            async def watch() -> None:
                changed.set_result(await self.watch.changed())
                gateway.end_run()

            async with asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(watch())
                await gateway.run(stop)
                watching.cancel()
        return changed.result() if changed.done() and not changed.cancelled() else None

    async def _claims(self, gateway: Composed) -> list[str]:
        """Return a line for each account without an owner; a code is shown at a terminal only, not in a log."""
        is_seen = sys.stdout.isatty()
        answer = await gateway.operator.ask(ClaimOrder(if_none=True)) if is_seen else ClaimAnswer()
        command = self.invocation.command("connect claim", self.home)
        lines = [f"  claim     {each.account} has no owner: send it the code {each.code}" for each in answer.accounts]
        return [*lines, *([f"  claim     {command}   (shows the codes again)"] if lines else [])]

    def _greeting(self, gateway: Composed, live: LiveSettings, web: str | None) -> Iterator[str]:
        from gateway.app.health import strays
        from gateway.settings.secrets import secret_gaps

        yield from greeting(live.config, self.address, self.invocation, self.home)
        if web is not None:
            yield f"  page      {web}   ({self.invocation.command('web login', self.home)})"
        for gap in (*secret_gaps(live.config.secret_sources(), live.environ), *strays(self.home, live.config)):
            yield f"  unusable  {gap}"
        if gateway.readiness.standby:
            yield "  standby   no agent is free for this gateway; it waits for one"


def announce(line: str) -> None:
    """Print *line*; a gateway does not end because its output is full, or read by nobody any more."""
    with suppress(StrandlineError, BrokenPipeError):
        print(line, flush=True)


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


def with_metrics(control_token: str, gateway: Composed, config: "Config", environ: Mapping[str, str]) -> "ASGIApp":
    """Return the operator API, with the gateway's metrics if enabled and protected as configured."""
    from gateway.control.exposition import Exposition
    from gateway.control.server import control_app

    app = control_app(gateway.operator, gateway.readiness, control_token)
    if gateway.meter is None:
        return app
    source = config.metrics.token()
    token = source.available(environ) if source else ""
    if source and not token:  # `status` says so; nobody may read them without it
        return app
    return Exposition(app, gateway.operator, gateway.meter, token)


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
def stop_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set *stop* at the first signal to stop while the block runs; the next one ends the process at once."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        stop.set()
        _leave_to_the_system(loop)

    before = {number: signal.getsignal(number) for number in STOPPING}
    for number in STOPPING:
        loop.add_signal_handler(number, first)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def _leave_to_the_system(loop: asyncio.AbstractEventLoop) -> None:
    for number in STOPPING:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
