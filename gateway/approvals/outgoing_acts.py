"""Outgoing act that waits for the owner, stored as the same kind of row as a file change."""

from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath

from msgspec import Struct

from gateway.agent.entries import ToolCall
from gateway.agent.models.port import NOTIFY
from gateway.agent.tools.notify import text_of
from gateway.agent.tools.send import Enclose, SendArguments
from gateway.agent.write_guard import CALLS
from gateway.errors import ApprovalError, StrandlineError
from gateway.stores.rows import Proposal
from workspaces.errors import WorkspaceError
from workspaces.paths import clean_path

CallTool = Callable[[ToolCall], Awaitable[str]]
"""Calls a tool of another program, or of a package, and returns its answer. Raises ToolError."""


class WaysOut(Struct, frozen=True):
    """How an approved act is carried out where the owner approves it."""

    call_tool: CallTool
    enclose: Enclose | None = None
    """Adds a file to the answer that the owner gets now."""


def is_outgoing(proposal: Proposal) -> bool:
    """Return whether *proposal* is an act and not a change of a file."""
    return PurePosixPath(proposal.path).is_relative_to(CALLS)


def name_of(proposal: Proposal) -> str:
    """Return the name of the tool that *proposal* calls."""
    return PurePosixPath(proposal.path).name


async def carry_out(proposal: Proposal, number: int, ways: WaysOut) -> str:
    """Carry out *proposal*, approved as *number*, and return its outcome for the owner. Raises ApprovalError."""
    name, arguments = name_of(proposal), proposal.after or "{}"
    try:
        if name == NOTIFY:
            return f"What it wanted to tell you, as approved in #{number}: {text_of(arguments)}"
        if name == "send_file" and ways.enclose is not None:
            wanted = SendArguments.model_validate_json(arguments)
            await ways.enclose(clean_path(wanted.path), wanted.caption)
            return f"{wanted.path} goes out with this answer, as approved in #{number}"
        answer = await ways.call_tool(ToolCall(f"change-{number}", name, arguments))
    except (StrandlineError, WorkspaceError) as exc:
        raise ApprovalError(f"#{number} could not be carried out: {exc}. Ask the agent again") from exc
    return f"{name} called, as approved in #{number}; it answered: {answer}"
