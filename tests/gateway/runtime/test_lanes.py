"""Lanes keep the order within a conversation and let conversations run beside each other."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from gateway.runtime.lanes import Lanes, RetryLater
from gateway.runtime.queues import Queues
from tests.fakes.clock import ManualClock

Item = tuple[str, int]


class Work:
    """Answers items as a test says, and keeps what began and what was done."""

    def __init__(self) -> None:
        self.begun: list[Item] = []
        self.done: list[Item] = []
        self.retries: dict[Item, list[RetryLater]] = {}
        self.doors: dict[Item, asyncio.Event] = {}
        self._changed = asyncio.Condition()

    def hold(self, item: Item) -> asyncio.Event:
        """Make *item* take until the returned event is set."""
        return self.doors.setdefault(item, asyncio.Event())

    async def answer(self, item: Item) -> RetryLater | None:
        self.begun.append(item)
        async with self._changed:
            self._changed.notify_all()
        if item in self.doors:
            await self.doors[item].wait()
        if self.retries.get(item):
            return self.retries[item].pop(0)
        self.done.append(item)
        return None

    async def has_begun(self, count: int) -> None:
        """Return once *count* tries were begun."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.begun) >= count)


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def lanes(work: Work, clock: ManualClock) -> AsyncIterator[Lanes[str, Item]]:
    async with asyncio.TaskGroup() as tasks:
        lanes: Lanes[str, Item] = Lanes(tasks, work.answer, clock, at_once=3)
        yield lanes
        await lanes.drain(0)


async def test_a_lane_keeps_its_order_while_another_overtakes(lanes: Lanes[str, Item], work: Work) -> None:
    """A slow item holds back its own lane and nobody else's."""
    slow = work.hold(("alice", 1))
    for item in (("alice", 1), ("alice", 2), ("bob", 1)):
        lanes.submit(item[0], item)
    await work.has_begun(2)
    await asyncio.sleep(0)
    assert work.done == [("bob", 1)]
    slow.set()
    await lanes.idle()
    assert work.done == [("bob", 1), ("alice", 1), ("alice", 2)]


async def test_one_lane_works_on_one_item_at_a_time(lanes: Lanes[str, Item], work: Work) -> None:
    """The second item begins when the first is done, though there is room for three."""
    first = work.hold(("alice", 1))
    lanes.submit("alice", ("alice", 1))
    lanes.submit("alice", ("alice", 2))
    lanes.submit("bob", ("bob", 1))
    await work.has_begun(2)
    assert work.begun == [("alice", 1), ("bob", 1)]
    first.set()
    await lanes.idle()


async def test_work_at_once_has_a_limit(lanes: Lanes[str, Item], work: Work) -> None:
    """With three places a fourth lane waits until one is free."""
    doors = [work.hold((name, 1)) for name in "abc"]
    for name in "abcd":
        lanes.submit(name, (name, 1))
    await work.has_begun(3)
    assert ("d", 1) not in work.begun
    doors[1].set()
    await work.has_begun(4)
    assert work.begun[3] == ("d", 1)
    doors[0].set()
    doors[2].set()
    await lanes.idle()


async def test_an_idle_lane_costs_nothing(lanes: Lanes[str, Item], work: Work) -> None:
    """When its queue is empty a lane's task is gone; its next item begins a new one."""
    before = len(asyncio.all_tasks())
    for name in map(str, range(100)):
        lanes.submit(name, (name, 1))
    await lanes.idle()
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == before
    lanes.submit("0", ("0", 2))
    await lanes.idle()
    assert work.done[-1] == ("0", 2)


async def test_an_item_to_retry_keeps_its_place(lanes: Lanes[str, Item], work: Work, clock: ManualClock) -> None:
    """It is tried again after its delay, before what came later, and other lanes go on meanwhile."""
    work.retries["alice", 1] = [RetryLater(30, next_wakes=False)]
    lanes.submit("alice", ("alice", 1))
    await clock.waiters(1)
    lanes.submit("alice", ("alice", 2))
    lanes.submit("bob", ("bob", 1))
    await work.has_begun(2)
    clock.advance(29)
    assert clock.waits() == [1]
    assert work.begun == [("alice", 1), ("bob", 1)]
    clock.advance(1)
    await lanes.idle()
    assert work.done == [("bob", 1), ("alice", 1), ("alice", 2)]


async def test_the_next_item_wakes_a_lane_that_allows_it(
    lanes: Lanes[str, Item], work: Work, clock: ManualClock
) -> None:
    """Somebody who writes again need not wait for the delay; the older message is still answered first."""
    work.retries["alice", 1] = [RetryLater(600)]
    lanes.submit("alice", ("alice", 1))
    await clock.waiters(1)
    lanes.submit("alice", ("alice", 2))
    await lanes.idle()
    assert work.done == [("alice", 1), ("alice", 2)]


