"""Strandline's own tools by family, as the entry points of `strandline.tools` name them."""

from collections.abc import Callable
from datetime import datetime
from pathlib import PurePosixPath

from msgspec import Struct

from gateway.agent.models.port import Model
from gateway.agent.tools.conversation import conversation_tools
from gateway.agent.tools.files import file_tools
from gateway.agent.tools.history import WritingTurn, history_tools
from gateway.agent.tools.memory import MemoryWatch, Used, memory_tools
from gateway.agent.tools.notes import note_tools
from gateway.agent.tools.notify import notify_tools
from gateway.agent.tools.schedule import JobRequests, schedule_tools
from gateway.agent.tools.send import CheckFile, Enclose, send_tools
from gateway.agent.tools.spawn import SubagentOperations, spawn_tools
from gateway.agent.tools.tool import Tool
from gateway.agent.write_guard import WriteGuard
from workspaces.access import Access
from workspaces.history import History
from workspaces.memory.search import MemoryIndex
from workspaces.run_blocking import RunBlocking
from workspaces.workspace import Workspace


class TurnActions(Struct, frozen=True):
    """What one turn may set going beyond its agent's files; `None` where it may not."""

    enclose: Enclose | None = None
    """Sends files with the answer."""
    check_file: CheckFile | None = None
    """Tells of one that cannot be sent."""
    helpers: SubagentOperations | None = None
    """Runs subagents."""
    jobs: JobRequests | None = None
    """Plans jobs."""
    is_unasked: bool = False
    """Nobody waits for its answer, so it notifies its owner where that is due."""


NO_ACTIONS = TurnActions()


class ToolResources(Struct, frozen=True):
    """The parts of an agent that the tools of one turn close over."""

    workspace: Workspace
    access: Access
    """The turn's own; every reader requires it."""
    run: RunBlocking
    """Runs blocking work on the workspace's own thread; files that it changes count as this turn's in the history."""
    clock: Callable[[], datetime]
    """Returns the time, in the owner's zone."""
    memory: MemoryIndex
    history: History | None
    """`None` while it cannot be read."""
    writer: WritingTurn
    used: Used
    """Called with the memories that a tool returns."""
    guard: WriteGuard
    """Holds changes back that wait for the owner."""
    model: Model
    actions: TurnActions = NO_ACTIONS
    holds_others: Callable[[str], bool] = lambda _: False
    """Tells whether a text of the workspace holds others' words."""
    names_others: Callable[[PurePosixPath], bool] = lambda _: False
    """Tells whether others chose the name of a file."""


def conversation(turn: ToolResources) -> list[Tool]:
    """Return the tools about the conversation itself."""
    return conversation_tools(turn.access, turn.model)


def files(turn: ToolResources) -> list[Tool]:
    return file_tools(turn.workspace, turn.access, turn.run, turn.guard)


def history(turn: ToolResources) -> list[Tool]:
    """Return the tools for versions of files; none while the history cannot be read."""
    return [] if turn.history is None else history_tools(turn.history, turn.access, turn.run, turn.writer)


def memory(turn: ToolResources) -> list[Tool]:
    """Return the tools that search."""
    watch = MemoryWatch(turn.holds_others, turn.guard, turn.names_others)
    return memory_tools(turn.memory, turn.workspace, turn.access, turn.run, turn.used, watch)


def notes(turn: ToolResources) -> list[Tool]:
    """Return the tools that save notes."""
    return note_tools(turn.workspace, turn.access, turn.run, turn.clock, turn.guard)


def notify(turn: ToolResources) -> list[Tool]:
    """Return the tool that notifies the owner, for a turn that nobody asked for."""
    return notify_tools() if turn.actions.is_unasked else []


def schedule(turn: ToolResources) -> list[Tool]:
    """Return the tools for jobs."""
    return [] if turn.actions.jobs is None else schedule_tools(turn.access, turn.actions.jobs)


def send(turn: ToolResources) -> list[Tool]:
    """Return the tool that sends files."""
    enclose, check = turn.actions.enclose, turn.actions.check_file
    return [] if enclose is None or check is None else send_tools(enclose, check)


def subagents(turn: ToolResources) -> list[Tool]:
    return [] if turn.actions.helpers is None else spawn_tools(turn.actions.helpers)
