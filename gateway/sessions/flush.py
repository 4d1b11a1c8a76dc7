"""Memory flush: the model writes notes before older text is dropped, and every note is read back."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

import structlog
from msgspec import structs
from pydantic import BaseModel, ConfigDict

from gateway.agent.budget import CostCause
from gateway.agent.entries import OFFLINE, Entry, FlushEntry, UserEntry
from gateway.agent.loop import TurnOutlets, run_turn
from gateway.agent.models.paid import paid_for
from gateway.agent.models.port import Model, ModelRequest, reader_of, unshown
from gateway.agent.settings import TurnLimits
from gateway.agent.tool_hooks import lead_past
from gateway.agent.tools.notes import NOTHING_SAID
from gateway.agent.tools.tool import Tool, Toolbox, tool
from gateway.agent.window.settings import ContextSettings
from gateway.agent.write_policy import is_from_outside
from gateway.errors import ModelError, ToolError, TurnLimitError
from gateway.hooks import Hooks
from gateway.sessions.hook_events import conversation_of
from gateway.sessions.session import Session, noting
from gateway.transcripts.codec import Record
from workspaces.access import Locality, rights
from workspaces.house import tagged
from workspaces.memory.text.day_spans import dated
from workspaces.memory.text.dialogue import says_nothing
from workspaces.notes import NoteReceipt, append_once, format_note

log = structlog.get_logger()

PROMPT = (
    "This conversation is about to be shortened. Before that, write what should be remembered of it and is not noted "
    "yet with add_note: decisions, facts, open tasks, names, numbers; one note for each, understood by "
    "itself. Of a change, name the thing in full, and say what it is now and what it was. Leave out what "
    "somebody asked not to be noted. You cannot choose the file. "
    "When all is noted, or nothing is worth it, answer exactly NO_REPLY. Nobody reads this answer."
)
LEAST_MESSAGES = 3
"""Messages of people, the reference systems' number; a shorter conversation has nothing to save."""
_RUN = 8
"""Words in a row of the prompt that no note holds by chance; our choice."""
_QUOTED = 80
"""Characters of a message by which the model finds it."""
DEADLINE_S = 60.0
"""For the whole flush, in seconds; a person may be waiting. Our choice."""
AGAIN = "Nothing was written. If anything of this conversation should be remembered, write it with add_note now."