async def test_a_waiting_lane_can_be_woken(lanes: Lanes[str, Item], work: Work, clock: ManualClock) -> None:
    """`wake` ends the wait of its lane alone, and a wake during the try itself is not lost."""
    work.retries = {("alice", 1): [RetryLater(600), RetryLater(600)], ("bob", 1): [RetryLater(600)]}
    for name in ("alice", "bob"):
        lanes.submit(name, (name, 1))
    await clock.waiters(2)
    door = work.hold(("alice", 1))
    lanes.wake(lambda key: key == "alice")
    await work.has_begun(3)
    lanes.wake(lambda key: key == "alice")
    door.set()
    await work.has_begun(4)
    await clock.waiters(1)
    assert work.done == [("alice", 1)]
    lanes.wake(lambda key: key == "bob")
    await lanes.idle()


async def test_draining_lets_running_work_end(lanes: Lanes[str, Item], work: Work) -> None:
    """What runs ends; what waits in the lane or comes later is left alone."""
    door = work.hold(("alice", 1))
    lanes.submit("alice", ("alice", 1))
    lanes.submit("alice", ("alice", 2))
    await work.has_begun(1)
    draining = asyncio.ensure_future(lanes.drain(60))
    await asyncio.sleep(0)
    lanes.submit("bob", ("bob", 1))
    door.set()
    assert await draining == []
    assert work.begun == work.done == [("alice", 1)]
    await lanes.idle()


async def test_draining_may_finish_what_is_queued(lanes: Lanes[str, Item], work: Work) -> None:
    """With *finish_queued* the queues are worked off, but nothing new is taken."""
    for number in range(5):
        lanes.submit("alice", ("alice", number))
    assert await lanes.drain(60, finish_queued=True) == []
    assert len(work.done) == 5


@pytest.mark.parametrize("finish_queued", [False, True])
async def test_draining_does_not_try_again(
    lanes: Lanes[str, Item], work: Work, clock: ManualClock, finish_queued: bool
) -> None:
    """A lane that waits for its next try ends at once, as does one that would begin to wait."""
    work.retries = {("alice", 1): [RetryLater(600)], ("bob", 1): [RetryLater(600)]}
    lanes.submit("alice", ("alice", 1))
    await clock.waiters(1)
    door = work.hold(("bob", 1))
    lanes.submit("bob", ("bob", 1))
    await work.has_begun(2)
    draining = asyncio.ensure_future(lanes.drain(60, finish_queued=finish_queued))
    await asyncio.sleep(0)
    door.set()
    assert await draining == []
    assert work.begun == [("alice", 1), ("bob", 1)]
    assert clock.waits() == []


async def test_draining_cuts_off_what_takes_too_long_and_says_so(lanes: Lanes[str, Item], work: Work) -> None:
    """After the grace running work is cancelled and named; what was only waiting for a place is not named."""
    for name in "abcd":
        work.hold((name, 1))
        lanes.submit(name, (name, 1))
    await work.has_begun(3)
    assert sorted(await lanes.drain(0.01)) == [("a", 1), ("b", 1), ("c", 1)]
    assert work.done == []
    assert ("d", 1) not in work.begun


async def test_draining_does_not_begin_what_waits_for_a_place(lanes: Lanes[str, Item], work: Work) -> None:
    """A lane that gets its place only after the drain began leaves its item alone."""
    doors = [work.hold((name, 1)) for name in "abc"]
    for name in "abcd":
        lanes.submit(name, (name, 1))
    await work.has_begun(3)
    draining = asyncio.ensure_future(lanes.drain(60))
    await asyncio.sleep(0)
    for door in doors:
        door.set()
    assert await draining == []
    assert len(work.begun) == 3


async def test_nothing_new_is_taken_while_queues_are_finished(lanes: Lanes[str, Item], work: Work) -> None:
    """What comes during the drain is left, and what would have to be tried again ends its lane."""
    door = work.hold(("alice", 1))
    work.retries["alice", 2] = [RetryLater(600)]
    for number in (1, 2, 3):
        lanes.submit("alice", ("alice", number))
    await work.has_begun(1)
    draining = asyncio.ensure_future(lanes.drain(60, finish_queued=True))
    await asyncio.sleep(0)
    lanes.submit("alice", ("alice", 4))
    lanes.submit("bob", ("bob", 1))
    door.set()
    assert await draining == []
    await asyncio.sleep(0)
    assert work.begun == [("alice", 1), ("alice", 2)]


async def test_a_defect_in_an_answer_ends_the_group() -> None:
    """An exception that the answer lets out is not swallowed: everything stops, with its traceback."""

    async def defective(item: Item) -> RetryLater | None:
        raise ZeroDivisionError(item)

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.Event().wait())
            lanes: Lanes[str, Item] = Lanes(tasks, defective, ManualClock())
            lanes.submit("alice", ("alice", 1))

    with pytest.raises(ExceptionGroup) as stopped:
        await run()
    assert stopped.group_contains(ZeroDivisionError)


