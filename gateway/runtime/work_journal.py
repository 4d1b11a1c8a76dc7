"""Journal of the work in progress: after a crash, it names the items that were being worked on.

A mark is a few bytes in a memory-mapped file, so it costs no system call and outlives the process however that ends.
After a power failure it may be missing, and then no item is blamed. An item is marked only while its own code runs, not
while it waits for a model, a platform or the disk: a process that is killed meanwhile says nothing about the item. One
that is killed from outside while the code runs says little, so that it takes more of these deaths to blame the item.
"""

import json
import mmap
import os
import types
from collections.abc import Coroutine, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import structlog

log = structlog.get_logger()

T = TypeVar("T")

CRASH = 2
"""Weight of a death for which the process was to blame: it crashed, or was frozen when it was ended."""
KILL = 1
"""Weight of any other death: it was killed, by somebody or by the system for want of memory."""
BLAMED = 4
"""Weight from which an item is blamed, two crashes or four kills in a row: fewer may be a coincidence. Our choice."""
HEADER_BYTES = 8_192
SLOT_BYTES = 64
SLOTS = 256
"""Items marked at the same time; further ones are not marked."""
SIZE = HEADER_BYTES + SLOTS * SLOT_BYTES


class WorkJournal:
    """Marks the items of this process, and knows those that earlier processes crashed on."""

    def __init__(self, file: mmap.mmap, deaths: Mapping[str, int]) -> None:
        """Take over *file*, which is empty but for the weight of *deaths* of items that no run has finished since."""
        self._file = file
        self._deaths = dict(deaths)
        self._free = list(range(HEADER_BYTES, SIZE, SLOT_BYTES))

    @classmethod
    @contextmanager
    def open(cls, path: Path, *, has_crashed: bool = False) -> "Iterator[WorkJournal]":
        """Open the journal at *path*, created if missing or damaged; *has_crashed* says how the last run ended.

        Marks left at the end of the block belong to items cut off by an orderly stop and are removed, unless the block
        raises: that is a crash too. Raises OSError.
        """
        file = _map_file(path)
        journal = cls(file, _deaths(file))
        journal._blame(CRASH if has_crashed else KILL)
        try:
            yield journal
        except Exception:
            journal._blame(CRASH)
            raise
        finally:
            journal._close()

    @property
    def suspects(self) -> tuple[str, ...]:
        """The items that the process died on too often."""
        return tuple(item for item, weight in self._deaths.items() if weight >= BLAMED)

    def acquit(self, item: str) -> None:
        """Forget the crashes on *item*: it is finished or quarantined."""
        if self._deaths.pop(item, None):
            self._keep_deaths()

    @contextmanager
    def finishing(self, item: str) -> Iterator[None]:
        """Mark *item*, such as `reply 12`, in the block, and acquit it at its end."""
        with self.mark(item):
            yield
        self.acquit(item)

    @types.coroutine
    def followed(self, item: str, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Run *work*, with *item* marked whenever its code runs and not while it waits; acquit it once it is finished.

        Code that the item runs on a thread is marked by `still_at_work`. A fault in *work* leaves the mark: it ends the
        process, as nobody handles it.
        """
        _FOLLOWED.set((self, item))
        resume, value = work.send, None
        while True:
            slot = self._begin(item)
            try:
                waits_for = resume(value)
            except StopIteration as done:
                self._end(slot)
                self.acquit(item)
                result: T = done.value
                return result
            except Exception:
                raise
            except BaseException:
                self._end(slot)
                raise
            self._end(slot)
            try:
                value = yield waits_for
                resume = work.send
            except BaseException as exc:  # noqa: BLE001  # a cancellation is the work's to handle
                resume, value = work.throw, exc

    @contextmanager
    def mark(self, item: str) -> Iterator[None]:
        slot = self._begin(item)
        try:
            yield
        finally:
            self._end(slot)

    def _begin(self, item: str) -> int:
        if not self._free:
            return 0
        slot = self._free.pop()
        self._file[slot : slot + SLOT_BYTES] = item.encode()[:SLOT_BYTES].ljust(SLOT_BYTES, b"\0")
        return slot

    def _end(self, slot: int) -> None:
        if slot and not self._file.closed:
            self._file[slot] = 0
            self._free.append(slot)

    def _blame(self, weight: int) -> None:
        """Count a death of this *weight* against each marked item, and remove the marks."""
        for item in _marked_items(self._file):
            self._deaths[item] = self._deaths.get(item, 0) + weight
        self._file[HEADER_BYTES:] = bytes(SIZE - HEADER_BYTES)
        self._keep_deaths()

    def _close(self) -> None:
        self._file[HEADER_BYTES:] = bytes(SIZE - HEADER_BYTES)
        self._file.close()

    def _keep_deaths(self) -> None:
        text = json.dumps(self._deaths).encode()
        if len(text) <= HEADER_BYTES:
            self._file[:HEADER_BYTES] = text.ljust(HEADER_BYTES, b"\0")


_FOLLOWED: ContextVar[tuple[WorkJournal, str] | None] = ContextVar("followed", default=None)


@contextmanager
def still_at_work() -> Iterator[None]:
    """Mark the item that this task follows, if any, while the block waits for code of its own on a thread."""
    if (followed := _FOLLOWED.get()) is None:
        yield
        return
    journal, item = followed
    with journal.mark(item):
        yield


def _map_file(path: Path) -> mmap.mmap:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        missing = max(SIZE - os.fstat(number).st_size, 0)
        os.pwrite(number, bytes(missing), SIZE - missing)  # a hole would end the process at a write to a full disk
        return mmap.mmap(number, SIZE)
    finally:
        os.close(number)


def _deaths(file: mmap.mmap) -> dict[str, int]:
    try:
        known = json.loads(file[:HEADER_BYTES].rstrip(b"\0") or b"{}")
        return {str(item): int(count) for item, count in known.items()}
    except (ValueError, AttributeError, TypeError):
        log.warning("the journal of work in progress cannot be read and begins anew")
        return {}


def _marked_items(file: mmap.mmap) -> set[str]:
    slots = (file[at : at + SLOT_BYTES] for at in range(HEADER_BYTES, SIZE, SLOT_BYTES))
    return {slot.rstrip(b"\0").decode("utf-8", "replace") for slot in slots if slot[0]}
