"""Wire types of conversations, and of other requests that are answered step by step."""

from typing import Literal

from msgspec import Struct

from adapters.abilities import MenuEntry
from gateway.control.order import LongOrder, Order

SignKind = Literal["draft", "tool", "postponed"]


class ChatSign(Struct, frozen=True):
    """A sign of an answer on its way."""

    kind: SignKind
    text: str
    """For `draft` the whole text so far, for `tool` the name of a tool in use, for `postponed` the reason."""


class StreamEvent(Struct, frozen=True):
    """One line of a streamed answer: signs, `earlier`, `reply` or `progress`, then `done` or `error`."""

    event: Literal["accepted", "earlier", "reply", "progress", "done", "error"] | SignKind
    text: str = ""
    """A reply as Markdown, a description of the outcome, or an error message."""
    done: int = 0
    total: int = 0
    """Total number of changed notes to index."""


class ChatOrder(Struct, frozen=True):
    """The owner's message to an agent; `None` leaves the agent to the bindings."""

    text: str
    agent: str | None = None
    listens: bool = False
    """Say nothing; show messages to this chat until the reader leaves or the gateway's run ends."""


class CommandsAnswer(Struct, frozen=True):
    """The commands that a message may begin with."""

    entries: tuple[MenuEntry, ...]


class CommandsOrder(Order[CommandsAnswer], frozen=True):
    """A request for the commands that the owner may give in a message."""


class IndexOrder(LongOrder, frozen=True):
    """A request to bring an agent's index up to date; `None` is the default agent."""

    agent: str | None = None


class CheckOrder(LongOrder, frozen=True):
    """A request to check an agent's notes now, with progress; `None` is the default agent."""

    agent: str | None = None