async def test_lanes_with_work_can_be_looked_at(lanes: Lanes[str, Item], work: Work) -> None:
    """Each with whether its head is in progress and how much it holds; an idle one is gone."""
    door = work.hold(("alice", 1))
    for item in (("alice", 1), ("alice", 2), ("bob", 1)):
        lanes.submit(item[0], item)
    await work.has_begun(2)
    await asyncio.sleep(0)
    assert lanes.standing() == [("alice", True, 2)]
    door.set()
    await lanes.idle()
    assert lanes.standing() == []


@pytest.fixture
async def passing(work: Work, clock: ManualClock) -> AsyncIterator[Lanes[str, Item]]:
    """Lanes whose items from 10 on may pass a head that lets them."""
    async with asyncio.TaskGroup() as tasks:
        lanes: Lanes[str, Item] = Lanes(tasks, work.answer, clock, queues=Queues(lambda item: item[1] >= 10))
        yield lanes
        await lanes.drain(0)


async def test_items_pass_a_head_that_lets_them(passing: Lanes[str, Item], work: Work, clock: ManualClock) -> None:
    """They are done at once and in order; the head is tried in its time, and before the rest."""
    work.retries["alice", 1] = [RetryLater(600, lets_pass=True)]
    door = work.hold(("alice", 1))
    for number in (1, 2, 10):
        passing.submit("alice", ("alice", number))
    await work.has_begun(1)
    door.set()
    await clock.waiters(1)
    assert work.done == [("alice", 10)]
    clock.advance(100)
    passing.submit("alice", ("alice", 11))
    passing.submit("alice", ("alice", 12))
    await work.has_begun(4)
    await clock.waiters(1)
    assert work.done == [("alice", number) for number in (10, 11, 12)]
    assert clock.waits() == [500]
    clock.advance(500)
    await passing.idle()
    assert work.done == [("alice", number) for number in (10, 11, 12, 1, 2)]


async def test_nothing_passes_a_head_that_does_not_let_it(
    passing: Lanes[str, Item], work: Work, clock: ManualClock
) -> None:
    """Whatever made it wait, such as the store, would stop them too."""
    work.retries["alice", 1] = [RetryLater(600)]
    passing.submit("alice", ("alice", 1))
    await clock.waiters(1)
    passing.submit("alice", ("alice", 10))
    await passing.idle()
    assert work.done == [("alice", 1), ("alice", 10)]


async def test_an_item_that_may_not_pass_wakes_a_head_that_others_pass(
    passing: Lanes[str, Item], work: Work, clock: ManualClock
) -> None:
    """Somebody who writes again need not wait for the delay, whatever came in the same moment."""
    work.retries["alice", 1] = [RetryLater(600, lets_pass=True)]
    passing.submit("alice", ("alice", 1))
    await clock.waiters(1)
    for number in (10, 2):
        passing.submit("alice", ("alice", number))
    await passing.idle()
    assert work.done == [("alice", number) for number in (1, 10, 2)]


async def test_a_wake_while_an_item_passes_is_not_lost(
    passing: Lanes[str, Item], work: Work, clock: ManualClock
) -> None:
    """The passing item may have removed what the head waits for."""
    work.retries["alice", 1] = [RetryLater(600, lets_pass=True)]
    passing.submit("alice", ("alice", 1))
    await clock.waiters(1)
    door = work.hold(("alice", 10))
    passing.submit("alice", ("alice", 10))
    await work.has_begun(2)
    passing.wake(lambda key: key == "alice")
    door.set()
    await passing.idle()
    assert work.done == [("alice", 10), ("alice", 1)]


async def test_an_item_that_fails_while_it_passes_is_tried_first(passing: Lanes[str, Item], work: Work) -> None:
    """It has left its place, and nothing is lost or done twice."""
    work.retries = {("alice", 1): [RetryLater(600, lets_pass=True)], ("alice", 10): [RetryLater(0)]}
    door = work.hold(("alice", 1))
    passing.submit("alice", ("alice", 1))
    passing.submit("alice", ("alice", 10))
    await work.has_begun(1)
    door.set()
    await passing.idle()
    assert work.begun == [("alice", 1), ("alice", 10), ("alice", 10), ("alice", 1)]
    assert work.done == [("alice", 10), ("alice", 1)]


async def test_a_clock_that_is_set_back_while_an_item_passes_delays_no_head(
    passing: Lanes[str, Item], work: Work, clock: ManualClock
) -> None:
    """It waits for its delay at most."""
    work.retries["alice", 1] = [RetryLater(600, lets_pass=True)]
    passing.submit("alice", ("alice", 1))
    await clock.waiters(1)
    door = work.hold(("alice", 10))
    passing.submit("alice", ("alice", 10))
    await work.has_begun(2)
    clock.advance(-10_000)
    door.set()
    await clock.waiters(1)
    assert clock.waits() == [600]
    clock.advance(600)
    await passing.idle()
