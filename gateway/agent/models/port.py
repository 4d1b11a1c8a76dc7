"""This file is the port to language models: a request goes in, a reply comes out."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from gateway.agent.entries import Entry, Picture, ReplyEntry, ResultEntry, UserEntry


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a model sees it; it outlives the turns in which it is offered."""

    name: str
    description: str
    parameters: Mapping[str, object] = field(hash=False)
    """JSON schema of the arguments object."""

    @cached_property
    def characters(self) -> int:
        """How many characters it takes in a request."""
        return len(self.name) + len(self.description) + len(json.dumps(dict(self.parameters)))


NOTIFY = "notify"
"""Name of the tool by which a turn that nobody asked for speaks to the owner; no other turn is offered it."""

Look = Callable[[Picture], Awaitable[str | None]]
"""Returns a picture as a data URI; `None` if it cannot be had any more."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything that one model call is given; a model has no other way to know anything."""

    stable: str
    """The part of the system prompt that stays the same from turn to turn, byte for byte; it comes first."""
    volatile: str
    """The day, facts about the chat, memories that bear on the message: they come right before what was said last."""
    entries: Sequence[Entry]
    tools: Sequence[ToolSpec]
    temperature: float | None = None
    look: Look | None = None
    """Gives the pictures of `entries` to a model that sees; `None`: they stay as they are described."""

    @property
    def has_notified(self) -> bool:
        """Whether the turn told its owner something by `notify`: it may then end without a word."""
        for entry in reversed(self.entries):
            if isinstance(entry, UserEntry):
                return False
            if isinstance(entry, ResultEntry) and entry.name == NOTIFY and not entry.is_error:
                return True
        return False


OnText = Callable[[str], Awaitable[None]]
"""Takes each piece of text as it streams in: a draft, never the final word."""


class Model(Protocol):
    """A language model, or something that answers like one."""

    name: str
    window_tokens: int
    """Size of the context window, in tokens."""

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Answer *request*. Raises ModelError, after bounded retries, when there is no usable reply."""

    async def close(self) -> None:
        """Release connections."""
