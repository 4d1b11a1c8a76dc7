"""The only writer of transcripts: a JSONL file a session, append-only, the journal of its turns.

In memory it keeps the part that a turn needs (`read_tail.py`); `codec.py` defines the lines and explains new types.
"""

import errno
import os
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

from msgspec import Struct

from gateway.agent.entries import Entry, Mark, SummaryEntry, UsedEntry, UsedMemory, UserEntry
from gateway.runtime.clock import utc_now
from gateway.stores.disk import disk_trouble, sync_folder
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Fault, Record, command_turns, header, in_line, is_whole, kind_of_entry, to_line
from gateway.transcripts.purge import redact_file
from gateway.transcripts.read_tail import NewestFirst, lines_backwards, needed_records
from gateway.transcripts.records import Records
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.redact import Redaction
from workspaces.run_blocking import RunBlocking

Now = Callable[[], datetime]
"""Returns the time in UTC."""
MOST_ALONE = 1_000
"""Records: some days of a job's turns, and a few hundred kilobytes. Our choice."""
Follower = Callable[[Sequence[Record]], None]
"""Called, synchronously in the event loop, with the records that were written."""


class Repairs(Struct, frozen=True):
    """The faults of a transcript, as far back as it was read, when it was opened."""

    torn: int = 0
    """1 if the last line was cut short by a crash; its bytes were moved to `<name>.torn`."""
    damaged: int = 0
    """Lines that cannot be read; they stay in the file."""
    unknown: int = 0
    """Lines of an unknown kind or version; they stay in the file."""


