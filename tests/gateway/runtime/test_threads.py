"""Blocking work runs on threads of its own, in order, and comes back into the event loop."""

import asyncio
import gc
import threading
import weakref

import pytest

from gateway.runtime.threads import Threads
from tests.fakes.patience import PATIENCE_S


async def test_one_thread_does_one_errand_after_another_in_their_order() -> None:
    """Whoever counts on it needs no lock."""
    threads, done, names = Threads("errands"), list[int](), set[str]()

    def note(number: int) -> int:
        done.append(number)
        names.add(threading.current_thread().name)
        return number

    async with asyncio.timeout(PATIENCE_S):
        assert await asyncio.gather(*(threads(note, number) for number in range(50))) == list(range(50))
    threads.close()
    assert (done, names) == (list(range(50)), {"errands_0"})


async def test_lanes_share_threads_and_each_keeps_its_order() -> None:
    """A hundred lanes on two threads: no lane does two pieces at once, and two lanes work side by side."""
    threads, both, at_work, done = Threads("shared", 2), threading.Barrier(2), set[int](), dict[int, list[int]]()
    lanes = [threads.in_order() for _ in range(100)]

    def note(lane: int, number: int) -> None:
        assert lane not in at_work
        at_work.add(lane)
        done.setdefault(lane, []).append(number)
        at_work.remove(lane)

    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(lanes[0](both.wait), lanes[1](both.wait))
        await asyncio.gather(*(lanes[lane](note, lane, number) for number in range(20) for lane in range(100)))
    assert done == {lane: list(range(20)) for lane in range(100)}
    assert sum(each.name.startswith("shared") for each in threading.enumerate()) == 2
    threads.close()


async def test_closing_a_lane_waits_for_its_own_work() -> None:
    """It takes nothing more then, and another lane goes on."""
    threads, may_end, done = Threads("shared", 2), threading.Event(), list[int]()
    one, other = threads.in_order(), threads.in_order()
    waits = [one(may_end.wait), *(one(done.append, number) for number in range(20))]
    begun = [asyncio.ensure_future(each) for each in waits]
    await asyncio.sleep(0)
    threading.Timer(0.05, may_end.set).start()
    one.close()
    assert done == list(range(20))
    with pytest.raises(RuntimeError):
        one.begin(lambda: None)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*begun)
        await other(done.append, 20)
    threads.close()


async def test_a_lane_goes_on_once_its_pool_is_given_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that was refused is not done later, and none of it is done beside another piece."""
    threads, done, has_followed = Threads("shared", 2), list[int](), threading.Event()
    lane = threads.in_order()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            lane.begin(lambda: done.append(0))
    async with asyncio.timeout(PATIENCE_S):
        waits = (
            lane(has_followed.wait, 0.05),
            lane(has_followed.set),
            threads(int),
        )  # the last one needs a thread more
        followed, *_ = await asyncio.gather(*waits)
        await lane(done.append, 1)
    threads.close()
    assert (followed, done) == (False, [1])


async def test_several_threads_work_side_by_side() -> None:
    """Two errands that wait for each other both end."""
    threads, both = Threads("errands", 2), threading.Barrier(2)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(threads(both.wait), threads(both.wait))
    threads.close()


async def test_what_goes_wrong_is_raised_where_it_is_waited_for() -> None:
    """The thread goes on with the next errand."""
    threads = Threads("errands")
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(ZeroDivisionError):
            await threads(divmod, 1, 0)
        assert await threads(divmod, 7, 2) == (3, 1)
    threads.close()


async def test_an_iterator_that_is_at_its_end_is_waited_for_no_longer_than_other_faults() -> None:
    """A future takes no StopIteration: whoever waits hears of it as another error."""
    threads = Threads("errands")
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(RuntimeError, match="StopIteration"):
            await threads(next, iter(()))
    threads.close()


async def test_an_errand_that_nobody_waits_for_any_more_is_not_begun() -> None:
    """One that was begun is finished, and what comes of it is dropped."""
    threads, may_end, begun, done = Threads("errands"), threading.Event(), asyncio.Event(), list[str]()
    loop = asyncio.get_running_loop()

    def first() -> None:
        loop.call_soon_threadsafe(begun.set)
        may_end.wait()
        done.append("first")

    async with asyncio.timeout(PATIENCE_S):
        waits = [threads.begin(first), threads.begin(lambda: done.append("second"))]
        await begun.wait()
        for wait in waits:
            wait.cancel()
        may_end.set()
        await threads(done.append, "third")
    threads.close()
    assert done == ["first", "third"]


async def test_closing_waits_for_what_was_begun_and_takes_nothing_more() -> None:
    """An errand that comes later says that it is too late."""
    threads, done = Threads("errands"), list[int]()
    waits = [threads.begin(lambda number=number: done.append(number)) for number in range(20)]  # type: ignore[misc]
    threads.close()
    assert done == list(range(20))
    await asyncio.gather(*waits)
    with pytest.raises(RuntimeError, match="after shutdown"):
        threads.begin(gc.collect)
    Threads("never used").close()


async def test_an_errand_for_which_there_is_no_thread_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system has no more of them: nothing is begun, nobody waits for ever, and later there may be some."""
    threads, done, left, start = Threads("errands"), list[str](), [0, 0, 1], threading.Thread.start

    def start_if_there_is_room(thread: threading.Thread) -> None:
        if not left[0]:
            left.pop(0)
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_if_there_is_room)
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="can't start new thread"):
                await threads(done.append, "refused")
        await threads(done.append, "done")
    threads.close()
    assert done == ["done"]
    left[:], never_begun = [0], Threads("never begun")
    with pytest.raises(RuntimeError, match="can't start new thread"):
        never_begun.begin(gc.collect)
    never_begun.close()


async def test_threads_that_nobody_holds_end() -> None:
    """They, and what their last errand held, cost nothing once they are let go."""
    threads, kept = Threads("dropped"), threading.Event()
    held = weakref.ref(kept)
    await threads(kept.is_set)
    (thread,) = [each for each in threading.enumerate() if each.name == "dropped_0"]
    del kept
    await threads(gc.collect)
    assert held() is None
    del threads
    await asyncio.to_thread(thread.join, PATIENCE_S)
    assert not thread.is_alive()