class Flush:
    """Runs the silent turn that saves notes."""

    def __init__(
        self,
        settings: ContextSettings,
        clock: Callable[[], datetime],
        hooks: Hooks | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """*clock* gives the time in the owner's zone, whose day a note belongs to."""
        self._deadline_s = deadline_s
        self._settings = settings
        self._clock = clock
        self._hooks = hooks or Hooks()

    async def __call__(
        self, session: Session, request: ModelRequest, said_at: datetime | None = None
    ) -> FlushEntry | None:
        """Save the notes that the model chooses, and return the receipt; `None` if there is nothing to ask.

        *request* is the one that a turn of the session sends, without a message that waits: the flush adds its prompt
        at the end, so that the provider's cache of the rest holds. A model that writes nothing is asked once more. Its
        answer is never sent. The notes are those of *said_at*'s day, or of now.
        """
        if not self._is_wanted(session, request):
            return None
        citations: list[str] = []
        clock = self._clock if said_at is None else lambda: said_at
        toolbox = _notebook(session, request, clock, citations)
        lead_past(toolbox, self._hooks, conversation_of(session.access, session.key))
        requests = 0
        try:
            async with asyncio.timeout(self._deadline_s):
                for prompt in ((self._settings.flush_prompt or PROMPT) + _noted_until(session), AGAIN):
                    requests += 1
                    await self._ask(paid_for(session.agent.model, CostCause.FLUSH), request, prompt, toolbox)
                    if citations:
                        break
        except TimeoutError:
            log.warning("the model took too long to save notes", session=str(session.key), notes=len(citations))
        return FlushEntry(tuple(citations), requests)

    def may_ask(self, session: Session) -> bool:
        """Return whether *session* keeps notes, a model that can write them, and enough messages since the last."""
        if not self._settings.flush or not rights(session.access).flush or session.agent.model.name == OFFLINE:
            return False
        new = sum(isinstance(record.entry, UserEntry) for record in unflushed_records(session.transcript.records))
        return new >= LEAST_MESSAGES

    def _is_wanted(self, session: Session, request: ModelRequest) -> bool:
        shown = sum(isinstance(entry, UserEntry) for entry in request.entries)
        return self.may_ask(session) and shown >= LEAST_MESSAGES

    async def _ask(self, model: Model, request: ModelRequest, prompt: str, toolbox: Toolbox) -> None:
        said = UserEntry(prompt, self._clock(), "", "")
        asked = structs.replace(request, entries=[*request.entries, said], temperature=self._settings.flush_temperature)
        limits = TurnLimits(steps=self._settings.flush_steps)
        with suppress(ModelError, TurnLimitError):  # notes written until then count
            await run_turn(model, asked, toolbox, limits, TurnOutlets(_unjournaled, unshown))


def _noted_until(session: Session) -> str:
    """Return where notes are wanted from; empty if none were saved before."""
    new = unflushed_records(session.transcript.records)
    said = next((record.entry.text for record in new if isinstance(record.entry, UserEntry)), "")
    if len(new) == len(session.transcript.records) or not said:
        return ""
    return f" Notes were saved before, of all that comes before the message that begins with: {said[:_QUOTED]!r}"


def unflushed_records(records: Sequence[Record]) -> Sequence[Record]:
    """Return the records since the last flush, with the turn in which it happened: its message was not shown to it."""
    place = next((i for i in reversed(range(len(records))) if isinstance(records[i].entry, FlushEntry)), None)
    if place is None:
        return records
    while place and records[place - 1].turn_id == records[place].turn_id:
        place -= 1
    return records[place:]


def _notebook(session: Session, request: ModelRequest, clock: Callable[[], datetime], citations: list[str]) -> Toolbox:
    """Return the tools of a turn as its model knows them, of which only one works: a note in the owner's day.

    Each note that was read back is added to *citations*.
    """

    has_read_others = any(map(is_from_outside, request.entries))
    is_house = request.is_house and reader_of(session.agent.model) is Locality.HERE

    async def add_note(text: str) -> str:
        """Write what happened, was decided, or shall be remembered into today's notes."""
        if says_nothing(text):
            raise ToolError(NOTHING_SAID)
        if _repeats(text, PROMPT):
            raise ToolError("that repeats what I ask of you; note what was said, or answer exactly NO_REPLY")
        with noting(session, has_read_others=has_read_others) as run:
            try:
                receipt = await run(_write, session, tagged(text) if is_house else text, clock())
            except ValueError as exc:
                raise ToolError(str(exc)) from exc
        citations.append(f"{receipt.path}#L{receipt.line}")
        return f"{'Already' if receipt.is_repeated else 'Noted'} in {citations[-1]}."

    async def closed() -> str:
        raise ToolError("only add_note works now: the conversation is about to be shortened")

    works = tool(add_note)
    offered = {spec.name: Tool(spec, _Anything, closed) for spec in request.tools}
    offered[works.spec.name] = structs.replace(works, spec=offered.get(works.spec.name, works).spec)
    return Toolbox(offered.values(), session.access)


def _repeats(text: str, prompt: str) -> bool:
    """Return whether *text* holds many words in a row of *prompt*: a small model takes its orders for news."""
    words, orders = " ".join(text.split()), prompt.split()
    return any(" ".join(orders[start : start + _RUN]) in words for start in range(len(orders) - _RUN + 1))


class _Anything(BaseModel):
    """Arguments that are ignored."""

    model_config = ConfigDict(extra="ignore")


def _write(session: Session, text: str, at: datetime) -> NoteReceipt:
    """Add a note, with dates beside relative days, and read it back. Raises ToolError if it is not found."""
    workspace, access, text = session.agent.workspace, session.access, dated(text, at.date())
    receipt = append_once(workspace, access, text, at)
    whole = workspace.read(receipt.path, access).whole.replace("\r\n", "\n")
    if not receipt.is_repeated and format_note(text, at) not in whole:
        raise ToolError("the note is not in the file that it was written to; write it again")
    return receipt


async def _unjournaled(_: Entry) -> None:
    """Keep no record: only the notes and their receipt stay."""
