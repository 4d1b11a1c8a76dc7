"""Ownership of a home: while one process owns it, no other works in the home or in its agents' workspaces."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from gateway.app.agents import refuse_overlaps
from gateway.cluster.workspace_locks import workspace_locks, workspaces_of
from gateway.config import Config, read_config
from gateway.home import Home


@contextmanager
def own(home: Home, purpose: str, *, create: bool = False) -> Iterator[Config]:
    """Own *home* and its agents' workspaces while the block runs; other processes see the *purpose*. Yields the
    settings.

    With *create*, missing workspaces are created, empty. Among gateways on one Redis a workspace is locked when its
    agent is claimed, and not here. Raises ConfigError, HomeLockedError, WorkspaceLockedError and StoreError before any
    write, unless another process makes a missing workspace at the same moment.
    """
    with home.folder_lock(), ExitStack() as stack:
        config = read_config(home.config_file)
        refuse_overlaps(home, config)
        workspaces = workspaces_of(home, config) if config.redis.url is None else {}
        missing = {agent: folder for agent, folder in workspaces.items() if not folder.is_dir()}
        there = {agent: folder for agent, folder in workspaces.items() if agent not in missing}
        stack.enter_context(workspace_locks(home, there))
        with home.run_folder(purpose):
            if create:
                stack.enter_context(workspace_locks(home, missing, create=True))
            yield config
