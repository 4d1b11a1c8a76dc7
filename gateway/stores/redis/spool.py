"""Spool of a gateway with Redis state: the accepted messages that have no answer yet, on the gateway's own disk.

Redis may lose what it confirmed: it may be emptied, or restart with an older copy of its data. The first line names the
spool. Each message has one line, durable before its platform gets the confirmation, and one more once it is answered.
"""

import asyncio
import json
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from secrets import token_hex

import structlog
from msgspec import Struct, field

from gateway.errors import StoreError
from gateway.stores.disk import disk_trouble, sync_folder
from gateway.stores.rows import FIRST, InboxId, OutboxId
from workspaces.fault_points import Checkpoint, unchecked

log = structlog.get_logger()


class SpooledMessage(Struct, frozen=True):
    """A message in the store's encoding."""

    message: str
    """Encoded by `MESSAGES.encode`."""
    received_at: str


class Spool:
    """Implements the spool in one file, which one process uses."""

    def __init__(self, path: Path, contents: "_Contents", checkpoint: Checkpoint) -> None:
        self._path = path
        self._name, self._kept, self._last = contents.name, contents.kept, contents.last
        self._checkpoint = checkpoint
        self._answered: dict[OutboxId, tuple[set[OutboxId], tuple[InboxId, ...]]] = {}
        """By undelivered reply: the undelivered replies of its turn, and the messages that the turn answered."""
        self._answered_bytes = 0
        """Size of the lines in the file that a rewrite removes."""
        self._lines: list[str] = []
        self._asked = self._written = 0
        """Count of lines so far, and of those in the file."""
        self._writing = asyncio.Lock()
        self._in_use = threading.Lock()
        """Held around each use of the handle: a write whose task was cancelled goes on in its thread."""
        self._later: asyncio.Task[None] | None = None
        self._handle, self._size = _rewritten(path, self._all_lines())

    @classmethod
    def open(cls, path: Path, checkpoint: Checkpoint = unchecked) -> "Spool":
        """Open the spool at *path*, or create it. Blocks. Raises StoreError."""
        try:
            return cls(path, _read(path), checkpoint)
        except OSError as exc:
            raise disk_trouble(path, exc) from exc

    @property
    def mark(self) -> tuple[str, InboxId]:
        """Return the name of the spool and the latest message that it ever held, 0 for none."""
        return self._name, self._last

    def kept(self) -> list[tuple[InboxId, SpooledMessage]]:
        """Return the messages without a known answer, oldest first."""
        return sorted(self._kept.items())

    def find(self, id: InboxId) -> SpooledMessage | None:  # noqa: A002
        """Return a message without a known answer, if it is here."""
        return self._kept.get(id)

    async def keep(self, id: InboxId, spooled: SpooledMessage) -> None:  # noqa: A002  # reads as the field
        """Keep a message that Redis confirmed; it is durable on return. Raises StoreError."""
        self._kept[id] = spooled
        self._last = max(self._last, id)
        self._put([_line(id, spooled)])
        await self._sync(self._asked, durably=True)

    def forget(self, ids: Iterable[InboxId]) -> None:
        """Remove messages that are answered."""
        gone = [(id_, spooled) for id_ in ids if (spooled := self._kept.pop(id_, None))]
        lines = [json.dumps([id_]) for id_, _ in gone]
        self._put(lines)
        self._answered_bytes += sum(len(line) + 1 for line in [*lines, *(_line(*each) for each in gone)])
        if gone and self._later is None:
            self._later = asyncio.get_running_loop().create_task(self._soon(), name="spool")

    def answered(self, ids: Iterable[InboxId], replies: Iterable[OutboxId]) -> None:
        """Remove messages once all *replies* to them are delivered, since Redis may lose these too."""
        group = set(replies), tuple(ids)
        for reply in group[0]:
            self._answered[reply] = group
        if not group[0]:
            self.forget(group[1])

    def delivered(self, reply: OutboxId) -> None:
        """Note that a reply needs no further sending."""
        if group := self._answered.pop(reply, None):
            left, ids = group
            left.discard(reply)
            if not left:
                self.forget(ids)

    async def trim(self) -> None:
        """Rewrite the file if more than half of it is of answered messages. Raises StoreError."""
        if 2 * self._answered_bytes > self._size:
            await self.rewrite()

    async def rewrite(self) -> None:
        """Remove answered messages from the file. Raises StoreError."""
        async with self._writing:
            self._answered_bytes = 0
            try:
                await asyncio.to_thread(self._begin_anew, list(self._all_lines()))
            except OSError as exc:
                raise disk_trouble(self._path, exc) from exc

    async def close(self) -> None:
        """Write the remaining lines and close the file."""
        if self._later is not None:
            await asyncio.wait([self._later])
        try:
            await self._sync(self._asked, durably=False)
        except StoreError as exc:
            log.warning("spool not written", detail=str(exc))
        await asyncio.to_thread(self._close_file)

    async def _soon(self) -> None:
        self._later = None
        try:
            await self._sync(self._asked, durably=False)
        except StoreError as exc:
            log.warning("spool not written", detail=str(exc))

    def _put(self, lines: Iterable[str]) -> None:
        before = len(self._lines)
        self._lines += lines
        self._asked += len(self._lines) - before

    async def _sync(self, asked: int, *, durably: bool) -> None:
        """Write the first *asked* lines, and all later ones that wait. Raises StoreError."""
        async with self._writing:
            if self._written >= asked:
                return
            lines, upto, self._lines = self._lines, self._asked, []
            try:
                await asyncio.to_thread(self._write, lines, durably=durably)
            except OSError as exc:
                self._lines = [*lines, *self._lines]
                raise disk_trouble(self._path, exc) from exc
            self._written = upto

    def _write(self, lines: list[str], *, durably: bool) -> None:
        self._checkpoint("spool.begin", 0)
        text = "\n".join(["", *lines, ""]).encode()  # the first line end closes what a full disk cut off
        with self._in_use:
            view = memoryview(text)
            while view:
                view = view[os.write(self._handle, view) :]
            if durably:
                os.fdatasync(self._handle)
            self._size += len(text)
        self._checkpoint("spool.end", 0)

    def _begin_anew(self, lines: list[str]) -> None:
        with self._in_use:
            if self._handle < 0:
                return
            handle, self._size = _rewritten(self._path, lines)
            os.close(self._handle)
            self._handle = handle

    def _close_file(self) -> None:
        with self._in_use:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1

    def _all_lines(self) -> Iterator[str]:
        yield json.dumps([self._name, self._last])
        yield from (_line(id_, spooled) for id_, spooled in self._kept.items())


