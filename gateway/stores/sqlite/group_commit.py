"""Writes to SQLite on one thread: waiting operations share one commit, and so one fsync."""

import asyncio
import errno
import shlex
import sqlite3
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from msgspec import Struct

from gateway.errors import StoreError
from gateway.runtime.threads import Threads
from gateway.stores.disk import disk_trouble, is_full
from gateway.stores.rows import STORE_TROUBLE
from gateway.stores.sqlite.ledger import count
from workspaces.fault_points import Checkpoint

P = ParamSpec("P")
T = TypeVar("T")
Operation = Callable[[sqlite3.Connection], T]
"""Reads and writes inside a transaction managed for it; it may be run again after a rollback."""

LONGEST_RIDE_S = 0.05
"""Seconds that an operation waits for company that nobody waits for; our choice."""
LARGEST_BATCH = 256
"""Most operations in one commit, so that the first of them does not wait long."""


class _PendingCommit(Struct, Generic[T], frozen=True):
    operation: Operation[T]
    outcome: asyncio.Future[T]


class GroupCommit:
    """The only writer of a database file; *connection* belongs to *thread*."""

    def __init__(self, path: Path, connection: sqlite3.Connection, thread: Threads, checkpoint: Checkpoint) -> None:
        self._path = path
        self._connection = connection
        self._thread = thread
        self._checkpoint = checkpoint
        self._waiting: list[_PendingCommit[object]] = []
        self._batch: asyncio.Future[list[object]] | None = None
        self._closed = False
        self._on_commit: Callable[[float], None] | None = None
        self.longest_ride_s = LONGEST_RIDE_S
        self._failures = 0
        """Failures of the disk, not yet counted in the ledger."""

    def measure(self, on_commit: Callable[[float], None]) -> None:
        """Call *on_commit* with the seconds that each batch takes on the thread from now on, whatever its outcome."""
        self._on_commit = on_commit

    async def run(self, operation: Operation[T], *, rides: bool = False) -> T:
        """Run *operation* in its turn; return its result once that is durable.

        One that *rides* waits a moment for the commit of another. Raises StoreError, of *operation*'s own or because
        the disk is full or fails, with nothing stored.
        """
        outcome, loop = self._enqueue(operation), asyncio.get_running_loop()
        # Not at once: operations of other tasks in this iteration of the loop share the commit.
        loop.call_later(self.longest_ride_s, self._next_batch) if rides else loop.call_soon(self._next_batch)
        return await outcome

    def ride(self, operation: Operation[None]) -> None:
        """Run *operation* in its turn, in the commit of the next `run`, or soon in one of its own.

        Its outcome is not reported. Raises StoreError once this is closed.
        """
        self._enqueue(operation).add_done_callback(_ignore_outcome)
        asyncio.get_running_loop().call_later(self.longest_ride_s, self._next_batch)

    async def compact(self) -> None:
        """Rewrite the file, so that neither it nor its log contains deleted or replaced data.

        Raises StoreError.
        """
        try:
            await self._thread(_compact, self._connection)
        except (sqlite3.Error, OSError) as exc:
            raise describe_error(self._path, exc) from exc

    async def close(self) -> None:
        """Finish pending operations and close the file."""
        self._closed = True
        self._next_batch()  # begun by `run` in the next iteration of the loop, which is too late now
        while self._batch:
            await asyncio.wait([self._batch])
        await self._thread(self._connection.close)
        self._thread.close(wait=False)

    def _enqueue(self, operation: Operation[T]) -> asyncio.Future[T]:
        if self._closed:
            raise StoreError(f"{self._path} is closed: the gateway is stopping")
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_PendingCommit(operation, outcome))  # type: ignore[arg-type]  # each pair agrees on its own T
        return outcome

    def _next_batch(self) -> None:
        if self._batch:
            return
        waiting = [each for each in self._waiting if not each.outcome.cancelled()]
        batch, self._waiting = waiting[:LARGEST_BATCH], waiting[LARGEST_BATCH:]
        if batch:
            operations = [each.operation for each in batch]
            self._batch = self._thread.begin(partial(self._commit, operations))
            self._batch.add_done_callback(partial(self._finish_batch, time.perf_counter(), batch))

    def _finish_batch(
        self, began: float, batch: Sequence[_PendingCommit[object]], done: asyncio.Future[list[object]]
    ) -> None:
        if self._on_commit is not None:
            self._on_commit(time.perf_counter() - began)
        self._hand_out(batch, done)

    def _hand_out(self, batch: Sequence[_PendingCommit[object]], done: asyncio.Future[list[object]]) -> None:
        self._batch = None
        defect = done.exception()
        outcomes = [defect] * len(batch) if defect else done.result()
        for each, outcome in zip(batch, outcomes, strict=True):
            if each.outcome.cancelled():
                continue
            if isinstance(outcome, BaseException):
                each.outcome.set_exception(outcome)
            else:
                each.outcome.set_result(outcome)
        self._next_batch()

    def _commit(self, operations: Sequence[Operation[object]]) -> list[object]:
        """Return each operation's result or its error: a StoreError, or a defect of the operation.

        A batch with a failure is rolled back and run again one by one, so that only the operation at fault
        fails: SQLite itself may have rolled back the whole transaction (a full disk does that).
        """
        try:
            return self._run_batch(operations)
        except (sqlite3.Error, OSError) as exc:
            self._failures += 1
            if len(operations) == 1:
                return [describe_error(self._path, exc)]
        except Exception as exc:  # noqa: BLE001  # a defect of one operation is told to nobody else
            if len(operations) == 1:
                return [exc]
        return [outcome for each in operations for outcome in self._commit([each])]

    def _run_batch(self, operations: Sequence[Operation[object]]) -> list[object]:
        self._checkpoint("store.begin", 0)
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            results = [operation(self._connection) for operation in operations]
            if self._failures:
                count(STORE_TROUBLE, self._failures, self._connection)
            self._checkpoint("store.commit", 0)
            self._connection.execute("COMMIT")
            self._failures = 0
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        return results


