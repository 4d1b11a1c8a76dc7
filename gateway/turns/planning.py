"""Plans a turn that a language model answers: its prompt, the visible part of the conversation, its tools."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from types import MappingProxyType

from msgspec import Struct, field, structs

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.internal_channels import is_heartbeat
from gateway.admission.routing import session_of
from gateway.agent.entries import (
    CHARACTERS_A_TOKEN,
    OFFLINE,
    CallStartEntry,
    Entry,
    Mark,
    TurnNoteEntry,
    UsedEntry,
    UsedMemory,
)
from gateway.agent.models.port import ModelRequest
from gateway.agent.prompt import build_prompt
from gateway.agent.prompt_files import final_prompt, turn_context
from gateway.agent.recall import Recalled, RecallSettings, recall
from gateway.agent.settings import TurnLimits
from gateway.agent.tools.conversation import asked_focus
from gateway.agent.tools.tool import Toolbox
from gateway.agent.turn_note import FilledPrompt, turn_note, with_memories, with_note
from gateway.agent.whole_memory import WholeMemory
from gateway.agent.window.count import Scale, measured_scale
from gateway.agent.window.settings import ContextSettings
from gateway.agent.window.shown import ContextWindow, VisibleHistory, show
from gateway.agent.window.use import WindowUse, window_use
from gateway.automation.silence import is_unasked
from gateway.errors import HookError, StoreError
from gateway.hooks import Hooks
from gateway.sessions.compaction import Compaction, CompactionResult, Crowded, SummaryOrder
from gateway.sessions.session import Session
from gateway.sessions.turn_request import Plan, TurnRequest
from gateway.stores.rows import InboxId, InboxRow
from gateway.transcripts.records import Records
from gateway.turns.house_notice import follows_house, house_notice, known_records
from gateway.turns.tools import TurnTools
from gateway.turns.vision import sight_of
from workspaces.access import Access, AgentId, Locality, SessionType, read_by, rights
from workspaces.errors import WorkspaceError
from workspaces.history import Origin
from workspaces.prompt_limits import Limits

_TOO_LONG = (
    "(Your message is longer than my window, so I read only its beginning and end. All of it is kept. Send smaller "
    "parts, one at a time, and I can read all of them.)"
)
_AT_REST = "rest"
"""Channel of a message that does not exist: the tools of a turn do not depend on it."""
_NOTIFY = (
    "\nYour owner sees only what you pass to the tool notify, a reminder too, and never this answer. If they need not "
    "hear of it, answer exactly NO_REPLY."
)
_LATE = timedelta(minutes=10)
"""Age from which on a message's own time is told: "in an hour" is meant from then on. Our choice."""
_WORTH_TELLING = 0.5
"""Share of the window from which on the agent is informed how full it is."""
_FILES_PART, _TOOLS_PART = 6, 8
"""Of a window, one in so many tokens is for the files, and for the tools' descriptions: 24,000 characters of files need
48,000 tokens. Our choice.
"""
_AFTER_OVERFLOW = 0.75
"""Share of an oversized request that certainly fits; our choice."""


