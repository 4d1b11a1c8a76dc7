"""Input of a turn: a model with its first request and its tools, chosen for one message."""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from gateway.agent.agent import Agent
from gateway.agent.entries import Entry, Mark
from gateway.agent.models.port import Model, ModelRequest
from gateway.agent.tools.tool import Toolbox
from gateway.stores.rows import InboxRow
from gateway.transcripts.writer import Transcript
from workspaces.access import Access
from workspaces.history import Origin


class TurnRequest(Struct, frozen=True):
    """A message whose turn has come, with everything decided about it."""

    row: InboxRow
    access: Access
    agent: Agent
    transcript: Transcript
    """Transcript of the session; it holds the message already."""
    origin: Origin
    now: datetime
    """Time in the owner's zone."""


class Plan(Struct, frozen=True):
    """The plan that answers a message."""

    model: Model
    request: ModelRequest
    toolbox: Toolbox
    notice: str = ""
    """Notice for the sender beside the answer."""
    hears: Callable[[Entry], None] | None = None
    """Called with further entries that the model sees from now on, other than results."""
    house_notice: Callable[[], str] = lambda: ""
    """Returns the notice for the sender on text with the mark `house`; empty without any."""
    may_send: Callable[[], bool] = lambda: False
    """Returns whether the model's text may leave other than by an answer, without the owner's approval."""
    unrecorded: Sequence[Entry | Mark] = ()
    """Entries of the request, and marks about it, that are journaled with the model's first reply."""

    def answer(self, text: str) -> str:
        """Return the outgoing text for the model's *text*; a silent turn stays silent."""
        return "\n\n".join(filter(None, (text, self.notice, self.house_notice()))) if text else text


Shortcut = Callable[[TurnRequest], Plan | None]
"""Returns the plan for a message that needs no language model; `None` leaves it to the agent's own."""
