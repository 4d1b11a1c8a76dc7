"""Onboarding: `BOOTSTRAP.md` leads conversations until the agent has introduced itself."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath

import structlog

from gateway.agent.entries import COMMAND, HALTED, OFFLINE, UNFINISHED, ReplyEntry
from gateway.sessions.due import Ending, Pause
from gateway.sessions.session import Session, noting
from gateway.transcripts.codec import Record
from workspaces.access import Access, SessionType
from workspaces.errors import NotTextError, TooLargeError
from workspaces.starting_files import is_blank
from workspaces.workspace import TextFile, Workspace

log = structlog.get_logger()

FILE = PurePosixPath("BOOTSTRAP.md")
INTRODUCTION = ("IDENTITY.md", "USER.md")
"""Files that the agent fills as it learns who it is to be, and for whom."""
_OVER = frozenset({*Ending, Pause.REST, Pause.DAY})
"""Not when the gateway stops, nor while the owner visits another agent: the conversation continues afterwards."""
_NO_MODEL = frozenset({COMMAND, HALTED, UNFINISHED, OFFLINE})


async def end_first_run(session: Session, why: Ending | Pause) -> Sequence[PurePosixPath]:
    """Delete `BOOTSTRAP.md` when a conversation ends or pauses in which the agent has introduced itself.

    That is: a language model answered, and the files of `INTRODUCTION` are filled in. No note is written.

    The history keeps it: once restored, it leads the next conversation. Raises WorkspaceError.
    """
    if why not in _OVER or session.key.name != SessionType.MAIN:
        return ()
    led = _last_answer(session.transcript.records)
    workspace, access = session.agent.workspace, session.access
    if led is None or await session.agent.run(_present, workspace, access) is None:
        return ()
    with noting(session) as run:
        if await run(_remove_if_done, workspace, access, led):
            log.info("the first conversation is over", agent=session.agent.id)
    return ()


def _last_answer(records: Sequence[Record]) -> datetime | None:
    """Return when a language model last answered with words."""
    for record in reversed(records):
        entry = record.entry
        if isinstance(entry, ReplyEntry) and entry.model not in _NO_MODEL and entry.text.strip():
            return record.at
    return None


def _remove_if_done(workspace: Workspace, access: Access, led: datetime) -> bool:
    """Delete the file once the agent has introduced itself; say whether it was deleted.

    It stays if it was written after the latest answer, which it cannot have led.
    """
    written = next((found.mtime_ns for found in workspace.folder.walk() if found.path == FILE), None)
    present = _present(workspace, access)
    if written is None or present is None or datetime.fromtimestamp(written / 1e9, UTC) > led:
        return False
    if not all(_is_filled(workspace, access, name) for name in INTRODUCTION):
        return False
    workspace.delete(FILE, access, present)
    return True


def _is_filled(workspace: Workspace, access: Access, name: str) -> bool:
    """Say whether the file says more than its template."""
    try:
        file = workspace.present(name, access)
    except (NotTextError, TooLargeError):
        return False
    return file is not None and not is_blank(name, file.whole)


def _present(workspace: Workspace, access: Access) -> TextFile | None:
    """Return the file; `None` also for anything but text, which cannot lead a conversation."""
    try:
        return workspace.present(FILE, access)
    except (NotTextError, TooLargeError):
        return None