class Transcript:
    """The records of one session, in memory and on disk; made by `open`, used by one lane."""

    def __init__(
        self,
        path: Path,
        run: RunBlocking,
        checkpoint: Checkpoint,
        now: Now,
        *,
        is_alone: bool,
        followers: Sequence[Follower],
    ) -> None:
        self._path = path
        self._run = run
        self._checkpoint = checkpoint
        self._now = now
        self._leftover_at: int | None = None
        """The start of a failed write that could not be cut off yet."""
        self._one_write = threading.Lock()
        self.records = Records()
        """The records that a turn needs; a summary drops those that it replaces."""
        self.is_whole = True
        """Whether these are all records of the file."""
        self.size = 0
        """Size of the lines of `records`, in bytes."""
        self.repairs = Repairs()
        self._followers = followers
        self._on_begun: Callable[[datetime], Awaitable[None]] | None = None
        self._is_alone = is_alone
        self._most = MOST_ALONE
        """Records of such turns that are kept before the next cleanup."""

    @classmethod
    async def open(
        cls,
        path: Path,
        run: RunBlocking,
        checkpoint: Checkpoint = unchecked,
        now: Now = utc_now,
        *,
        is_alone: bool = False,
        followers: Sequence[Follower] = (),
    ) -> "Transcript":
        """Read the end of the transcript at *path* and repair it; an absent one is empty until the first write.

        Where each turn *is_alone*, independent of earlier ones, nothing is ever summarised and only the latest are
        kept in memory. *followers* are called with records once they are written. Raises StoreError if the file cannot
        be read or repaired; damage inside it is skipped and counted in `repairs`.
        """
        transcript = cls(path, run, checkpoint, now, is_alone=is_alone, followers=followers)
        await run(transcript._read)
        return transcript

    @property
    def entries(self) -> list[Entry]:
        """The conversation in the form that a model may see, as far as a turn needs it."""
        return [record.entry for record in self.records if not isinstance(record.entry, Mark)]

    def entries_of(self, turn_id: TurnId) -> list[Entry]:
        """Return the entries of one turn, without its records for questions about sources."""
        return [record.entry for record in self.records.of(turn_id) if not isinstance(record.entry, Mark)]

    def question(self, back: int = 1) -> tuple[TurnId, UserEntry] | None:
        """Return the latest message that a model was to answer, or an earlier one: 2 is the one before it.

        Unless the transcript `is_whole`, there may be more than these.
        """
        orders = command_turns(self.records)
        asked = (
            (record.turn_id, record.entry)
            for record in reversed(self.records)
            if isinstance(record.entry, UserEntry) and record.turn_id not in orders
        )
        return next(islice(asked, back - 1, None), None)

    def used_by(self, turn_id: TurnId) -> tuple[UsedMemory, ...]:
        """Return the memories that a turn used, each once, with its best score, the best first."""
        best: dict[str, UsedMemory] = {}
        for record in self.records.of(turn_id):
            if isinstance(record.entry, UsedEntry):
                for memory in record.entry.memories:
                    if memory.citation not in best or memory.score > best[memory.citation].score:
                        best[memory.citation] = memory
        return tuple(sorted(best.values(), key=lambda memory: -memory.score))

    async def append(self, turn_id: TurnId, *entries: Entry | Mark) -> None:
        """Write *entries*, all or none, and durably unless they are messages alone: the inbox has these until a commit.

        Raises StoreError; the file is then unchanged.
        """
        now = self._now()
        records = await self._run(self._write, turn_id, now, entries)
        for follower in self._followers:
            follower(records)
        if (begun := self._on_begun) is not None:
            self._on_begun = None
            await begun(now)

    def tell_begin(self, on_begun: Callable[[datetime], Awaitable[None]]) -> None:
        """Have *on_begun* told once, when the next records are durable: they are the first."""
        self._on_begun = on_begun

    async def purge(self, redaction: Redaction) -> int:
        """Remove a passage from all lines, for good; return how many held it. Raises StoreError."""
        return await self._run(self._redact, redaction)

    def _read(self) -> None:
        try:
            if self._path.exists():
                if not self._path.is_file():  # opening a FIFO would wait for ever
                    raise PermissionError(errno.EPERM, "not a regular file")
                torn = _mend_end(self._path)
                self._load(torn)
        except OSError as exc:
            raise disk_trouble(self._path, exc) from exc

    def _load(self, torn: int) -> None:
        with self._path.open("rb") as file:
            records = NewestFirst(file)
            found, self.is_whole = needed_records(records, is_alone=self._is_alone)
        self.records = Records(found)
        self.size = records.size
        self.repairs = Repairs(torn, records.faults[Fault.DAMAGED], records.faults[Fault.UNKNOWN])

    def _write(self, turn_id: TurnId, now: datetime, entries: Sequence[Entry | Mark]) -> list[Record]:
        records = [Record(turn_id, now, entry, kind_of_entry(entry)) for entry in entries]  # of a long text takes long
        lines = [to_line(record) for record in records]
        with self._one_write:
            try:
                is_kept = all(isinstance(record.entry, UserEntry) for record in records)
                self._store(b"".join(lines), is_kept=is_kept)
            except OSError as exc:
                raise disk_trouble(self._path, exc) from exc
            self._remember(lines)
        return records

    def _remember(self, lines: Sequence[bytes]) -> None:
        """Keep the stored lines, as a restart would read them; of those replaced by a summary, only needed ones."""
        stored = [found for line in lines for found in in_line(line) if isinstance(found, Record)]
        self.size += sum(map(len, lines))
        is_long = self._is_alone and len(self.records) + len(stored) > self._most
        if not (is_long or any(isinstance(record.entry, SummaryEntry) for record in stored)):
            self.records.extend(stored)
            return
        found, reaches_back = needed_records(reversed([*self.records, *stored]), is_alone=self._is_alone)
        self.records = Records(found)
        self.is_whole = self.is_whole and reaches_back
        self.size = sum(len(to_line(record)) for record in self.records)
        self._most = max(MOST_ALONE, 2 * len(self.records))

    def _redact(self, redaction: Redaction) -> int:
        with self._one_write:
            if not self._path.exists():
                return 0
            if self._leftover_at is not None:
                os.truncate(self._path, self._leftover_at)
                self._leftover_at = None
            count = redact_file(self._path, redaction)
            if count:
                self._load(self.repairs.torn)
            return count

    def _store(self, content: bytes, *, is_kept: bool) -> None:
        """Append *content*; what *is_kept* elsewhere may wait for the sync of what follows it.

        The first record never waits, in a file that a crash left without one too.
        """
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK  # a FIFO is refused, not waited for
        try:
            file = os.open(self._path, flags, 0o600)
        except FileNotFoundError:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self._path, flags, 0o600)
        try:
            self._cut_leftover(file)
            end = os.fstat(file).st_size
            self._leftover_at = end
            self._write_all(file, content if end else header(self._path.stem, self._now()) + content)
            if not (self.records and is_kept):
                self._checkpoint("transcript.sync", 0)
                os.fsync(file)
            if not self.records:
                sync_folder(self._path.parent)
            self._leftover_at = None
        except OSError:
            self._cut_leftover(file)
            raise
        finally:
            os.close(file)

    def _cut_leftover(self, file: int) -> None:
        if self._leftover_at is not None:
            os.ftruncate(file, self._leftover_at)
            self._leftover_at = None

    def _write_all(self, file: int, content: bytes) -> None:
        while content:
            size = self._checkpoint("transcript.write", len(content))
            content = content[os.write(file, content[:size]) :]


def _mend_end(path: Path) -> int:
    """Move a torn last line out of the file, once a copy is stored beside it; return how many there were."""
    with path.open("rb") as file:
        tail = next(lines_backwards(file))
        end = file.seek(0, os.SEEK_END)
    if not tail:
        return 0
    if is_whole(tail):  # only its line end is missing
        _append_to(path, b"\n")
        return 0
    _append_to(path.with_name(f"{path.name}.torn"), tail + b"\n")
    os.truncate(path, end - len(tail))
    return 1


def _append_to(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        while content:
            content = content[os.write(file, content) :]
        os.fsync(file)
    finally:
        os.close(file)
