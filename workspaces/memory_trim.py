"""This file gives memory back that nothing uses any more: a process of months is to be no larger than one of hours.

Python looks for objects that only hold each other seldom, and keeps tuples in store until it has; the C library keeps
the room of what was freed. Both took some 2 kB more with every message of a gateway, and 7 MB within a thousand
messages of its memory worker.
"""

import ctypes
import gc
import time
from collections.abc import Callable
from functools import cache

EVERY_S = 60.0
"""How often: of the time that a process lives with, that is soon, and it costs some 15 ms."""
MOST_OF_THE_TIME = 0.001
"""The share of its time that a process with very much in memory gives to it: all its objects are looked through."""


def wait_s(took_s: float, every_s: float = EVERY_S, share: float = MOST_OF_THE_TIME) -> float:
    """Return the seconds to wait after a time that took *took_s* seconds of the processor."""
    return max(every_s, took_s / share)


def give_back() -> float:
    """Free what is unused, and return the seconds of the processor that it took.

    It is for the thread that does the work: what is found may belong to it.
    """
    begun = time.thread_time()
    gc.collect()
    if trim := _malloc_trim():
        trim(0)
    return time.thread_time() - begun


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    """Return what gives whole free pages back to the system: glibc's; other C libraries have none."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # the last one is Windows'
        return None
