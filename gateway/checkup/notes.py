"""Notes, instructions and origins of lines, read for a check-up with its owner's access."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from gateway.agent.agent import Agent
from gateway.agent.prompt import build_prompt
from gateway.sessions.day_summary import PROMPT as SUMMARY
from gateway.sessions.flush import PROMPT as FLUSH
from workspaces.access import Access, SessionType
from workspaces.errors import BadPathError, HistoryUnusableError, NoSuchFileError, NotTextError, TooLargeError
from workspaces.forget import forgettable
from workspaces.history import LineWriters, WrittenBy
from workspaces.memory.checkup.copies import Instruction
from workspaces.memory.checkup.noted import UNRECORDED, Hand, LineSource, NotedEntry, noted_entries
from workspaces.skills import read_skills
from workspaces.workspace import Workspace

STEERING = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md", "BOOT.md")
"""Files whose lines need no copy among the notes."""
ABOUT_PEOPLE = ("USER.md",)
_PATIENCE_S = 2.0
_ABSENT = (NoSuchFileError, BadPathError, NotTextError, TooLargeError)

Read = Callable[[], None]
"""Called after each file."""


async def entries_with_sources(agent: Agent, access: Access, read: Read) -> list[NotedEntry]:
    """Return the entries of the private notes of *agent*, each with its source; none that holds others' words.

    Accepting a proposal makes a line the owner's: nobody else's may come so far. Raises WorkspaceError.
    """
    writers = await _writers(agent, access)
    entries: list[NotedEntry] = []
    for path in sorted(await agent.run(forgettable, agent.workspace, access)):
        whole = await agent.run(whole_note, agent.workspace, access, path)
        own = await agent.run(_own_entries, agent, path, whole)
        entries += [replace(each, source=_source(each, writers)) for each in own]
        read()
    return entries


def _own_entries(agent: Agent, path: PurePosixPath, whole: str) -> list[NotedEntry]:
    others = agent.history_writer.origins.others_in
    return [each for each in noted_entries(path, whole, agent.id) if not others(each.raw)]


async def _writers(agent: Agent, access: Access) -> LineWriters:
    """Return who wrote each line; nobody is known while the history cannot be read."""
    try:
        await recorded(agent)
        history = await agent.history_writer.history()
        return await agent.history_writer.ask(history.line_writers, access)
    except HistoryUnusableError:
        return LineWriters()


async def recorded(agent: Agent) -> None:
    """Wait until the history has all changes; where no gateway runs, nobody records edits, and nothing waits."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            await agent.history_writer.catch_up()


def _source(entry: NotedEntry, writers: LineWriters) -> LineSource:
    written = writers.of(entry.raw.split("\n")[0])
    return UNRECORDED if written is None else source_of(written)


def source_of(written: WrittenBy) -> LineSource:
    """Return *written* as the check-up knows it."""
    origin = written.origin
    if origin is None:
        return LineSource(Hand.UNKNOWN, written.day)
    hand = Hand.OWNER if written.is_owners else Hand.AGENT
    return LineSource(hand, written.day, origin.turn or "", origin.session)


def whole_note(workspace: Workspace, access: Access, path: PurePosixPath) -> str:
    """Return the text of the note at *path*; empty if it is none."""
    try:
        return workspace.read(path, access).whole
    except _ABSENT:
        return ""


def instructions_of(workspace: Workspace, access: Access) -> list[Instruction]:
    """Return the agent's instructions: its steering files, its skills, and the gateway's own prompts."""
    return [*_files(workspace, access, STEERING), *_skills(workspace, access), *_prompts()]


def texts_about_people(workspace: Workspace, access: Access) -> list[str]:
    """Return the texts of files in which people may be named, other than notes."""
    return [each.text for each in (*_files(workspace, access, (*ABOUT_PEOPLE, *STEERING)), *_skills(workspace, access))]


def _files(workspace: Workspace, access: Access, names: tuple[str, ...]) -> Iterator[Instruction]:
    for name in names:
        if text := whole_note(workspace, access, PurePosixPath(name)):
            yield Instruction(name, text)


def _skills(workspace: Workspace, access: Access) -> Iterator[Instruction]:
    for skill in read_skills(workspace, access).listed:
        yield Instruction(str(skill.path), whole_note(workspace, access, skill.path))


def _prompts() -> Iterator[Instruction]:
    for kind in SessionType:
        prompt = build_prompt([], kind, recall=True, now=datetime.now(UTC))
        yield Instruction("the gateway's prompt", prompt.stable)
    yield Instruction("the gateway's prompt", FLUSH)
    yield Instruction("the gateway's prompt", SUMMARY)
