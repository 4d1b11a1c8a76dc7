"""Release of unused memory in the gateway."""

import asyncio
import gc
import os
import subprocess
import sys
import weakref
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from bench.figures import resident_mb
from gateway.agent.entries import ToolCall, UserEntry
from gateway.agent.tools.tool import Toolbox, tool
from gateway.runtime.memory_trim import keep_small
from gateway.stores.codec import MESSAGES
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record, in_line, to_line
from tests.fakes.patience import PATIENCE_S
from tests.workspaces.turns import MAIN
from workspaces.memory_trim import EVERY_S, MOST_OF_THE_TIME, give_back, wait_s

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
            async with asyncio.timeout(PATIENCE_S):
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


LARGE_BUFFERS = """
import ctypes
import sys
from {module} import {begin}

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena o s mapped_blocks m u f n d k".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info
{begin}()
largest = bytes(20_000_000)
del largest
before = libc.mallinfo2().mapped_blocks
buffers = [bytes({size}) for _ in range(10)]
print(libc.mallinfo2().mapped_blocks - before, file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is set up")
@pytest.mark.parametrize(
    ("begin", "size"),
    [("workspaces.memory_trim.avoid_holes", 300_000), ("workspaces.memory.index.worker.main", 2_000_000)],
)
def test_large_buffers_leave_no_holes(begin: str, size: int) -> None:
    """Each is mapped by itself, and gone when it is freed, although a larger one was freed before."""
    try:
        os.confstr("CS_GNU_LIBC_VERSION")
    except ValueError:
        pytest.skip("another C library")
    module, _, name = begin.rpartition(".")
    program = [sys.executable, "-c", LARGE_BUFFERS.format(module=module, begin=name, size=size)]
    done = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "10"


def test_it_takes_no_more_than_its_share_of_the_time() -> None:
    """Where a look takes long, the next one is later."""
    assert wait_s(0.015) == EVERY_S
    assert wait_s(1.0) == 1 / MOST_OF_THE_TIME > EVERY_S


async def test_no_id_of_a_conversation_is_kept_by_what_reads_json() -> None:
    """A text that is read twice is two texts: one that is kept would be the same, and thousands of them would be."""
    now = datetime.now(UTC)
    line = to_line(Record(TurnId("t1795366057159"), now, UserEntry("hello", now, "Sam", "m-1")))
    [one], [other] = list(in_line(line)), list(in_line(line))
    assert isinstance(one, Record)
    assert isinstance(other, Record)
    assert one.turn_id == other.turn_id
    assert one.turn_id is not other.turn_id

    said = InboundMessage(
        Address("telegram", "home", "-100"), "m-12", Sender("7", "Sam"), ChatKind.GROUP, "hi", True, now
    )
    ids = [MESSAGES.decode(MESSAGES.encode(said)).id for _ in range(2)]
    assert ids[0] is not ids[1]

    heard: list[str] = []

    async def note(text: str) -> str:
        """Note it."""
        heard.append(text)
        return "noted"

    for _ in range(2):
        await Toolbox([tool(note)], MAIN).call(ToolCall("c", "note", '{"text": "tea is out"}'))
    assert heard == ["tea is out"] * 2
    assert heard[0] is not heard[1]
