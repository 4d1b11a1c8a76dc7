"""Finds the transcript of a session, and keeps those in use open."""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from glob import escape
from pathlib import Path
from urllib.parse import quote, unquote
from weakref import WeakValueDictionary

import structlog

from gateway.admission.routing import SessionKey, is_session, is_unasked
from gateway.runtime.bounded_dict import BoundedDict
from gateway.runtime.clock import utc_now
from gateway.stores.disk import disk_trouble, sync_folder
from gateway.transcripts.codec import Record
from gateway.transcripts.purge import redact_file
from gateway.transcripts.session_marks import LostTranscript, SessionMarks, set_aside
from gateway.transcripts.writer import Follower, Now, Repairs, Transcript
from workspaces.access import AgentId
from workspaces.fault_points import Checkpoint, unchecked
from workspaces.redact import Redaction
from workspaces.run_blocking import RunBlocking

log = structlog.get_logger()

ARCHIVE = "archive"
"""The folder, beside the transcripts, of ended sessions: `<session>.<UTC time>.jsonl`."""
OPEN_AT_MOST = 256
"""Transcripts kept in memory; the least recently used is dropped, and read again at its chat's next message."""
OPEN_BYTES = 4 * 1024 * 1024
"""Bytes of their lines kept in memory together, where they take half as much again; the one in use stays, however long
it is. Six conversations that fill a window of 128,000 tokens; to read one of these again takes 14 ms, one of 150 turns
5 ms.
"""
REPAIRS_TOLD = 100
"""Sessions whose damage the status lists, the latest; the log has them all."""


