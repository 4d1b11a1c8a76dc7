"""Ownership of a home: while one process owns it, no other works in the home or in its agents' workspaces."""

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gateway.app.agents import refuse_overlaps
from gateway.cluster.workspace_locks import workspace_locks, workspaces_of
from gateway.config import Config, read_config
from gateway.home import Home
from workspaces.errors import WorkspaceUnusableError


@contextmanager
def own(home: Home, purpose: str, *, create: bool = False) -> Iterator[Config]:
    """Own *home* and its agents' workspaces while the block runs; other processes see the *purpose*. Yields the
    settings.

    With *create*, missing workspaces are created, empty. Among gateways on one Redis a workspace is locked when its
    agent is claimed, and not here. Raises ConfigError, HomeLockedError, WorkspaceLockedError, StoreError, and
    WorkspaceUnusableError for a workspace that is lost, before any write, unless another process makes a missing
    workspace at the same moment.
    """
    with home.folder_lock(), ExitStack() as stack:
        config = read_config(home.config_file)
        refuse_overlaps(home, config)
        workspaces = workspaces_of(home, config) if config.redis.url is None else {}
        for agent, folder in workspaces.items():
            _refuse_lost(home, agent, folder)
        missing = {agent: folder for agent, folder in workspaces.items() if not folder.is_dir()}
        there = {agent: folder for agent, folder in workspaces.items() if agent not in missing}
        stack.enter_context(workspace_locks(home, there))
        with home.run_folder(purpose):
            if create:
                stack.enter_context(workspace_locks(home, missing, create=True))
            yield config


def _refuse_lost(home: Home, agent: str, folder: Path) -> None:
    """Refuse a workspace without a file that has a history: a new one would hide what is on a disk not mounted now."""
    try:
        is_empty = next(folder.iterdir(), None) is None
    except FileNotFoundError:
        is_empty = True
    except OSError:
        return  # whatever is in the way is told when it is opened
    if is_empty and home.agent(agent).history.is_dir():
        make = f"mkdir -p {shlex.quote(str(folder))} && touch {shlex.quote(str(folder / 'MEMORY.md'))}"
        raise WorkspaceUnusableError(
            f"there are no files in the workspace of agent {agent}, {folder}, although it had some before. Mount its "
            f"disk, or restore or move them (strandline docs troubleshooting); to begin with none: {make}"
        )
