"""Log of conversations in the daily notes: each part is written once, despite crashes.

The lines to write are recorded in the transcript first, word for word; after a crash the same lines are added unless
they are in the notes. Everything before that mark is logged; entries after it are not.
"""

import asyncio
from collections.abc import Sequence
from datetime import tzinfo
from itertools import groupby
from pathlib import PurePosixPath

from gateway.agent.entries import LogEntry, LoggedEntry, LogSection
from gateway.sessions.day_summary import day_summary
from gateway.sessions.due import Ending, Pause
from gateway.sessions.extractive_summary import SpokenLine, conversation
from gateway.sessions.session import Session, noting
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record
from gateway.transcripts.records import records_after
from workspaces.access import Access, rights
from workspaces.errors import NoSuchFileError
from workspaces.memory.text.dialogue import conversation_heading
from workspaces.notes import day_path, format_note
from workspaces.workspace import Workspace

LOG = TurnId("log")
"""Takes the place of a turn's id outside of turns."""
_UNHURRIED = frozenset({*Ending, Pause.REST})
"""When nobody waits for an answer, and nothing stops."""


class DailyLog:
    """Writes sections into daily notes: those of the owner's day and the conversation's own audience."""

    def __init__(self, zone: tzinfo, *, asks_model: bool = True) -> None:
        """*asks_model*: a long part is summarised by the session's model, at rest and at its end."""
        self._zone = zone
        self._asks_model = asks_model

    async def __call__(self, session: Session, why: Ending | Pause) -> list[PurePosixPath]:
        """Write the part that is not yet in the notes; return the files that have it now.

        Nothing is written of a conversation that keeps no notes, nor of one with commands alone. Raises StoreError and
        WorkspaceError; called again, it continues.
        """
        if not rights(session.access).flush:
            return []
        written: list[PurePosixPath] = []
        if (begun := unfinished_entry(session.transcript.records)) is not None:
            written += await self._finish(session, begun)
        sections = await self._sections(session, why)
        if sections:
            entry = LogEntry(tuple(sections))
            await session.transcript.append(LOG, entry)
            written += await self._finish(session, entry)
        return written

    async def _sections(self, session: Session, why: Ending | Pause) -> list[LogSection]:
        """Return a section for each of the owner's days with messages that are not logged."""
        records = session.transcript.records
        fresh = records_after(records, LogEntry)
        earlier = records[: len(records) - len(fresh)]
        said = await asyncio.to_thread(conversation, fresh, session.agent.id, self._zone, earlier)
        sections = []
        for day, part in groupby(said, key=lambda each: each.at.date()):
            text = await self._text(session, list(part), why)
            if text:
                path = day_path(session.access, day)
                before = await session.agent.run(_count, session.agent.workspace, session.access, path, text)
                sections.append(LogSection(str(path), text, before))
        return sections

    async def _text(self, session: Session, said: Sequence[SpokenLine], why: Ending | Pause) -> str:
        model = session.agent.model if self._asks_model and why in _UNHURRIED else None
        lines = "".join(f"\n- {line}" for line in await day_summary(said, model))
        return format_note(f"{conversation_heading(said[-1].at)}{lines}", said[0].at) if lines else ""

    async def _finish(self, session: Session, entry: LogEntry) -> list[PurePosixPath]:
        with noting(session) as run:
            for section in entry.sections:
                await run(_add, session.agent.workspace, session.access, section)
        await session.transcript.append(LOG, LoggedEntry())
        return [PurePosixPath(section.path) for section in entry.sections]


def unfinished_entry(records: Sequence[Record]) -> LogEntry | None:
    """Return the sections that were begun and are not confirmed; `None` if there are none."""
    for record in reversed(records):
        if isinstance(record.entry, LoggedEntry):
            return None
        if isinstance(record.entry, LogEntry):
            return record.entry
    return None


def _count(workspace: Workspace, access: Access, path: PurePosixPath, text: str) -> int:
    try:
        return workspace.read(path, access).whole.replace("\r\n", "\n").count(text)
    except NoSuchFileError:
        return 0


def _add(workspace: Workspace, access: Access, section: LogSection) -> None:
    path = PurePosixPath(section.path)
    if _count(workspace, access, path, section.text) <= section.before:
        workspace.append(path, section.text, f"# {path.stem}\n\n", access)
