"""This file holds what handlers are told at each event: frozen, and of a group's turn nothing that a group may not see.

No payload numbers a turn or a stored row: such a number would tell in one chat how much is said in others.
"""

from collections.abc import Callable
from dataclasses import dataclass

from workspaces.access import SessionType
from workspaces.bootstrap import BootstrapFile


@dataclass(frozen=True, slots=True)
class Conversation:
    """Where something happens."""

    agent: str
    session: str
    """The session's key, with the agent's id before it."""
    session_type: SessionType


@dataclass(frozen=True, slots=True)
class Place:
    """A chat on a platform."""

    channel: str
    account: str
    chat: str
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class AgentStart:
    """The system prompt that the model is about to be given."""

    agent: str
    session_type: SessionType
    prompt: str
    """May be replaced, or begin with a text of yours; not empty."""
    read: Callable[[str], BootstrapFile | None]
    """Reads a file of the workspace, as far as the turn may; `None` for what is absent or not for it."""


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """What a turn of a model came to."""

    conversation: Conversation
    outcome: str
    """`answered`, `silent`, `halted` (somebody stopped it) or `failed` (a limit, or something went wrong)."""
    text: str
    """What the chat is told, before `message_sending`; empty for silence."""
    model: str


@dataclass(frozen=True, slots=True)
class Compacting:
    """A conversation whose older part is about to become a summary."""

    conversation: Conversation
    turns: int
    """How many turns the summary would stand for."""
    refused: str = ""
    """Why it shall not be, for the log and for who ordered it; empty to let it happen."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """A conversation whose older part became a summary; the part itself stays in the transcript."""

    conversation: Conversation
    turns: int
    summary: str
    model: str


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """A message that was let in and stored."""

    conversation: Conversation
    place: Place
    sender: str
    """The platform's id of who wrote it."""
    text: str
    is_for_us: bool


@dataclass(frozen=True, slots=True)
class MessageSending:
    """An answer that is about to be put into the outbox."""

    conversation: Conversation
    place: Place
    text: str
    """Markdown. May be changed; empty only where it was."""
    files: int
    """How many files go with it."""
    is_cancelled: bool = False
    """Set it, and nothing is sent, no file either."""


@dataclass(frozen=True, slots=True)
class MessageSent:
    """A part of an answer or a notice that the platform confirmed."""

    place: Place
    text: str
    part: int
    """From 0."""
    is_last: bool
    message_id: str
    """The platform's."""


@dataclass(frozen=True, slots=True)
class ToolCalling:
    """A tool call that is about to run."""

    conversation: Conversation
    tool: str
    arguments: str
    """The JSON text of an object; may be changed to another one. The tool checks it as it checks a model's."""
    blocked: str = ""
    """Why it shall not run: the model is told this as the call's result. Empty to let it run."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call came to, before it is written down and the model sees it."""

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
    """With which it ran."""
    text: str
    """What was written down of its result."""
    is_error: bool


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session whose first message is about to be answered."""

    conversation: Conversation


@dataclass(frozen=True, slots=True)
class SessionRest:
    """A session that rests or has ended; what was said is written down."""

    conversation: Conversation
    reason: str
    notes: tuple[str, ...]
    """The files of the workspace that were written for it."""


@dataclass(frozen=True, slots=True)
class CommandGiven:
    """A command that somebody gave who may, before it runs."""

    conversation: Conversation
    name: str
    """Without the slash."""
    arguments: str
    by_owner: bool


@dataclass(frozen=True, slots=True)
class GatewayState:
    """A gateway that began, or ends, to answer."""

    agents: tuple[str, ...]
