"""Traces a memory back: from a line of a note to the commit that wrote it and the message it came from."""

from collections.abc import Iterator
from glob import escape
from pathlib import Path

from msgspec import Struct

from gateway.admission.routing import SessionKey
from gateway.agent.agent import Agent
from gateway.agent.entries import ReplyEntry, UserEntry, said_text
from gateway.errors import StrandlineError
from gateway.transcripts.codec import Record, numbered_records
from gateway.transcripts.memory_source import FOLDER
from gateway.transcripts.store import ARCHIVE, Sessions
from workspaces.access import Access, AgentId
from workspaces.citations import CitedLines, cited_lines
from workspaces.file_errors import no_such_file
from workspaces.history import Commit, History, Origin
from workspaces.history.visibility import sees_all
from workspaces.paths import clean_path


class NoteChange(Struct, frozen=True):
    """A change that wrote some lines of a note."""

    commit: Commit
    said: Record | None
    """The message that led to it; `None` if there was none, or its transcript is gone."""


class MemoryOrigin(Struct, frozen=True):
    citation: str
    text: str
    """The lines as they are in the file."""
    steps: tuple[NoteChange | Record, ...]
    """The newest first; none while the lines are not in the history yet. A conversation is its own source."""


async def origin_of(agent: Agent, sessions: Sessions, citation: str, access: Access) -> MemoryOrigin:
    """Return the origin of the lines of *citation* (`path#L3`, `path#L3-L5`, either with `@2026-03-03`).

    Raises StrandlineError for an invalid citation; NoSuchFileError for an absent file, and for every caller who does
    not see all of the agent's history; HistoryUnusableError.
    """
    passage = passage_of(citation)
    if not sees_all(access) or access.agent != agent.id:
        raise no_such_file(clean_path(passage.path))
    history = await agent.history_writer.history()
    find = _origin_of_speech if passage.path.startswith(f"{FOLDER}/") else _origin_of_note
    return await agent.history_writer.ask(find, passage, history, sessions, access)


def passage_of(citation: str) -> CitedLines:
    """Parse *citation*. Raises StrandlineError."""
    if cited := cited_lines(citation):
        return cited
    shown = citation.strip()[:80]
    raise StrandlineError(f"{shown!r} is not a citation; write one such as MEMORY.md#L3 or MEMORY.md#L3-L5")


def _origin_of_note(passage: CitedLines, history: History, sessions: Sessions, access: Access) -> MemoryOrigin:
    authors = history.authors(passage.path, passage.lines, access, passage.day)
    steps = [NoteChange(commit, _message(commit.origin, sessions, access.agent)) for commit in authors.commits]
    return MemoryOrigin(str(passage), authors.text, tuple(steps))


def _origin_of_speech(passage: CitedLines, _: History, sessions: Sessions, access: Access) -> MemoryOrigin:
    file = sessions.folder(access.agent) / passage.path.removeprefix(f"{FOLDER}/")
    here = sessions.folder(access.agent)
    if file.parent not in {here, here / ARCHIVE} or not file.is_file():
        raise no_such_file(clean_path(passage.path))
    with file.open("rb") as lines:
        found = [record for number, record in numbered_records(lines) if number in passage.lines]
    said = [record for record in found if isinstance(record.entry, UserEntry | ReplyEntry)]
    return MemoryOrigin(str(passage), "\n".join(said_text(each.entry) for each in said), tuple(said))


def _message(origin: Origin | None, sessions: Sessions, agent: AgentId) -> Record | None:
    """Return the message that *origin* names, from the session's transcript or from an archived one."""
    owner, _, name = origin.session.partition("/") if origin else ("", "", "")
    if origin is None or not origin.turn or owner != agent or not name:
        return None
    files = _transcripts(sessions.path(SessionKey(agent, name)))
    return next((record for file in files for record in _messages_in(file, origin.turn)), None)


def _transcripts(present: Path) -> Iterator[Path]:
    if present.is_file():
        yield present
    yield from sorted(present.parent.glob(f"*/{escape(present.stem)}*{present.suffix}"), reverse=True)


def _messages_in(file: Path, turn: str) -> Iterator[Record]:
    """Yield the messages of *turn*; only lines that name it are parsed, for a transcript may be long."""
    with file.open("rb") as lines:
        for _, record in numbered_records(line for line in lines if turn.encode() in line):
            if record.turn_id == turn and isinstance(record.entry, UserEntry):
                yield record
