"""Release of unused memory: a process must be no larger after months than after hours.

Buffers of the size of a request leave holes in the heap that no release closes: after 9,000 messages in 24 minutes 32
of 80 MB were holes. Python rarely looks for reference cycles, and keeps tuples until it has; the C library keeps freed
memory. Both took some 2 kB more with every message of a gateway, and 7 MB within a thousand messages of its memory
worker.
"""

import ctypes
import gc
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache

EVERY_S = 60.0
"""Interval: short for a process's lifetime, and a run costs some 15 ms."""
MOST_OF_THE_TIME = 0.001
"""Share of its time that a process with a large heap spends on it: every object is visited."""


LARGE_BYTES = 128 * 1024
"""Buffers from this size on are mapped, and unmapped when freed. glibc would raise the limit to the largest one."""
LARGE_ARRAY_BYTES = 1 << 20
"""The same for the memory worker: mapping the smaller arrays of its searches as well would make those 7 % slower."""
MOST_HEAPS = 2
"""Heaps that all threads share; glibc would give each of them its own, with its own holes."""
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of malloc.h


def wait_s(took_s: float, every_s: float = EVERY_S, share: float = MOST_OF_THE_TIME) -> float:
    """Return the seconds to wait after a run that took *took_s* seconds of CPU time."""
    return max(every_s, took_s / share)


def avoid_holes(large_bytes: int = LARGE_BYTES) -> None:
    """Set up the heap of glibc for a long life; call it before threads start. Other C libraries are left alone."""
    with suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, large_bytes)
        mallopt(_M_ARENA_MAX, MOST_HEAPS)


def give_back() -> float:
    """Free unused memory, and return the CPU seconds that it took.

    Call it on the thread that does the work: the objects found may belong to it.
    """
    begun = time.thread_time()
    gc.collect()
    if trim := _malloc_trim():
        trim(0)
    return time.thread_time() - begun


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    """Return the function that returns free pages to the system: glibc's; other C libraries have none."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # the last one is raised on Windows
        return None
