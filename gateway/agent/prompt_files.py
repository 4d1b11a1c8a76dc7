"""Workspace files of a turn's prompt; hooks may change them, and the access filter comes last."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import partial

from msgspec import Struct, structs

from gateway.agent.agent import Agent
from gateway.agent.prompt import Prompt
from gateway.agent.whole_memory import is_told
from gateway.hooks import AGENT_BOOTSTRAP, BEFORE_AGENT_START, AgentStart, Bootstrap, Hooks
from workspaces.access import Access, Locality, owner_access, rights
from workspaces.bootstrap import (
    OTHERS_HIDDEN,
    BootstrapFile,
    ShownExtent,
    bootstrap_files,
    choose,
    extents,
    gather,
    read_file,
    withheld_files,
)
from workspaces.errors import WorkspaceError
from workspaces.file_slot import Identity
from workspaces.prompt_limits import BootstrapRole, Limits
from workspaces.run_blocking import RunBlocking
from workspaces.skills import Skill, read_skills
from workspaces.workspace import Workspace


class TurnContext(Struct, frozen=True):
    """The workspace's part of a turn's prompt."""

    files: Sequence[BootstrapFile]
    skills: Sequence[Skill]
    notes: str
    """The notes as a whole; empty above their limit."""
    may_hold_house: bool
    """Some of it may be text that stays on the owner's machines."""


async def project_context(
    agent: Agent, access: Access, today: date, limits: Limits, hooks: Hooks
) -> list[BootstrapFile]:
    """Return the files that the prompt of a turn shows, in order; *today* is the owner's day.

    A file that was private before a hook ran stays private, whatever the hook did to the files on disk meanwhile.
    """
    if not hooks.handles(AGENT_BOOTSTRAP):
        return await agent.run(_files, agent, access, today, limits)
    files, withheld = await agent.run(_before, agent, access, today, limits)
    payload = Bootstrap(agent.id, access.session_type, tuple(files), partial(_read, agent, access))
    changed = await hooks.tell(AGENT_BOOTSTRAP, payload)
    others_in = agent.history_writer.origins.others_in
    return await agent.run(choose, agent.workspace, access, changed.files, limits, withheld, others_in)


async def turn_context(
    agent: Agent, access: Access, today: date, limits: Limits, hooks: Hooks, notes: Callable[[], str]
) -> TurnContext:
    """Return the same with skills and *notes*, in one call to the workspace's thread unless hooks change the files."""
    read = partial(_files, agent, access, today, limits)
    if is_changed := hooks.handles(AGENT_BOOTSTRAP):
        changed = await project_context(agent, access, today, limits, hooks)
        read = partial(list[BootstrapFile], changed)
    is_changed = is_changed or hooks.handles(BEFORE_AGENT_START)
    return await agent.run(_context, agent.workspace, access, read, notes, is_changed=is_changed)


def _context(
    workspace: Workspace,
    access: Access,
    read: Callable[[], list[BootstrapFile]],
    notes: Callable[[], str],
    *,
    is_changed: bool,
) -> TurnContext:
    files, skills, whole = read(), read_skills(workspace, access).listed, notes()
    may_hold = access.reader is Locality.HERE and any(file.is_house for file in files)
    if access.reader is Locality.HERE and not may_hold and (is_changed or skills or whole):
        may_hold = workspace.holds_house()  # the files alone do not tell
    if not is_changed:  # a hook may have put other text there
        files = [file for file in files if not _is_repeated(file, whole)]
    return TurnContext(files, skills, whole, may_hold)


def _is_repeated(file: BootstrapFile, whole: str) -> bool:
    """Return whether *file* is yesterday's notes, which *whole* tells; a notice of hidden lines stands in it alone."""
    return file.part is BootstrapRole.YESTERDAY and is_told(file.name, whole) and OTHERS_HIDDEN not in file.text


def _files(agent: Agent, access: Access, today: date, limits: Limits) -> list[BootstrapFile]:
    return bootstrap_files(agent.workspace, access, today, limits, agent.history_writer.origins.others_in)


async def final_prompt(agent: Agent, access: Access, prompt: Prompt, hooks: Hooks) -> Prompt:
    """Return *prompt* as hooks leave it; they read no more than the turn may. Raises HookError if one fails."""
    if not hooks.handles(BEFORE_AGENT_START):
        return prompt
    payload = AgentStart(agent.id, access.session_type, prompt.stable, partial(_read, agent, access))
    return structs.replace(prompt, stable=(await hooks.tell(BEFORE_AGENT_START, payload)).prompt)


async def prompt_extents(
    workspace: Workspace, run: RunBlocking, clock: Callable[[], datetime], limits: Limits
) -> Sequence[ShownExtent]:
    """Return how much of each lasting file the prompt shows in the owner's own chat. Raises WorkspaceError."""
    return await run(extents, workspace, owner_access(workspace.agent, "cut files"), clock().date(), limits)


def _before(
    agent: Agent, access: Access, today: date, limits: Limits
) -> tuple[list[BootstrapFile], frozenset[Identity]]:
    withheld = frozenset() if rights(access).private else withheld_files(agent.workspace, access)
    return gather(agent.workspace, access, today, limits), withheld


def _read(agent: Agent, access: Access, path: str) -> BootstrapFile | None:
    """Read another file for a handler, on the handler's thread."""
    try:
        return read_file(agent.workspace, path, BootstrapRole.FILE, access)
    except WorkspaceError:  # an invalid path or one without access: for a handler there is no such file
        return None