class Sessions:
    """The conversations of all agents; each session is used by its own lane only."""

    def __init__(
        self,
        folders: Mapping[AgentId, Path],
        run: RunBlocking,
        checkpoint: Checkpoint = unchecked,
        now: Now = utc_now,
        marks: SessionMarks | None = None,
        is_alone: Callable[[SessionKey], bool] | None = None,
    ) -> None:
        """*folders* holds each agent's transcripts; *run* executes reads and writes.

        *marks* tell a lost transcript from a new one; without them nobody can. *is_alone* returns whether each turn of
        a session is independent of earlier ones; without it none is.
        """
        self._folders = folders
        self.run = run
        """For other readers of transcripts."""
        self._checkpoint = checkpoint
        self._now = now
        self._open: OrderedDict[SessionKey, Transcript] = OrderedDict()
        self._sizes: dict[SessionKey, int] = {}
        """Size of each of these, in bytes, at its last use."""
        self._held = 0
        """Their sum: adding them up took a quarter of a millisecond at every turn of 200 chats."""
        self._in_use: WeakValueDictionary[SessionKey, Transcript] = WeakValueDictionary()
        """Transcripts that a turn still holds, though they were dropped here: a session must not have two writers."""
        self._opening: WeakValueDictionary[SessionKey, asyncio.Lock] = WeakValueDictionary()
        self._repairs: BoundedDict[SessionKey, Repairs] = BoundedDict(REPAIRS_TOLD)
        self._followers: defaultdict[SessionKey, list[Follower]] = defaultdict(list)
        self._marks = marks
        self._is_alone = is_alone
        self._lost: dict[SessionKey, LostTranscript] = {}

    async def open(self, key: SessionKey) -> Transcript:
        """Return the transcript of *key*, created if there is none. Raises StoreError."""
        if (transcript := self._in_use.get(key)) is None:
            async with self._opening.setdefault(key, asyncio.Lock()):
                transcript = self._in_use[key] = self._in_use.get(key) or await self._read(key)
        self._keep(key, transcript)
        return transcript

    def follow(self, key: SessionKey, follower: Follower) -> None:
        """Call *follower* with all records written to the session of *key* from its next opening on."""
        self._followers[key].append(follower)

    def _keep(self, key: SessionKey, transcript: Transcript) -> None:
        """Keep *transcript* as the most recently used, and drop as many of the others as necessary."""
        self._held += transcript.size - self._sizes.get(key, 0)
        self._sizes[key] = transcript.size
        self._open[key] = transcript
        self._open.move_to_end(key)
        while len(self._open) > OPEN_AT_MOST or (len(self._open) > 1 and self._held > OPEN_BYTES):
            self._drop_open(next(iter(self._open)))

    def _grew(self, key: SessionKey, _: Sequence[Record]) -> None:
        """Count the records just written, for whoever holds the transcript of *key* open."""
        if (transcript := self._in_use.get(key)) is not None:
            self._keep(key, transcript)

    def _drop_open(self, key: SessionKey) -> None:
        self._open.pop(key, None)
        self._held -= self._sizes.pop(key, 0)

    async def _read(self, key: SessionKey) -> Transcript:
        is_alone = self._is_alone is not None and self._is_alone(key)
        followers = (*self._followers.get(key, ()), partial(self._grew, key))
        transcript = await Transcript.open(
            self.path(key), self.run, self._checkpoint, self._now, is_alone=is_alone, followers=followers
        )
        if transcript.repairs != Repairs():
            self._repairs[key] = transcript.repairs
            log.warning("transcript repaired", session=str(key), repairs=_describe_repairs(transcript.repairs))
        if self._marks is not None and not is_unasked(key):
            await self._compare(key, transcript, self._marks)
        return transcript

    async def _compare(self, key: SessionKey, transcript: Transcript, marks: SessionMarks) -> None:
        """Tell if *transcript* has lost all of its records; it goes on as a new one. Raises StoreError."""
        since, path = await marks.since(key), self.path(key)
        if transcript.records:
            if not since:
                await marks.begun(key, self._now())
            return
        if since and not await self.run(marks.was_removed, key, path.name):
            torn = path.with_name(f"{path.name}.torn") if transcript.repairs.torn else None
            lost = LostTranscript(key, path, since, await self.run(set_aside, path, self._now()) or torn)
            log.error("transcript lost", session=str(key), detail=str(lost))
            await marks.on_lost(lost)
            self._lost[key] = lost
        await marks.over(key)
        transcript.tell_begin(partial(marks.begun, key))

    async def archive(self, key: SessionKey, ended: datetime) -> None:
        """Archive the transcript of *key*, whole, under the time when it *ended*. Raises StoreError."""
        if self._marks is not None:
            await self._marks.over(key)
        await self.run(_archive_file, self.path(key), f"{ended.astimezone(UTC):%Y%m%dT%H%M%S%fZ}")
        self._drop_open(key)
        self._in_use.pop(key, None)

    async def purge(self, agent: AgentId, redaction: Redaction) -> int:
        """Remove a passage from all conversations of *agent*, ended ones too; return how many lines held it.

        Raises StoreError; called again, it continues.
        """
        count = 0
        for file in await self.run(_files_below, self._folders[agent]):
            key = SessionKey(agent, unquote(file.stem))
            if file == self.path(key):
                count += await (await self.open(key)).purge(redaction)
            else:
                count += await self.run(redact_file, file, redaction)
        return count

    def known(self, since: datetime) -> dict[SessionKey, datetime]:
        """Return the sessions whose transcripts were written to *since* then, each with that time; it blocks."""
        found = {}
        for agent, folder in self._folders.items():
            for file in folder.glob("*.jsonl"):
                with suppress(FileNotFoundError):  # archived, or removed, since the folder was listed
                    at = datetime.fromtimestamp(file.stat().st_mtime, UTC)
                    if at >= since and is_session(name := unquote(file.stem)):
                        found[SessionKey(agent, name)] = at
        return found

    def silent_since(self, agent: AgentId, moment: datetime) -> list[SessionKey]:
        """Return the sessions of *agent* whose transcripts were not written to since *moment*; it blocks."""
        found = self.known(datetime.min.replace(tzinfo=UTC))
        return [key for key, at in found.items() if key.agent == agent and at < moment]

    async def remove(self, key: SessionKey) -> None:
        """Remove the conversation of *key*, which has ended for good. Raises StoreError."""
        await self.run(_remove, self.path(key))
        self._drop_open(key)
        self._in_use.pop(key, None)

    def path(self, key: SessionKey) -> Path:
        return self._folders[key.agent] / f"{quote(key.name, safe=':.-')}.jsonl"

    def folder(self, agent: AgentId) -> Path:
        return self._folders[agent]

    def repairs(self) -> Iterator[str]:
        """Yield the damage found lately, one line a session; damage from before the start is unknown."""
        for key, repairs in self._repairs.items():
            yield f"session {key}: {_describe_repairs(repairs)}"
        for key, lost in self._lost.items():
            yield f"session {key}: {lost}"


def _files_below(folder: Path) -> list[Path]:
    """Return all transcripts, and the remains of one after a crash."""
    return sorted(file for file in folder.rglob("*.jsonl*") if file.is_file() and not file.is_symlink())


def _remove(present: Path) -> None:
    """Remove a transcript, with the remains of a crash beside it."""
    try:
        for file in present.parent.glob(f"{escape(present.name)}*"):
            file.unlink(missing_ok=True)
        sync_folder(present.parent)
    except OSError as exc:
        raise disk_trouble(present, exc) from exc


def _archive_file(present: Path, ended: str) -> None:
    archive = present.parent / ARCHIVE
    try:
        archive.mkdir(mode=0o700, exist_ok=True)
        present.rename(archive / f"{present.stem}.{ended}{present.suffix}")
        sync_folder(archive)
        sync_folder(present.parent)
    except OSError as exc:
        raise disk_trouble(present, exc) from exc


def _describe_repairs(repairs: Repairs) -> str:
    parts = (
        (repairs.torn, "torn last line cut and kept beside the file"),
        (repairs.damaged, "damaged lines skipped"),
        (repairs.unknown, "lines of an unknown kind skipped"),
    )
    return ", ".join(f"{count} {what}" for count, what in parts if count)
