"""This file checks that a gateway gives back memory that it no longer uses."""

import asyncio
import gc
import os
import sys
import weakref
from contextlib import suppress

import pytest

from bench.figures import resident_mb
from gateway.reclaiming import keep_small
from workspaces.reclaiming import EVERY_S, MOST_OF_THE_TIME, give_back, wait_s

PIECES, PIECE_BYTES = 60_000, 1_000


class Held:
    """Something that holds itself."""

    def __init__(self) -> None:
        self.itself = self


async def test_what_only_holds_itself_is_freed_again_and_again() -> None:
    """Objects in cycles are gone soon, though Python itself would not look for them."""
    gc.collect()
    gc.disable()
    keeping = asyncio.create_task(keep_small(every_s=0.001, share=1.0))
    try:
        for _ in range(2):
            freed = asyncio.Event()
            weakref.finalize(Held(), freed.set)
            async with asyncio.timeout(20):
                await freed.wait()
    finally:
        gc.enable()
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is asked for its free pages")
def test_the_room_of_what_was_freed_goes_back_to_the_system() -> None:
    """Of 60 MB in pieces, all freed but the last, most is given back, although that one lies behind them."""
    try:
        os.confstr("CS_GNU_LIBC_VERSION")
    except ValueError:
        pytest.skip("another C library")
    pieces = [bytes([number % 256]) * PIECE_BYTES for number in range(PIECES)]
    last = pieces.pop()
    pieces.clear()
    before = resident_mb(os.getpid())
    give_back()
    assert before - resident_mb(os.getpid()) > PIECES * PIECE_BYTES / 1e6 / 2
    assert len(last) == PIECE_BYTES


def test_it_takes_no_more_than_its_share_of_the_time() -> None:
    """Where a look takes long, the next one is later."""
    assert wait_s(0.015) == EVERY_S
    assert wait_s(1.0) == 1 / MOST_OF_THE_TIME > EVERY_S