class Writes(Protocol):
    """State that one writer changes."""

    @property
    def commits(self) -> GroupCommit: ...


W = TypeVar("W", bound=Writes)


def transaction(
    operation: Callable[Concatenate[W, sqlite3.Connection, P], T],
) -> Callable[Concatenate[W, P], Coroutine[Any, Any, T]]:
    """Make a coroutine method of *operation*, which runs on the writer's thread inside a transaction."""

    @wraps(operation)
    async def run(self: W, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.commits.run(lambda db: operation(self, db, *args, **kwargs))

    return run


def _compact(connection: sqlite3.Connection) -> None:
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _ignore_outcome(outcome: asyncio.Future[None]) -> None:
    if not outcome.cancelled():
        outcome.exception()  # asked for, so that asyncio does not complain; trouble of the disk is in the ledger


def describe_error(path: Path, exc: sqlite3.Error | OSError, *, is_retried: bool = True) -> StoreError:
    """Return *exc*, raised for the database at *path*, as a sentence with its remedy, as `disk_trouble` does."""
    if isinstance(exc, OSError):
        return disk_trouble(path, exc, is_retried=is_retried)
    match getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF:  # the low byte is the primary code
        case sqlite3.SQLITE_FULL:
            return disk_trouble(path, OSError(errno.ENOSPC, str(exc)), is_retried=is_retried)
        case sqlite3.SQLITE_IOERR:
            number = errno.ENOSPC if is_full(path) else errno.EIO
            return disk_trouble(path, OSError(number, str(exc)), is_retried=is_retried)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            told = f"another program holds {path}; close it and try again."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            told = f"{path} cannot be opened for writing ({exc}); check its owner and permissions."
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            folder, name = shlex.quote(str(path.absolute().parent)), shlex.quote(path.name)
            told = (
                f"{path} is damaged ({exc}) and was left as it is. Restore it from a backup; or move it away, by "
                f"`mkdir -p {folder}/damaged && mv {folder}/{name}* {folder}/damaged/`, to start with an empty "
                "state: unanswered messages, unsent replies, jobs, approvals and the list of guests are lost, "
                "conversations and files are intact."
            )
        case _:
            told = f"{path} cannot be used: {exc}"
    return StoreError(told)
