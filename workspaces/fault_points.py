"""This file is the seam at which a test pulls the plug: every durable step of a turn passes through here."""

from typing import Protocol


class Checkpoint(Protocol):
    """Called on the thread that does the I/O, right before each durable step, with the step's name.

    It lets the step pass by returning *size*, the number of bytes that the step is about to write (0 where the step
    writes none of its own). It may return fewer (the write is cut short there), raise OSError (the disk is full, or
    fails), or end the process. The steps are `store.begin` and `store.commit`, or `redis.begin` and
    `redis.end` where a Redis keeps the state, `transcript.write` and `transcript.sync`, `file.folder`, `file.write`,
    `file.sync`, `file.replace` and `file.remove`, `history.objects` and `history.commit`.
    """

    def __call__(self, step: str, size: int, /) -> int: ...


def unchecked(_step: str, size: int, /) -> int:
    """Let every step pass."""
    return size
