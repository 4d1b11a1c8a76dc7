"""Storage of files sent with replies, from the turn's request to the platform's receipt."""

import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path, PurePosixPath

import structlog
from msgspec import Struct, structs

from adapters.abilities import SendsFiles
from adapters.channel import Adapter, Address, Body, Upload
from gateway.agent.entries import EnclosedEntry
from gateway.errors import ToolError
from gateway.runtime.escape import visible
from gateway.sessions.turn_request import TurnRequest
from gateway.stores.disk import disk_trouble, remove_older, write_durably
from gateway.stores.rows import Enclosure, OutboxRow
from gateway.transcripts.codec import Record
from workspaces.access import AgentId
from workspaces.run_blocking import RunBlocking
from workspaces.secrets import redact_bytes

log = structlog.get_logger()

LOST = "enclosure_lost"
"""Counted when the content of a file to send is missing: a home restored without it."""
MOST_A_TURN = 10
"""Most files of one answer; our choice."""
LARGEST = 50 * 1024 * 1024
"""Largest file copied for a channel without a limit of its own."""
STALE_AFTER = timedelta(days=2)
"""Age from which unreferenced content is removed: a turn gives up after one day."""


class MessagePart(Struct, frozen=True):
    """The content of one platform message; its file is read when it is sent."""

    body: Body
    file: Enclosure | None = None


class Enclosures:
    """Contents of outgoing files, one file each in the folder of its agent, outside the workspace."""

    def __init__(
        self,
        folders: Mapping[AgentId, Path],
        adapters: Mapping[tuple[str, str], Adapter],
        run: RunBlocking,
        count: Callable[[str], Awaitable[None]],
    ) -> None:
        """*folders*, by agent, are created on demand; *run* does blocking work."""
        self._folders = folders
        self._adapters = adapters
        self._run = run
        self._count = count

    async def enclose(self, asked: TurnRequest, path: PurePosixPath, caption: str) -> int:
        """Copy the file at *path*, if the turn may read it, record it in the journal, and return its size."""
        agent, turn_id = asked.agent, asked.row.turn_id
        enclosed = enclosed_by(asked.transcript.records.of(turn_id), agent.id)
        if len(enclosed) >= MOST_A_TURN:
            raise ToolError(f"{MOST_A_TURN} files are already attached to this answer, the maximum")
        if any(file.path == str(path) for file in enclosed):
            raise ToolError(f"{path} is already attached to this answer")
        key = f"{turn_id}.{len(enclosed)}"
        pieces = self._pieces(asked, path)
        place = self.place(agent.id, key)
        try:
            size = await agent.run(write_durably, place, pieces)
        except OSError as exc:
            raise disk_trouble(place, exc) from exc
        await asked.transcript.append(turn_id, EnclosedEntry(str(path), key, size, caption))
        return size

    async def check(self, asked: TurnRequest, path: PurePosixPath) -> None:
        """Raise WorkspaceError if the turn cannot send the file at *path*."""
        await asked.agent.run(_open, self._pieces(asked, path))

    def _pieces(self, asked: TurnRequest, path: PurePosixPath) -> Generator[bytes, None, None]:
        return asked.agent.workspace.pieces(path, asked.access, self._size_limit(asked.row.message.address))

    def _size_limit(self, address: Address) -> int:
        """Return the channel's largest file; a channel without files gets a text notice, whatever the size."""
        adapter = self._adapters.get((address.channel, address.account))
        if isinstance(adapter, SendsFiles):
            return adapter.upload_limit
        return LARGEST

    def place(self, agent: str, key: str) -> Path:
        return self._folders[AgentId(agent)] / key

    async def loaded(self, part: MessagePart) -> Body:
        """Return the body of *part*, with the content of its file; a notice replaces missing content."""
        if part.file is None:
            return part.body
        try:
            content = await self._run(self.place(part.file.agent, part.file.key).read_bytes)
        except (OSError, KeyError) as exc:
            log.error("enclosure lost", key=part.file.key, why=type(exc).__name__)
            await self._count(LOST)
            return structs.replace(part.body, text=f"{part.body.text}\n{_lost_line(part.file)}".strip())
        return structs.replace(part.body, upload=Upload(part.file.name, redact_bytes(content)))

    async def release(self, files: Iterable[Enclosure]) -> None:
        """Remove the contents of *files*: their reply was delivered, or given up."""
        for file in files:
            with suppress(OSError, KeyError):
                await self._run(self.place(file.agent, file.key).unlink)

    async def sweep(self, waiting: Iterable[OutboxRow]) -> int:
        """Remove the leftovers of crashes, except the files of the replies in *waiting*. Return the number of files."""
        files, removed = [file for row in waiting for file in row.outgoing.files], 0
        for agent, folder in self._folders.items():
            needed = {file.key for file in files if file.agent == agent}
            removed += await self._run(remove_older, folder, time.time() - STALE_AFTER.total_seconds(), needed)
        return removed


def _open(pieces: Generator[bytes, None, None]) -> None:
    """Read the first of *pieces*, and close their file."""
    with closing(pieces):
        next(pieces, None)


def enclosed_by(turn: Iterable[Record], agent: AgentId) -> tuple[Enclosure, ...]:
    """Return the files to send with the answer of a *turn*, by its journal."""
    return tuple(
        Enclosure(agent, note.key, note.path, note.size, note.caption)
        for record in turn
        if isinstance(note := record.entry, EnclosedEntry)
    )


def file_parts(adapter: Adapter, files: Iterable[Enclosure]) -> list[MessagePart]:
    """Return the messages that carry *files*, each with its caption. Pure, as `Adapter.render` is."""
    return [part for file in files for part in _file(adapter, file)]


def _file(adapter: Adapter, file: Enclosure) -> Iterator[MessagePart]:
    if not isinstance(adapter, SendsFiles) or file.size > adapter.upload_limit:
        words = f"{file.caption}\n\n{_file_line(file)}".strip()
        yield from (MessagePart(body) for body in adapter.render(words))
        return
    *before, last = adapter.render(file.caption) or [Body("")]
    if last.upload is not None or len(last.text.encode("utf-16-le")) // 2 > adapter.caption_limit:
        before, last = [*before, last], Body("")
    yield from (MessagePart(body) for body in before)
    yield MessagePart(last, file)


def _file_line(file: Enclosure) -> str:
    return f"[file: {visible(file.path)}, {file.size:,} bytes; it is in my workspace and cannot be sent here]"


def _lost_line(file: Enclosure) -> str:
    return f"[file: {visible(file.path)}; it was to be sent, but no longer exists]"
