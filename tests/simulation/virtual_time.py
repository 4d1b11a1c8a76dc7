"""The module `time`, led to a world's clock while one runs.

It must be installed before the product is imported: some of its functions have `time.monotonic` as a default.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime

EPOCH = datetime(2026, 3, 1, 14, 5, tzinfo=UTC)
"""When each world begins."""
real_monotonic = time.monotonic
_source: list[Callable[[], float]] = []
"""The seconds since then, in a process in which a gateway lives."""


def install() -> None:
    """Lead the functions of `time` here."""
    real_time, real_time_ns = time.time, time.time_ns
    time.monotonic = lambda: _source[0]() if _source else real_monotonic()
    time.time = lambda: EPOCH.timestamp() + _source[0]() if _source else real_time()
    time.time_ns = lambda: round(time.time() * 1e9) if _source else real_time_ns()


def follow(seconds: Callable[[], float]) -> None:
    """Let the time be *seconds* after the beginning, from now on."""
    assert time.monotonic is not real_monotonic, "install() was not called"
    _source[:] = [seconds]


def forget() -> None:
    """Let the time be the machine's again."""
    _source.clear()
