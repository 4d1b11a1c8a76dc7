"""Workspace files of a turn's prompt; hooks may change them, and the access filter comes last."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial

from gateway.agent.agent import Agent
from gateway.agent.prompt import Prompt
from gateway.hooks import AGENT_BOOTSTRAP, BEFORE_AGENT_START, AgentStart, Bootstrap, Hooks
from workspaces.access import Access, owner_access, rights
from workspaces.bootstrap import (
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
from workspaces.files import Identity
from workspaces.prompt_limits import BootstrapRole, Limits
from workspaces.run_blocking import RunBlocking
from workspaces.skills import Skill, read_skills
from workspaces.workspace import Workspace


async def project_context(
    agent: Agent, access: Access, today: date, limits: Limits, hooks: Hooks
) -> list[BootstrapFile]:
    """Return the files that the prompt of a turn shows, in order; *today* is the owner's day.

    A file that was private before a hook ran stays private, whatever the hook did to the files on disk meanwhile.
    """
    if not hooks.handles(AGENT_BOOTSTRAP):
        return await agent.run(
            bootstrap_files, agent.workspace, access, today, limits, agent.history_writer.origins.others_in
        )
    files, withheld = await agent.run(_before, agent, access, today, limits)
    payload = Bootstrap(agent.id, access.session_type, tuple(files), partial(_read, agent, access))
    changed = await hooks.tell(AGENT_BOOTSTRAP, payload)
    others_in = agent.history_writer.origins.others_in
    return await agent.run(choose, agent.workspace, access, changed.files, limits, withheld, others_in)


async def turn_context(
    agent: Agent, access: Access, today: date, limits: Limits, hooks: Hooks
) -> tuple[list[BootstrapFile], Sequence[Skill]]:
    """Return the same, and the skills that the prompt lists, in one call to the workspace's thread."""
    if hooks.handles(AGENT_BOOTSTRAP):
        files = await project_context(agent, access, today, limits, hooks)
        return files, (await agent.run(read_skills, agent.workspace, access)).listed
    return await agent.run(_files_and_skills, agent, access, today, limits)


def _files_and_skills(
    agent: Agent, access: Access, today: date, limits: Limits
) -> tuple[list[BootstrapFile], Sequence[Skill]]:
    workspace = agent.workspace
    files = bootstrap_files(workspace, access, today, limits, agent.history_writer.origins.others_in)
    return files, read_skills(workspace, access).listed


async def final_prompt(agent: Agent, access: Access, prompt: Prompt, hooks: Hooks) -> Prompt:
    """Return *prompt* as hooks leave it; they read no more than the turn may. Raises HookError if one fails."""
    if not hooks.handles(BEFORE_AGENT_START):
        return prompt
    payload = AgentStart(agent.id, access.session_type, prompt.stable, partial(_read, agent, access))
    return replace(prompt, stable=(await hooks.tell(BEFORE_AGENT_START, payload)).prompt)


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
