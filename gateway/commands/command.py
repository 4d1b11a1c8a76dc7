"""This file is the contract of a command: what it is called, who may run it, and what it is given."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gateway.agent.agent import Agent
from gateway.agent.tools.tool import Run
from gateway.sessions.turn_request import Asked
from gateway.stores.rows import TurnId
from gateway.transcripts.writer import Transcript
from workspaces.access import Access, SessionType
from workspaces.history import Origin


class Who(StrEnum):
    """Who may run a command; strangers get no turn, so they never come this far."""

    ANYONE = "anyone"
    OWNER = "owner"
    """The owner as a person, wherever they write: others may read the answer."""
    CHAT = "chat"
    """The owner wherever they write, and a guest in their own chat."""
    ENDER = "ender"
    """Like `CHAT`, and in a group whom its setting names besides."""
    MAIN = "main"
    """The owner in their own chat, where nobody else reads."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who gave a command, and where: by the transport's facts, like the turn's access."""

    access: Access
    is_owner: bool
    """Whether one of the owner's Persons wrote it."""
    may_end: bool = False
    """Whether the group's setting lets them end its conversation."""

    def may_run(self, who: Who) -> bool:
        """Say whether a command for *who* is for them, here: the one place that decides this."""
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


@dataclass(frozen=True, slots=True)
class Call:
    """A command that somebody gave, with everything that running it may use."""

    arguments: str
    """What follows the command's name, without the space around it; it may have several lines."""
    asker: Asker
    agent: Agent
    transcript: Transcript
    """Of this chat's session; the command's own message is its last."""
    turn_id: TurnId
    origin: Origin
    run: Run
    """Runs blocking work on the workspace's own thread; files that it changes count as this turn's in the history."""
    asked: Asked
    """The message itself, as a turn of the model would have it."""

    @property
    def now(self) -> datetime:
        """When it was given, in the owner's zone."""
        return self.asked.now

    @property
    def access(self) -> Access:
        """What the turn may read and write: every reader takes it."""
        return self.asker.access


@dataclass(frozen=True, slots=True)
class Command:
    """Something that a message orders with a slash. What it needs beyond `Call`, *run* closes over, as a tool does."""

    name: str
    """Without the slash: lower case letters, digits, underscores, at most 32 (Telegram's rule for its menus)."""
    usage: str
    """What may follow the name, such as `[words]`; empty if nothing does."""
    help: str
    """One sentence for whoever may run it, without a full stop."""
    who: Who
    repeatable: bool
    """It changes nothing, or nothing twice: after a crash it is simply run again. Any other is never run twice."""
    run: Callable[[Call], Awaitable[str]]
    """Returns the answer as Markdown. ToolError and WorkspaceError are told to whoever asked, as they are; StoreError
    keeps the message for later."""
