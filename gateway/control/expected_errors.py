"""The errors that are no fault in the program."""

from adapters.channel import ChannelError
from gateway.errors import StrandlineError
from gateway.stores.disk import FULL, disk_trouble
from workspaces.errors import WorkspaceError
from workspaces.memory.client import MemoryUnavailableError

EXPECTED = (StrandlineError, WorkspaceError, ChannelError, MemoryUnavailableError)
"""Each message is a sentence for the operator."""


def operator_error(exc: BaseException) -> Exception | None:
    """Return *exc* as an error whose message is a sentence for the operator; `None` for a fault in the program."""
    if isinstance(exc, OSError) and (exc.filename is not None or exc.errno in FULL):
        return disk_trouble(str(exc.filename or "the home"), exc, is_retried=False)
    return exc if isinstance(exc, EXPECTED) else None
