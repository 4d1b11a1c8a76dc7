"""The errors that are no fault in the program."""

from adapters.channel import ChannelError
from gateway.errors import StrandlineError
from workspaces.errors import WorkspaceError
from workspaces.memory.client import MemoryUnavailableError

EXPECTED = (StrandlineError, WorkspaceError, ChannelError, MemoryUnavailableError)
"""Each message is a sentence for the operator."""