class TurnSettings(Struct, frozen=True):
    bootstrap: Limits = field(default_factory=Limits)
    limits: TurnLimits = field(default_factory=TurnLimits)
    recall: RecallSettings = field(default_factory=RecallSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    jobs_remember: bool = False
    """Whether a job with a session of its own is shown its earlier runs."""
    temperature: Mapping[AgentId, float] = field(default_factory=lambda: MappingProxyType({}))
    seeing: frozenset[str] = frozenset()
    """The names of the models that accept images."""

    def is_alone(self, kind: SessionType) -> bool:
        """Return whether a turn ignores earlier ones: a heartbeat or a job then never costs more than the last."""
        return kind is SessionType.HEARTBEAT or (kind is SessionType.CRON and not self.jobs_remember)


class _PlannedRequest(Struct, frozen=True):
    """A request before recall, with its sources."""

    request: ModelRequest
    """Without the turn's note, unless the journal has one already: the turn resumes."""
    note: TurnNoteEntry | None
    """The turn's note without memories; `None` if it is in the request."""
    shown: VisibleHistory
    scale: Scale
    window_tokens: int
    tokens: int
    older_tokens: int
    """Tokens of the turns before this one: all that a summary replaces."""
    prompt: FilledPrompt

    @property
    def told(self) -> str:
        """Return the notes that the request holds already: as a whole, or on earlier turns."""
        earlier = (entry.text for entry in self.request.entries if isinstance(entry, TurnNoteEntry))
        return "\n".join([self.prompt.context.notes, *earlier])

    @property
    def fullness(self) -> str:
        """Return a line for the agent about how full its window is; empty below half."""
        share = self.tokens / self.window_tokens
        return f"\nYour context window is {share:.0%} full." if share >= _WORTH_TELLING else ""


class Planner(Struct, frozen=True):
    """Plans turns; reads only within the turn's access."""

    settings: TurnSettings
    hooks: Hooks
    tools: TurnTools
    compaction: Compaction
    clock: Callable[[], datetime]
    """Returns the present time, in the owner's zone."""
    whole_memory: WholeMemory = field(default_factory=WholeMemory)

    async def plan(self, asked: TurnRequest) -> Plan:
        """Return the request to the agent's own model, with this turn's tools; summarise first if space is short."""

        async def used(memories: Sequence[UsedMemory]) -> None:
            if memories:
                await asked.transcript.append(asked.row.turn_id, UsedEntry(tuple(memories)))

        guard = self.tools.guard(asked)
        toolbox = await self.tools.toolbox(asked, guard, used)
        draft = await self._draft(asked, toolbox)
        order = self._requested_summary(asked)
        if (order or self._is_full(draft)) and await self._make_room(asked, draft, order):
            draft = await self._draft(asked, toolbox)
        recalled = await self._recall(asked, draft)
        is_loaded = asked.agent.history_writer.origins.is_loaded
        facts = draft.fullness + await self._decisions(asked, draft)
        note = draft.note and with_memories(draft.note, recalled, draft.told, facts)
        if note and not is_loaded:
            note = replace(note, from_outside=note.text != draft.prompt.prompt.note + _clock(asked) + facts)
        request = with_note(draft.request, note)
        if asked.agent.model.name in self.settings.seeing:  # a draft for a summary or a flush has no pictures
            request = structs.replace(request, look=sight_of(asked.agent, asked.access))
        guard.hears(*request.entries)
        if request.outside is not None:
            guard.reads_house()
        if recalled.is_withheld or follows_house(request.entries, asked.access.reader):
            guard.withholds()
        if not is_loaded:  # any line of the prompt may hold others' words
            guard.reads_others()
        told = partial(house_notice, asked, guard)
        unrecorded: list[Entry | Mark] = [UsedEntry(recalled.used)] if recalled.used else []
        unrecorded += [note] if note else []
        notice = _TOO_LONG if draft.shown.is_cut else ""
        return Plan(asked.agent.model, request, toolbox, notice, guard.hears, told, guard.may_send, unrecorded)

    async def make_room(self, asked: TurnRequest, focus: str = "") -> CompactionResult | None:
        """Summarise the older part of the conversation on request; `None` if there is nothing to summarise.

        Raises StoreError and WorkspaceError when notes could not be saved before, HookError when a hook refused it.
        """
        draft = await self._draft(asked, await self.tools.unused(asked))
        return await self._compact(asked, draft, SummaryOrder(focus))

    async def make_room_at_overflow(self, asked: TurnRequest) -> CompactionResult | None:
        """Summarise after a provider reported that the request is larger than the model's window.

        Then the window is smaller than configured, so everything is fitted into part of the rejected size: this ends
        whatever the window really is, as each further overflow leaves less.
        """
        toolbox = await self.tools.unused(asked)
        sent = await self._draft(asked, toolbox)
        return await self._make_room(asked, await self._draft(asked, toolbox, int(sent.tokens * _AFTER_OVERFLOW)))

    async def at_rest(self, session: Session) -> ModelRequest:
        """Return the request that a turn of *session* would send, without a message: it begins as the last turn's.

        Its prompt holds no text that stays on the owner's machines.
        """
        now, agent = self.clock(), session.agent
        address, nobody = Address(_AT_REST, agent.id, session.key.name), Sender("", "")
        message = InboundMessage(address, "", nobody, ChatKind.DIRECT, "", is_for_us=True, sent_at=now)
        access, origin = read_by(session.access, Locality.ELSEWHERE), Origin(str(session.key))
        asked = TurnRequest(InboxRow(InboxId(0), message, now), access, agent, session.transcript, origin, now)
        records = session.transcript.records
        return (await self._draft(asked, await self.tools.unused(asked), records=records)).request

    async def window(self, asked: TurnRequest) -> WindowUse:
        """Return how full the model's window would be for a request now, without recalled memories."""
        draft = await self._draft(asked, await self.tools.unused(asked))
        return window_use(draft.request, draft.prompt.context.files, draft.shown, draft.window_tokens, draft.scale)

    def _is_full(self, draft: _PlannedRequest) -> bool:
        """Return whether a summary is due; turns that were dropped without one count too."""
        settings = self.compaction.settings
        is_over = draft.shown.left_out > 0 or draft.tokens >= settings.limit(draft.window_tokens)
        return settings.compact and is_over and settings.is_worth(draft.older_tokens, draft.window_tokens)

    async def _make_room(
        self, asked: TurnRequest, draft: _PlannedRequest, order: SummaryOrder | None = None
    ) -> CompactionResult | None:
        """Summarise if that is possible now; if not, the turn continues with the part that fits."""
        with suppress(StoreError, WorkspaceError, HookError):
            return await self._compact(asked, draft, order)
        return None

    async def _compact(
        self, asked: TurnRequest, draft: _PlannedRequest, order: SummaryOrder | None
    ) -> CompactionResult | None:
        session = Session(session_of(asked.access), asked.agent, asked.transcript)
        crowded = Crowded(session, asked.row.turn_id, draft.request, draft.window_tokens, order)
        return await self.compaction.make_room(crowded)

    async def _draft(
        self, asked: TurnRequest, toolbox: Toolbox, window_tokens: int | None = None, records: Records | None = None
    ) -> _PlannedRequest:
        """Return the request of the turn, which offers *toolbox*, in the model's own window or in a smaller one.

        It shows *records*, if not those of the turn's session that it may know.
        """
        agent, access = asked.agent, asked.access
        tokens = window_tokens or agent.model.window_tokens
        limits = self.settings.bootstrap.within(tokens * CHARACTERS_A_TOKEN // _FILES_PART)
        toolbox.fit(tokens * CHARACTERS_A_TOKEN // _TOOLS_PART)
        filled = await self._prompt(asked, access, limits, tokens)
        outside = await self._outside_prompt(asked, filled, limits, tokens)
        sees = agent.model.name in self.settings.seeing
        window = ContextWindow(tokens, self.compaction.settings, sees)
        records = self._visible_records(asked) if records is None else records
        scale = measured_scale((each.entry for each in reversed(records)), agent.model.name)
        bare = ModelRequest(
            filled.prompt.stable,
            (),
            toolbox.specs,
            self.settings.temperature.get(agent.id),
            outside=None if outside is None else outside.prompt.stable,
        )
        shown = show(records.rounds, window, scale.steady.tokens(bare.characters), scale)
        told = _clock(asked) + _how_to_speak(asked) + _left_out_notice(shown, access) + self.tools.away_notice(asked)
        request = structs.replace(bare, entries=shown.entries)
        note = None if self._is_noted(asked, filled) else turn_note(filled, outside, told, shown.entries)
        older = sum(records.rounds.sizes(scale.steady)[:-1])
        size = scale.tokens(with_note(request, note).characters)
        return _PlannedRequest(request, note, shown, scale, window.tokens, size, older, filled)

    def _is_noted(self, asked: TurnRequest, filled: FilledPrompt) -> bool:
        """Return whether the turn has its note, of this day, from before a crash; or a model that reads none."""
        notes = (record.entry for record in asked.transcript.records.of(asked.row.turn_id))
        is_noted = any(isinstance(each, TurnNoteEntry) and each.text.startswith(filled.prompt.note) for each in notes)
        return is_noted or asked.agent.model.name == OFFLINE

    async def _prompt(self, asked: TurnRequest, access: Access, limits: Limits, tokens: int) -> FilledPrompt:
        """Return the prompt of a turn with *access*, in a window of *tokens*."""
        agent, now = asked.agent, asked.now
        notes = partial(self._notes, asked, access, tokens)
        context = await turn_context(agent, access, now.date(), limits, self.hooks, notes)
        recalls = rights(access).memory_tools
        prompt = build_prompt(
            context.files, access.session_type, recall=recalls, now=now, skills=context.skills, notes=context.notes
        )
        return FilledPrompt(await final_prompt(agent, access, prompt, self.hooks), context)

    async def _outside_prompt(
        self, asked: TurnRequest, filled: FilledPrompt, limits: Limits, tokens: int
    ) -> FilledPrompt | None:
        """Return the prompt of a model here as one elsewhere may know it; `None` if it holds nothing to withhold."""
        if not filled.context.may_hold_house:
            return None
        outside = await self._prompt(asked, read_by(asked.access, Locality.ELSEWHERE), limits, tokens)
        is_same = (outside.prompt, outside.context.files) == (filled.prompt, filled.context.files)
        return None if is_same else outside

    def _visible_records(self, asked: TurnRequest) -> Records:
        """Return the records of its session that the turn may see."""
        records = asked.transcript.records
        is_alone = self.settings.is_alone(asked.access.session_type)
        return known_records(Records(records.of(asked.row.turn_id)) if is_alone else records, asked.access.reader)

    def _requested_summary(self, asked: TurnRequest) -> SummaryOrder | None:
        """Return the model's own request for a summary; it can make one in its owner's own chat."""
        if asked.access.session_type is not SessionType.MAIN:
            return None
        focus = asked_focus(
            each.entry for each in reversed(known_records(asked.transcript.records, asked.access.reader))
        )
        return None if focus is None else SummaryOrder(focus)

    def _notes(self, asked: TurnRequest, access: Access, window_tokens: int) -> str:
        """Return the notes as a whole, if they are small enough and the turn may have them; it blocks."""
        agent, today = asked.agent, asked.now.date()
        if agent.model.name == OFFLINE:
            return ""
        return self.whole_memory.text(
            agent.memory.readable(access), agent.workspace.folder, access, today, window_tokens
        )

    async def _decisions(self, asked: TurnRequest, draft: _PlannedRequest) -> str:
        """Return what became of changes that earlier turns were told to wait for."""
        if draft.note is None:
            return ""
        return await self.tools.approvals.decisions(asked.agent.id, self._visible_records(asked).undecided)

    async def _recall(self, asked: TurnRequest, draft: _PlannedRequest) -> Recalled:
        agent = asked.agent
        if draft.note is None:  # a turn that resumes has its memories
            return Recalled()
        texts = chain((file.text for file in draft.prompt.context.files), _texts(draft.shown.entries))
        message, today = asked.row.message.text, asked.now.date()
        return await recall(message, agent.memory, asked.access, self.settings.recall, texts, today)


def _texts(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield what was said and read; a memory in a note of the gateway is used again, and not quoted again."""
    for entry in entries:
        if not isinstance(entry, CallStartEntry | TurnNoteEntry):
            yield entry.text


def _clock(asked: TurnRequest) -> str:
    """Return the time of the turn, and that of its message if it has waited."""
    now = asked.now
    sent = asked.row.message.sent_at.astimezone(now.tzinfo)
    late = f" The message is of {sent:%Y-%m-%d %H:%M}." if now - sent > _LATE else ""
    return f" It is {now:%H:%M}.{late}"


def _how_to_speak(asked: TurnRequest) -> str:
    """Return the instructions on how a job reaches its owner; a heartbeat's own text has them."""
    message = asked.row.message
    unasked = is_unasked(message, asked.access.session_type) and not is_heartbeat(message)
    return _NOTIFY if unasked else ""


def _left_out_notice(shown: VisibleHistory, access: Access) -> str:
    if not shown.left_out:
        return ""
    search = "; memory_search may find what was noted" if rights(access).memory_tools else ""
    return f"\n{shown.left_out} earlier messages of this conversation no longer fit here{search}."