def mark_of(spool: Spool | None) -> tuple[str, InboxId] | tuple[()]:
    """Return the mark of *spool* as arguments of a request, none if there is no spool."""
    return () if spool is None else spool.mark


def _line(id_: InboxId, spooled: SpooledMessage) -> str:
    return json.dumps([id_, spooled.received_at, spooled.message])


class _Contents(Struct):
    name: str = field(default_factory=lambda: token_hex(8))
    """Random, so that no other spool has it, and the same as long as the file exists."""
    kept: dict[InboxId, SpooledMessage] = field(default_factory=dict)
    last: InboxId = FIRST

    def read(self, line: bytes) -> None:
        """Apply one line. Raises ValueError."""
        match json.loads(line):
            case [str(name), int(last)]:
                self.name, self.last = name, InboxId(last)
            case [int(id_), str(received_at), str(message)]:
                self.kept[InboxId(id_)] = SpooledMessage(message, received_at)
                self.last = max(self.last, InboxId(id_))
            case [int(id_)]:
                self.kept.pop(InboxId(id_), None)
            case _:
                raise ValueError("a line of another form")


def _read(path: Path) -> _Contents:
    contents = _Contents()
    for line in filter(None, path.read_bytes().splitlines() if path.exists() else []):
        try:
            contents.read(line)
        except ValueError:
            log.warning("a line of the spool cannot be read and is left out", path=str(path))
    return contents


def _rewritten(path: Path, lines: Iterable[str]) -> tuple[int, int]:
    """Write the whole file durably; return its handle, open for appending, and its size in bytes."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.fresh")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        view = memoryview("".join(f"{line}\n" for line in lines).encode())
        size = len(view)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
        fresh.replace(path)
        sync_folder(path.parent)
    except BaseException:
        os.close(handle)
        raise
    return handle, size
