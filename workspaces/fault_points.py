"""Hook for fault injection: every durable step of a turn calls a checkpoint."""

from typing import Protocol


class Checkpoint(Protocol):
    """Called on the I/O thread immediately before each durable step, with the step's name.

    It lets the step proceed by returning *size*, the number of bytes that the step is about to write (0 if the step
    writes none of its own). It may return fewer (the write is truncated there), raise OSError (disk full or failing),
    or end the process. The steps are `store.begin` and `store.commit`, or `redis.begin` and `redis.end` with Redis
    state (`spool.begin` and `spool.end` beside it),
    `transcript.write` and `transcript.sync`, `file.folder`, `file.write`, `file.sync`, `file.replace` and
    `file.remove`, `history.objects` and `history.commit`.
    """

    def __call__(self, step: str, size: int, /) -> int: ...


def unchecked(_step: str, size: int, /) -> int:
    """Let every step proceed."""
    return size
