"""Event payloads: frozen, and without anything in a group's turn that the group may not see.

No payload numbers a turn or a stored row: such a number would reveal in one chat how much is said in others.
"""

from collections.abc import Callable
from dataclasses import dataclass

from workspaces.access import SessionType
from workspaces.bootstrap import BootstrapFile


@dataclass(frozen=True, slots=True)
class Conversation:
    """The conversation in which an event happens."""

    agent: str
    session: str
    """The session's key, with the agent's id before it."""
    session_type: SessionType


@dataclass(frozen=True, slots=True)
class ChatPayload:
    """A chat on a platform."""

    channel: str
    account: str
    chat: str
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class AgentStart:
    """The system prompt for the model's next call."""

    agent: str
    session_type: SessionType
    prompt: str
    """May be replaced, or extended at the beginning; not empty."""
    read: Callable[[str], BootstrapFile | None]
    """Reads a file of the workspace, within the turn's access; `None` for an absent or forbidden one."""


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """The outcome of a model's turn."""

    conversation: Conversation
    outcome: str
    """`answered`, `silent`, `halted` (stopped by a person) or `failed` (a limit, or an error)."""
    text: str
    """The text for the chat, before `message_sending`; empty for silence."""
    model: str


@dataclass(frozen=True, slots=True)
class Compacting:
    """A conversation whose older part is about to become a summary."""

    conversation: Conversation
    turns: int
    """How many turns the summary would replace."""
    refused: str = ""
    """Why it is refused, for the log and for the person who requested it; empty to allow it."""


@dataclass(frozen=True, slots=True)
class CompactionPayload:
    """A conversation whose older part became a summary; the part itself stays in the transcript."""

    conversation: Conversation
    turns: int
    summary: str
    model: str


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """A message that was admitted and stored."""

    conversation: Conversation
    place: ChatPayload
    sender: str
    """The platform's id of the sender."""
    text: str
    is_for_us: bool


@dataclass(frozen=True, slots=True)
class MessageSending:
    """An answer that is about to enter the outbox."""

    conversation: Conversation
    place: ChatPayload
    text: str
    """Markdown. May be changed; may be empty only if it was before."""
    files: int
    """How many files are sent with it."""
    is_cancelled: bool = False
    """Set it, and nothing is sent, no files either."""


@dataclass(frozen=True, slots=True)
class MessageSent:
    """A part of an answer or a notice that the platform confirmed."""

    place: ChatPayload
    text: str
    part: int
    """Index, from 0."""
    is_last: bool
    message_id: str
    """The platform's id."""


@dataclass(frozen=True, slots=True)
class ToolCalling:
    """A tool call that is about to run."""

    conversation: Conversation
    tool: str
    arguments: str
    """The JSON text of an object; may be changed to another one. The tool validates it like a model's."""
    blocked: str = ""
    """Why it is blocked: shown to the model as the call's result. Empty to let it run."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call, before it is recorded and shown to the model."""

    conversation: Conversation
    tool: str
    text: str
    """May be changed."""
    is_error: bool


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool call that ran."""

    conversation: Conversation
    tool: str
    arguments: str
    """The arguments of the run."""
    text: str
    """The recorded result."""
    is_error: bool


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session whose first message is about to be answered."""

    conversation: Conversation


@dataclass(frozen=True, slots=True)
class SessionRest:
    """A session that pauses or has ended; its conversation is in the notes."""

    conversation: Conversation
    reason: str
    notes: tuple[str, ...]
    """The files of the workspace that were written for it."""


@dataclass(frozen=True, slots=True)
class CommandGiven:
    """A command from a permitted sender, before it runs."""

    conversation: Conversation
    name: str
    """Without the slash."""
    arguments: str
    by_owner: bool


@dataclass(frozen=True, slots=True)
class GatewayState:
    """A gateway that starts, or stops, answering."""

    agents: tuple[str, ...]
