"""The contract of a command: its name, its permitted users, and its call."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from gateway.agent.agent import Agent
from gateway.agent.entries import UserEntry
from gateway.sessions.turn_request import TurnRequest
from gateway.stores.rows import TurnId
from gateway.transcripts.writer import Transcript
from workspaces.access import Access, SessionType
from workspaces.history import Origin
from workspaces.house import tagged
from workspaces.lazy_pattern import lazy_pattern
from workspaces.run_blocking import RunBlocking

NAME = lazy_pattern(r"[a-z][a-z0-9_]{0,31}")
"""Telegram's rule for its menus."""


class Who(StrEnum):
    """The permitted users of a command; strangers get no turn, so they never come this far."""

    ANYONE = "anyone"
    OWNER = "owner"
    """The owner as a person, in any chat: others may read the answer."""
    CHAT = "chat"
    """The owner in any chat, and a guest in their own chat."""
    ENDER = "ender"
    """Like `CHAT`, and in a group also the people that its setting names."""
    MAIN = "main"
    """The owner in their own chat, which nobody else reads."""


class Asker(Struct, frozen=True):
    """The sender of a command and its chat, by the transport's facts, like the turn's access."""

    access: Access
    is_owner: bool
    """Whether one of the owner's Persons wrote it."""
    may_end: bool = False
    """Whether the group's setting lets them end its conversation."""

    def may_run(self, who: Who) -> bool:
        """Return whether the sender may run a command for *who* here: the only place that decides this."""
        match who:
            case Who.ANYONE:
                return True
            case Who.OWNER:
                return self.is_owner
            case Who.CHAT:
                return self.is_owner or self.access.session_type is SessionType.GUEST
            case Who.ENDER:
                return self.may_end or self.may_run(Who.CHAT)
            case Who.MAIN:
                return self.is_owner and self.access.session_type is SessionType.MAIN


class CommandCall(Struct, frozen=True):
    """One call of a command, with everything that it may use."""

    arguments: str
    """The text after the command's name, stripped; it may have several lines."""
    asker: Asker
    agent: Agent
    transcript: Transcript
    """Of this chat's session; the command's own message is its last, unless it passed another one."""
    turn_id: TurnId
    origin: Origin
    run: RunBlocking
    """Runs blocking work on the workspace's own thread; files that it changes count as this turn's in the history."""
    asked: TurnRequest
    """The message itself, as a turn of the model would have it."""

    @property
    def now(self) -> datetime:
        """Time of the call, in the owner's zone."""
        return self.asked.now

    @property
    def access(self) -> Access:
        """The turn's access, required by every reader."""
        return self.asker.access


def is_marked(call: CommandCall) -> bool:
    """Return whether the message of *call* carries the mark `house`: all that is said in a marked chat does."""
    said = call.transcript.entries_of(call.turn_id)
    return any(isinstance(each, UserEntry) and each.is_house for each in said)


def marked(text: str, call: CommandCall) -> str:
    """Return *text*, to be stored for the sender of *call*, with the mark `house` if the message carries it."""
    return tagged(text) if is_marked(call) else text


class Command(Struct, frozen=True):
    """A slash command. *run* closes over its further dependencies, as a tool does."""

    name: str
    """Without the slash: lower case letters, digits, underscores, at most 32 (Telegram's rule for its menus)."""
    usage: str
    """The arguments, such as `[words]`; empty if there are none."""
    help: str
    """One sentence for its users, without a full stop."""
    who: Who
    repeatable: bool
    """It changes nothing, or nothing twice: after a crash it is run again. Any other command is never run twice."""
    run: Callable[[CommandCall], Awaitable[str]]
    """Returns the answer as Markdown.

    The sender receives the message of a ToolError or WorkspaceError as it is; after a StoreError the message is kept
    for later.
    """
    passes: bool = False
    """It is answered before a message that waits for its model: it only reads, or chooses another model.

    The conversation then keeps no record of it, as that message's turn is not over.
    """
