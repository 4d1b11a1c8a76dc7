"""Notices to the owner about faults of an agent's memory."""

from contextlib import suppress
from functools import partial

from gateway.delivery.owner_notices import Notices
from gateway.errors import StoreError
from gateway.stores.ports import Store
from workspaces.access import AgentId
from workspaces.memory.status import MemoryFaults


def memory_faults(store: Store, notices: Notices, agent: AgentId) -> MemoryFaults:
    """Return who learns of faults of the memory of *agent*: the counts, and the owner."""
    return MemoryFaults(
        store.count, partial(_tell_of_file, notices, agent), partial(_tell_of_held_change, notices, agent)
    )


async def _tell_of_file(notices: Notices, agent: AgentId, path: str) -> None:
    """Notify the owner that search omits the notes in a file, since the memory worker crashes on it."""
    with suppress(StoreError):  # status and doctor report it too
        await notices.tell(
            f"memory crashed:{agent}:{path}",
            f"The search of agent {agent} crashed twice on {path}, so it skips this file: its content is not found. "
            f"Change the file, or retry it: strandline quarantine retry file:{agent}:{path}.",
        )


async def _tell_of_held_change(notices: Notices, agent: AgentId, held: str) -> None:
    """Notify the owner that an index was not replaced, since the new one finds less."""
    with suppress(StoreError):  # status and doctor report it too
        await notices.tell(f"memory held:{agent}:{held}", f"The memory of agent {agent}: {held}.")
