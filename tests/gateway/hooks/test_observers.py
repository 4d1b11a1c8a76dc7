"""Handlers that only look on: nobody waits for them, and they wait for nobody."""

import asyncio
import threading

from msgspec import structs

from gateway.errors import StoreError
from gateway.hooks import DROPPED, FAILED, GATEWAY_START, GatewayState, Hook, Hooks
from gateway.hooks.observers import MOST_WAITING
from tests.fakes.patience import PATIENCE_S

COUNTED: list[str] = []


def state(number: int) -> GatewayState:
    return GatewayState((str(number),))


async def count(reason: str) -> None:
    COUNTED.append(reason)


async def refuse(_: str) -> None:
    raise StoreError("the disk is full")


async def test_a_slow_one_holds_up_nobody_and_hears_all_in_order() -> None:
    """Telling returns at once, the quick one is through while the slow one still works."""
    may_go, slow, quick, quick_heard = threading.Event(), [], [], threading.Event()

    def slowly(payload: GatewayState) -> None:
        may_go.wait(PATIENCE_S)
        slow.append(payload)

    def quickly(payload: GatewayState) -> None:
        quick.append(payload)
        if len(quick) == 3:
            quick_heard.set()

    event = structs.replace(GATEWAY_START, deadline_s=PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        hooks = Hooks([Hook(event.name, "slow", slowly), Hook(event.name, "quick", quickly)], count, tasks)
        for number in range(3):
            hooks.note(event, state(number))
        await asyncio.to_thread(quick_heard.wait, PATIENCE_S)
        assert slow == []
        may_go.set()
        await hooks.finish(PATIENCE_S)
    assert slow == quick == [state(number) for number in range(3)]


async def test_what_is_too_much_is_dropped_counted_and_said() -> None:
    """A handler that hangs costs a bounded queue; the rest is not told, and the ledger has its name."""
    COUNTED.clear()
    may_go, heard = threading.Event(), []

    def slowly(payload: GatewayState) -> None:
        may_go.wait(PATIENCE_S)
        heard.append(payload)

    event = structs.replace(GATEWAY_START, deadline_s=PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        hooks = Hooks([Hook(event.name, "slow", slowly)], count, tasks)
        hooks.note(event, state(0))
        await asyncio.sleep(0)  # it is at work now
        for number in range(1, MOST_WAITING + 4):
            hooks.note(event, state(number))
        may_go.set()
        await hooks.finish(PATIENCE_S)
    assert len(heard) == MOST_WAITING + 1
    assert [f"{DROPPED}.slow"] * 3 == COUNTED


async def test_one_that_fails_is_counted_and_hears_the_next() -> None:
    """Also while the ledger cannot be written."""
    COUNTED.clear()
    heard: list[GatewayState] = []

    def fails_first(payload: GatewayState) -> None:
        heard.append(payload)
        if len(heard) == 1:
            raise KeyError("x")

    for ledger in (count, refuse):
        heard.clear()
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
            hooks = Hooks([Hook(GATEWAY_START.name, "bad", fails_first)], ledger, tasks)
            hooks.note(GATEWAY_START, state(1))
            hooks.note(GATEWAY_START, state(2))
            await hooks.finish(PATIENCE_S)
        assert heard == [state(1), state(2)]
    assert [f"{FAILED}.bad"] == COUNTED


async def test_the_end_waits_no_longer_than_it_may() -> None:
    """What a hanging handler has not heard is let go, and nothing more is taken."""
    may_go, heard = threading.Event(), []

    def hangs(payload: GatewayState) -> None:
        heard.append(payload)
        may_go.wait(PATIENCE_S)

    event = structs.replace(GATEWAY_START, deadline_s=PATIENCE_S)
    try:
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
            hooks = Hooks([Hook(event.name, "hangs", hangs)], count, tasks)
            hooks.note(event, state(0))
            hooks.note(event, state(1))
            await hooks.finish(0.1)
            hooks.note(event, state(2))
    finally:
        may_go.set()
    assert heard == [state(0)]
