"""Port to language models: takes a request, returns a reply."""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from msgspec import Struct, structs

from gateway.agent.entries import Entry, Picture, ReplyEntry, ResultEntry, UserEntry
from gateway.agent.house import is_any_house, shown_entries
from gateway.errors import HouseError
from workspaces.access import Locality, may_know


@dataclass(frozen=True)
class ToolSpec:
    """A tool in the form that a model sees; it outlives the turns in which it is offered."""

    name: str
    description: str
    parameters: Mapping[str, object] = field(hash=False)
    """JSON schema of the arguments object."""

    @cached_property
    def characters(self) -> int:
        """Return its length in a request."""
        return len(self.name) + len(self.description) + len(json.dumps(dict(self.parameters)))

    @cached_property
    def shortened(self) -> "ToolSpec":
        """Return it for a small window: the first sentence, and arguments without descriptions and titles."""
        first = re.split(r"(?<=[.!?])\s", self.description, maxsplit=1)[0]
        return ToolSpec(self.name, first, _bare(dict(self.parameters)))


def _bare(schema: Mapping[str, object]) -> dict[str, object]:
    """Return a JSON schema without the texts for readers; the names of properties may be such words too."""
    found: dict[str, object] = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            found[key] = {name: _bare(each) if isinstance(each, dict) else each for name, each in value.items()}
        elif key not in {"description", "title", "examples"}:
            found[key] = _bare(value) if isinstance(value, dict) else value
    return found


def tool_characters(tools: Iterable[ToolSpec]) -> int:
    """Return how many characters the descriptions of *tools* take in a request."""
    return sum(tool.characters for tool in tools)


NOTIFY = "notify"
"""Name of the tool by which an unprompted turn notifies the owner; no other turn is offered it."""

Look = Callable[[Picture], Awaitable[str | None]]
"""Returns a picture as a data URI; `None` if it is no longer available."""


class ModelRequest(Struct, frozen=True, dict=True):
    """The complete input of one model call; a model has no other source."""

    stable: str
    """The system prompt, which stays the same from turn to turn, byte for byte; it comes first."""
    entries: Sequence[Entry]
    tools: Sequence[ToolSpec]
    temperature: float | None = None
    look: Look | None = None
    """Loads the pictures of `entries` for a model that accepts images; `None` leaves their descriptions only."""
    outside: str | None = None
    """The system prompt without text that stays on the owner's machines; `None` if there is none in it."""

    @property
    def is_house(self) -> bool:
        """Whether some of it stays on the owner's machines."""
        return self.outside is not None or is_any_house(self.entries)

    @cached_property
    def characters(self) -> int:
        """Return how many characters it shows a model."""
        return len(self.stable) + tool_characters(self.tools) + sum(entry.characters for entry in self.entries)

    def shown_to(self, reader: Locality) -> "ModelRequest":
        """Return it as *reader* may know it. Raises HouseError if that leaves nothing to answer."""
        if may_know(reader, is_house=True) or not self.is_house:
            return self
        last = next((entry for entry in reversed(self.entries) if isinstance(entry, UserEntry)), None)
        if last is not None and last.is_house:
            raise HouseError("the message stays on the owner's machines, and this model runs elsewhere")
        stable = self.stable if self.outside is None else self.outside
        return structs.replace(self, stable=stable, entries=shown_entries(self.entries, reader), outside=None)

    @property
    def has_notified(self) -> bool:
        """Whether the turn has notified its owner by `notify`; it may then end without a word."""
        for entry in reversed(self.entries):
            if isinstance(entry, UserEntry):
                return False
            if isinstance(entry, ResultEntry) and entry.name == NOTIFY and not entry.is_error:
                return True
        return False


OnText = Callable[[str], Awaitable[None]]
"""Takes each piece of text as it streams in; it is a draft until the turn ends."""


async def unshown(_: str) -> None:
    """Show nothing before it is final."""


class Model(Protocol):
    """A language model, or a stand-in for one."""

    name: str
    window_tokens: int
    """Size of the context window, in tokens."""

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Answer *request*. Raises ModelError, after bounded retries, when there is no usable reply."""

    async def close(self) -> None:
        """Release connections."""


def reader_of(model: Model) -> Locality:
    """Return where *model* runs, of a chain the one asked first: elsewhere, unless its `reader` says otherwise."""
    reader: Locality = getattr(model, "reader", Locality.ELSEWHERE)
    return reader


class WrappedModel:
    """A model in front of another one, under its name and where it runs."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = model.name
        self.window_tokens = model.window_tokens
        self.reader = reader_of(model)

    async def close(self) -> None:
        """Release connections."""
        await self._model.close()
