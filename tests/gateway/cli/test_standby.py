"""A gateway whose store is away stands by, says so, and goes on; it ends for what an operator has to mend."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.cli.invocation import Composed, Invocation
from gateway.cli.standby import StandbyAddress, composed_again
from gateway.cli.up import serve
from gateway.config import OwnerZone, owner_zone
from gateway.control.front import Front
from gateway.control.remote import reach_gateway
from gateway.control.settings_wire import SettingsReport
from gateway.control.status_wire import StatusOrder
from gateway.control.wire import WhyOrder
from gateway.errors import ConfigError, StoreError, StrandlineError
from gateway.home import ControlFile, Home
from gateway.runtime.clock import unless
from gateway.runtime.http_server import serving
from gateway.stores.ports import LeaseLostError
from tests.fakes.operator import FakeOperator
from tests.fakes.patience import PATIENCE_S

AWAY = "the store does not answer"


class Store:
    """Lets a gateway be composed once it is back."""

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.asked = 0
        self.asked_often = asyncio.Event()
        self.composed: Composed

    @asynccontextmanager
    async def compose(self) -> AsyncIterator[Composed]:
        self.asked += 1
        if self.asked > 3:
            self.asked_often.set()
        if self.error is not None:
            raise self.error
        yield self.composed


@pytest.fixture
async def standby_address(tmp_path: Path) -> AsyncIterator[StandbyAddress]:
    home = Home(tmp_path)
    home.create()
    zone: OwnerZone = owner_zone("Europe/Berlin", {})
    front = Front("token", SettingsReport)
    async with serving(front, "127.0.0.1", 0) as address:
        with home.announced(ControlFile(address, "token", os.getpid())):
            yield StandbyAddress(home, zone, front, short_s=0.01, pause_s=0.05)


async def said_by(standby_address: StandbyAddress) -> tuple[str, ...]:
    """Return what the gateway says that it waits for, once it says more than that it waits; it refuses all else."""
    while True:
        if (control := standby_address.home.control()) is None:
            await asyncio.sleep(0.01)
            continue
        async with reach_gateway(control) as operator:
            assert operator is not None
            state = await operator.ask(StatusOrder())
            if AWAY in state.waits_for:
                assert (state.ready, state.standby, state.time_zone) == (False, True, "Europe/Berlin")
                with pytest.raises(StrandlineError, match=f"is on standby: {AWAY}"):
                    await operator.ask(WhyOrder(None))
                return state.waits_for


async def test_a_store_that_is_away_is_waited_for(standby_address: StandbyAddress) -> None:
    """However often it is tried, it is logged once; then the gateway is what was composed, and speaks for itself."""
    store, operator = Store(StoreError(AWAY)), FakeOperator()
    store.composed = Composed(operator, operator, lambda _: asyncio.sleep(0))
    async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as stack:
        with capture_logs() as logs:
            composing = asyncio.ensure_future(composed_again(stack, store.compose, standby_address))
            assert await said_by(standby_address) == (AWAY,)
            await store.asked_often.wait()
            store.error = None
            assert await composing is store.composed
    assert [log["detail"] for log in logs] == [AWAY]


async def test_who_waits_for_a_store_can_be_stopped(standby_address: StandbyAddress) -> None:
    """At once."""
    stop, store = asyncio.Event(), Store(StoreError(AWAY))
    async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as stack:
        waiting = asyncio.ensure_future(unless(stop, composed_again(stack, store.compose, standby_address)))
        await said_by(standby_address)
        stop.set()
        assert await waiting is None


async def test_what_an_operator_has_to_mend_is_not_waited_for(standby_address: StandbyAddress) -> None:
    """A store that is there and would forget ends the gateway, with its reason."""
    store = Store(ConfigError("redis.url: it would forget"))
    async with AsyncExitStack() as stack:
        with pytest.raises(ConfigError, match="would forget"):
            await composed_again(stack, store.compose, standby_address)
    assert store.asked == 1


class Runs:
    """Composes gateways whose runs end one after the other: for each an error, or `None` for a share that changed."""

    def __init__(self, *ends: Exception | None, starts: Sequence[Exception] = ()) -> None:
        """*starts* are errors of the first compositions."""
        self.ends = list(ends)
        self.starts = list(starts)

    @asynccontextmanager
    async def compose(self, home: Home, config: object, environ: object, *, channels: bool) -> AsyncIterator[Composed]:
        if self.starts:
            raise self.starts.pop(0)
        operator = FakeOperator()
        async with asyncio.TaskGroup():  # as a gateway's own tasks are held
            yield Composed(operator, operator, self._run)

    async def _run(self, stop: asyncio.Event) -> None:
        if not self.ends:
            stop.set()
        elif (end := self.ends.pop(0)) is not None:
            raise end


@pytest.mark.parametrize("ends", [(None, StoreError(AWAY), StoreError(AWAY), None), (StoreError(AWAY), None), ()])
async def test_a_store_that_goes_away_again_ends_a_run_and_not_the_gateway(
    tmp_path: Path, ends: Sequence[Exception | None]
) -> None:
    """It was there for a moment, long enough to begin; the run that follows waits for it, and so in the first one."""
    runs = Runs(*ends)
    async with asyncio.timeout(PATIENCE_S):
        await serve(Invocation({"TZ": "Europe/Berlin"}, runs.compose), Home(tmp_path / "home"), 0)
    assert runs.ends == []


@pytest.mark.parametrize(("starts", "ends"), [((LeaseLostError(AWAY),), (None,)), ((), (LeaseLostError(AWAY), None))])
async def test_a_lease_that_runs_out_during_the_first_start_is_taken_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], starts: Sequence[Exception], ends: Sequence[Exception | None]
) -> None:
    """Before the gateway is composed or in its first run: it says why, begins once more, and greets once."""
    runs = Runs(*ends, starts=starts)
    async with asyncio.timeout(PATIENCE_S):
        await serve(Invocation({"TZ": "Europe/Berlin"}, runs.compose), Home(tmp_path / "home"), 0)
    said = capsys.readouterr()
    assert (runs.starts, runs.ends) == ([], [])
    assert said.out.count("is running at") == 1
    assert AWAY in said.err


@pytest.mark.parametrize(
    ("starts", "ends", "fault"),
    [((StoreError(AWAY),), (), StoreError), ((), (None, ZeroDivisionError()), ZeroDivisionError)],
)
async def test_what_ends_the_first_start_or_is_no_fault_of_the_store_ends_the_gateway(
    tmp_path: Path, starts: Sequence[Exception], ends: Sequence[Exception | None], fault: type[Exception]
) -> None:
    """An operator who starts it hears at once; a defect is not tried again and again."""
    runs = Runs(*ends, None, starts=starts)
    with pytest.raises(ExceptionGroup) as raised:
        await serve(Invocation({"TZ": "Europe/Berlin"}, runs.compose), Home(tmp_path / "home"), 0)
    assert raised.group_contains(fault)
