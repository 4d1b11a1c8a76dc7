"""A fuzzing campaign: inputs until the time is up, each within its processor time, all together without growth.

Hypothesis makes the inputs and shrinks one that fails; atheris is not used, since it has builds for Linux alone and the
lock files are for macOS too.
"""

import gc
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Generic, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from bench.figures import resident_mb

T = TypeVar("T")

BATCH = 200
"""Inputs between two looks at memory; Hypothesis forgets what it knows of them at the end of a batch."""
MOST_SECONDS = 5.0
"""Processor time of one input, in seconds."""
WARM_SHARE = 0.25
"""Part of the batches that are not judged: caches fill."""
FEWEST_BATCHES = 12
"""Below, memory is not judged: halves of fewer say nothing."""
FREE_BLOCKS, BLOCKS_AN_INPUT = 10_000, 5.0
"""Growth of Python's live memory blocks between the halves that is no leak: at all, and for each input in between, of
which Hypothesis itself keeps two to three whatever is done with it."""
REPLAYED, ROUNDS = 50, 5
"""The latest inputs, which are given again without Hypothesis, and how often before and after the first look."""
BLOCKS_A_REPLAY = 0.5
"""Growth for each input that is given again: there is nothing new to remember."""
MOST_MB = 40.0
"""Growth of resident memory between the halves, in MB; a heap that is used at random has its swings."""


class HangError(AssertionError):
    """An input took more than its processor time."""


@dataclass(frozen=True, slots=True)
class Target(Generic[T]):
    """Something that is fuzzed."""

    name: str
    inputs: SearchStrategy[T]
    check: Callable[[T], None]
    """Raises AssertionError for what must not be; any other exception is a crash."""


@dataclass(slots=True)
class Campaign:
    """What was seen of one target so far."""

    name: str
    inputs: int = 0
    slowest_s: float = 0.0
    """Of the processor, for one input."""
    replayed: float = 0.0
    """Blocks more for each input that was given again."""
    looks: list[tuple[int, int, float]] = field(default_factory=list)
    """Inputs so far, live memory blocks and resident MB, after each batch."""

    def look(self) -> None:
        """Note how much memory is held."""
        gc.collect()
        self.looks.append((self.inputs, sys.getallocatedblocks(), _own_mb()))

    def growth(self) -> tuple[float, float, float]:
        """Return inputs, blocks and MB between the medians of the two halves that are judged; zeros of too few."""
        if len(self.looks) < FEWEST_BATCHES:
            return 0.0, 0.0, 0.0
        warm = self.looks[int(len(self.looks) * WARM_SHARE) :]
        first, second = warm[: len(warm) // 2], warm[len(warm) // 2 :]
        inputs, blocks, mb = (
            median(each[at] for each in second) - median(each[at] for each in first) for at in range(3)
        )
        return inputs, blocks, mb

    def grew(self) -> bool:
        """Say whether memory grew by more than chance explains."""
        inputs, blocks, mb = self.growth()
        return blocks > FREE_BLOCKS + BLOCKS_AN_INPUT * inputs or mb > MOST_MB

    def __str__(self) -> str:
        inputs, blocks, mb = self.growth()
        return (
            f"{self.name}: {self.inputs:,} inputs, the slowest {self.slowest_s:.2f} s of the processor; from half to "
            f"half, {inputs:,.0f} inputs apart, {blocks:+,.0f} blocks and {mb:+.1f} MB; {self.replayed:+.2f} blocks "
            "for each that was given again"
        )


def fuzz(target: Target[T], seconds: float, first_seed: int, most_seconds: float = MOST_SECONDS) -> Campaign:
    """Give *target* inputs for so many *seconds*, at least one; the same ones for the same *first_seed*.

    Raises AssertionError with the input, as short as it could be made, that broke an invariant, hung, or crashed, and
    if memory grew.
    """
    campaign, end = Campaign(target.name), time.monotonic() + seconds
    latest: deque[T] = deque(maxlen=REPLAYED)

    def attempt(value: T) -> None:
        campaign.inputs += 1
        latest.append(value)
        before = time.process_time()
        with within_processor_time(most_seconds):
            target.check(value)
        campaign.slowest_s = max(campaign.slowest_s, time.process_time() - before)

    batch = _batch(target, attempt, lambda: campaign.inputs > 0 and time.monotonic() >= end)
    number = first_seed
    while number == first_seed or time.monotonic() < end:
        seed(number)(batch)()
        campaign.look()
        number += 1
    assert not campaign.grew(), f"memory grew: {campaign}"
    if len(campaign.looks) >= FEWEST_BATCHES:
        campaign.replayed = replay(target, list(latest))
        assert campaign.replayed <= BLOCKS_A_REPLAY, f"memory grows by what it knows: {campaign}"
    return campaign


def replay(target: Target[T], values: list[T]) -> float:
    """Give *values* again and again; return by how many blocks memory grew for each."""
    looks = []
    for _ in range(2):
        for value in values * ROUNDS:
            target.check(value)
        gc.collect()
        looks.append(sys.getallocatedblocks())
    return (looks[1] - looks[0]) / (ROUNDS * len(values))


def _own_mb() -> float:
    """Return the resident memory of this process in MB; 0 where the system does not say."""
    return resident_mb(os.getpid()) if Path("/proc/self/status").exists() else 0.0


def _batch(target: Target[T], attempt: Callable[[T], None], is_over: Callable[[], bool]) -> Callable[[], None]:
    """Return what gives *target* a batch of inputs, fewer once the time *is_over*, unless one failed that is shrunk.

    It is one for all batches: Hypothesis keeps something of each function that it ever ran.
    """
    has_failed: list[bool] = []

    @settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
    )
    @given(target.inputs)
    def run(value: T) -> None:
        if is_over() and not has_failed:
            return
        try:
            attempt(value)
        except BaseException:
            has_failed.append(True)
            raise

    return run


@contextmanager
def within_processor_time(seconds: float) -> Iterator[None]:
    """Raise HangError in the block once the process has used so much of its processor; in the main thread only.

    The clock on the wall would blame an input for what else the machine does.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise HangError(f"no end within {seconds} s of the processor")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
