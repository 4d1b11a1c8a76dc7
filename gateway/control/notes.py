"""Operator requests about an agent's notes: list, read, write, correct and forget."""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePosixPath
from uuid import uuid4

from msgspec import Struct

from gateway.agent.agent import Agent
from gateway.agent.entries import ForgottenEntry
from gateway.approvals.diff import difference
from gateway.control.notes_wire import NoteEntry, NoteRow, NotesAnswer, NotesOrder
from gateway.errors import StrandlineError
from gateway.stores.rows import TurnId
from gateway.transcripts.writer import Transcript
from workspaces.access import PRIVATE, Access, scope_of
from workspaces.errors import EditError, FileChangedError, NoSuchFileError
from workspaces.forget import NotePassage, notes_of, reworded, without_notes
from workspaces.history import OWNERS_PAGE, Origin
from workspaces.memory.client import MemoryUnavailableError
from workspaces.memory.text.dialogue import without_time
from workspaces.memory.text.known_lines import until
from workspaces.memory.workspace_source import OthersLines, day_of, is_note
from workspaces.paths import clean_path
from workspaces.workspace import TextFile, Workspace

_FILES = frozenset({"AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOT.md"})
"""Files that are no notes, and that their owner edits beside them."""


class NoteEditor(Struct, frozen=True):
    """Reads and changes the notes of one agent for its owner."""

    agent: Agent
    access: Access
    others_access: Access
    """For files that others read, once the owner has confirmed that."""
    conversation: Transcript
    """The owner's: what is to be forgotten is marked there, so that no summary writes it again."""

    async def answer(self, order: NotesOrder) -> NotesAnswer:
        """Execute *order*. Raises WorkspaceError, and StrandlineError for a file that the page does not show."""
        if order.act == "list":
            return NotesAnswer(await self.agent.run(_rows, self.agent.workspace, self.access))
        path = clean_path(order.path)
        if not (is_note(path) or str(path) in _FILES):
            raise StrandlineError(f"{path} is not a file of notes")
        if order.act == "open":
            file = await self.agent.run(self.agent.workspace.read, path, self.access)
            return NotesAnswer(text=file.whole, digest=file.digest)
        if order.act == "read":
            return await self._read(path)
        if scope_of(path) != PRIVATE and not order.is_for_others:
            raise StrandlineError(f"others read {path}: confirm that they may read the new text")
        if order.act == "write":
            return await self._write(path, order)
        return await self._change(path, order)

    async def _read(self, path: PurePosixPath) -> NotesAnswer:
        file = await self.agent.run(self.agent.workspace.read, path, self.access)
        origins = self.agent.history_writer.origins
        entries = await self.agent.history_writer.ask(_entries, path, file.whole, origins.others_in_file)
        return NotesAnswer(text=file.whole, digest=file.digest, entries=entries)

    async def _write(self, path: PurePosixPath, order: NotesOrder) -> NotesAnswer:
        def write(workspace: Workspace, access: Access) -> NotesAnswer:
            now = workspace.present(path, access)
            text = order.text.replace("\r\n", "\n")
            if now is not None and "\r\n" in now.whole:
                text = text.replace("\n", "\r\n")
            if (now.digest if now else "") != order.digest:
                return _conflict(now, text)
            if now is not None and now.whole == text:
                return NotesAnswer(digest=now.digest, outcome=f"{path} already has that text")
            try:
                written = workspace.write(path, text, access, now)
            except FileChangedError:
                return _conflict(workspace.present(path, access), text)
            return NotesAnswer(digest=written.digest, outcome=f"Saved {path}.")

        return await self._recorded(path, write, ())

    async def _change(self, path: PurePosixPath, order: NotesOrder) -> NotesAnswer:
        """Reword or remove one note."""
        file = await self.agent.run(self.agent.workspace.read, path, self.access)
        note = next((each for each in notes_of(path, file.whole) if each.mark == order.mark), None)
        if note is None:
            raise EditError(f"this note is no longer in {path}; load the page again")
        if note.is_part:
            raise EditError(f"{note.citation} is part of a longer passage; edit the file")

        def change(workspace: Workspace, access: Access) -> NotesAnswer:
            is_forgotten = order.act == "forget"
            text = without_notes(file.whole, [note]) if is_forgotten else reworded(file.whole, note, order.text)
            written = workspace.write(path, text, access, file)
            done = "Forgotten" if is_forgotten else "Corrected"
            return NotesAnswer(digest=written.digest, outcome=f"{done}: {_short(note.text)}")

        return await self._recorded(path, change, (note,))

    async def _recorded(
        self, path: PurePosixPath, change: Callable[[Workspace, Access], NotesAnswer], gone: tuple[NotePassage, ...]
    ) -> NotesAnswer:
        """Make a change as the owner's, so that the history, search and later summaries know of it."""
        turn, origin = f"page-{uuid4().hex}", Origin(OWNERS_PAGE)
        access = self.access if scope_of(path) == PRIVATE else self.others_access
        try:
            with self.agent.changing(turn, origin) as run:
                answer = await run(change, self.agent.workspace, access)
        except ValueError as exc:
            raise EditError("the new text is empty; forget the note instead") from exc
        if answer.difference:
            return answer
        await self.agent.history_writer.record([path], origin)
        if gone:
            texts = (without_time(note.text.split("\n")[0]) for note in gone)
            await self.conversation.append(TurnId(turn), ForgottenEntry(tuple(texts)))
        self.agent.memory.touched()
        with suppress(MemoryUnavailableError):  # the next search looks again
            await self.agent.memory.sync()
        return answer


def _rows(workspace: Workspace, access: Access) -> tuple[NoteRow, ...]:
    return tuple(
        NoteRow(str(found.path), scope_of(found.path).partition(":")[2], day_of(found.path), found.size)
        for found in workspace.files(access)
        if is_note(found.path) or str(found.path) in _FILES
    )


def _entries(path: PurePosixPath, whole: str, others_in: OthersLines) -> tuple[NoteEntry, ...]:
    others = frozenset(others_in(path, whole))
    return tuple(_entry(note, others) for note in _known_notes(path, whole))


@lru_cache(maxsize=8)
def _known_notes(path: PurePosixPath, whole: str) -> tuple[NotePassage, ...]:
    """Return the notes of a text: parsing a thousand takes some 50 ms, and a file is looked at again and again."""
    return tuple(notes_of(path, whole))


def _entry(note: NotePassage, others: frozenset[int]) -> NoteEntry:
    is_others = not others.isdisjoint(range(note.first_line, note.last_line + 1))
    held = until(note.text) or ("", "")
    return NoteEntry(
        note.mark, note.first_line, note.last_line, note.text, note.section, note.is_part, is_others, *held
    )


def _conflict(now: TextFile | None, text: str) -> NotesAnswer:
    if now is None:
        raise NoSuchFileError("the file was removed meanwhile; nothing was written")
    return NotesAnswer(text=now.whole, digest=now.digest, difference=difference(now.whole, text))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:119]}…"
