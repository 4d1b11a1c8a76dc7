"""Answers one message: opens the session, builds the prompt, runs the agent and commits the outcome."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

import structlog

from adapters.channel import Button, ChatKind, InboundMessage, Via
from gateway.admission.internal_channels import CLOCK, HELPER, is_heartbeat, is_inner
from gateway.admission.pairing import examine
from gateway.admission.policy import Refused
from gateway.admission.routing import Envelope, Routes, SessionKey, principal, route
from gateway.agent.agent import Agent
from gateway.agent.entries import HALTED, UNFINISHED, Entry, ReplyEntry, Usage, UserEntry
from gateway.agent.limits import within
from gateway.agent.loop import UNANSWERED, TurnOutlets, run_turn
from gateway.agent.models.port import ModelRequest
from gateway.agent.tools.tool import Toolbox
from gateway.automation.silence import is_unasked_prose, spoken
from gateway.automation.subagents import is_task, told_of
from gateway.delivery.outgoing_files import enclosed_by
from gateway.errors import (
    BudgetError,
    HookError,
    ModelError,
    ModelOverflowError,
    ModelRefusedError,
    StoreError,
    TurnLimitError,
)
from gateway.hooks import MESSAGE_SENDING
from gateway.inbound.edits import as_correction, source_of
from gateway.inbound.queue_modes import Current, Queueing
from gateway.inbound.turn_mark import chat_mark, mark_of
from gateway.runtime.clock import unless
from gateway.runtime.lanes import RetryLater
from gateway.sessions.hook_events import leaving, note_end
from gateway.sessions.turn_request import Plan, Shortcut, TurnRequest, no_shortcut
from gateway.stores.admission import UNASKED_PROSE, Silence
from gateway.stores.ports import Store
from gateway.stores.rows import Enclosure, InboxRow, OutboxRow, Outgoing, TurnCommit
from gateway.transcripts.store import Sessions
from gateway.turns.attachments import TakeIn, text_alone
from gateway.turns.cost_cause import asked_for, told_of_budget
from gateway.turns.drafts import Draft
from gateway.turns.group_context import context_lines
from gateway.turns.join import Joining, joined
from gateway.turns.planning import Planner
from gateway.turns.presence import Presence
from workspaces.access import Access, AgentId, SessionType
from workspaces.errors import WorkspaceUnusableError
from workspaces.history import Origin

__all__ = ["GIVE_UP_AFTER", "Turns"]

log = structlog.get_logger()

GIVE_UP_AFTER = timedelta(hours=24)
"""How long a message waits for an unavailable model before its sender is asked to try again."""
FIRST_RETRY_S = 5.0
LONGEST_RETRY_S = 600.0
_NO_ROOM = (
    "This is more than my language model can read at once, so I could not answer. Everything is kept; a smaller part "
    "may work, or a new conversation with /new."
)
_TOO_LATE = "I could not answer this within a day, so I let it go. Please ask again."
_NO_MODEL = "my language model could not be reached in time."
_UNBEGUN = "A hook that decides about my answers failed, so I did not answer. `strandline status` names it."
_FAILED = "Something went wrong on my side, so I could not answer. The log has the details (code {code})."


Offer = Callable[[InboundMessage, Access, Sequence[Entry]], tuple[Button, ...]]
"""Returns the buttons below the answer to a message, based on its turn."""


async def untold(_: InboundMessage, __: StoreError) -> None:
    """Tell nobody."""


def no_offer(_: InboundMessage, __: Access, ___: Sequence[Entry]) -> tuple[Button, ...]:
    """Offer nothing."""
    return ()


def as_configured(_: SessionKey, agent: Agent) -> Agent:
    """Return *agent* with its configured model."""
    return agent


@dataclass(frozen=True, slots=True)
class Turns:
    """Answers messages, one turn each; a lane calls it for one message of a session at a time."""

    agents: Mapping[AgentId, Agent]
    sessions: Sessions
    store: Store
    routes: Routes
    presence: Presence
    planner: Planner
    outcome: Callable[[InboxRow, list[OutboxRow]], None]
    """Called with the rows committed for a message: an answer, silence, or the notice that it must wait."""
    shortcut: Shortcut = no_shortcut
    """Asked first: its answers need no language model, no prompt and no memories."""
    take_in: TakeIn = text_alone
    """Takes in the message's attachments, and returns the text that the conversation stores."""
    queueing: Queueing = field(default_factory=Queueing)
    """Knows the messages waiting behind this one, and requests to end its turn."""
    voice: Callable[[SessionKey, Agent], Agent] = as_configured
    """Returns the agent with the model chosen for a session."""
    offer: Offer = no_offer
    unstored: Callable[[InboundMessage, StoreError], Awaitable[None]] = untold
    """Told of a message whose answer, and even the notice that it must wait, cannot be stored."""

    async def answer(self, row: InboxRow) -> RetryLater | None:
        """Answer the message of *row*; the result asks to be called again when no answer is possible now."""
        envelope = route(row.message, self.routes)
        with structlog.contextvars.bound_contextvars(agent=envelope.key.agent, turn=row.turn_id):
            try:
                door = examine(row.message, self.routes.policy, self.store.pairings)
                with self.queueing.running(envelope.key, row) as current:
                    if isinstance(refusal := await door, Refused):
                        await self._drop(row, envelope, f"revoked.{refusal.reason}")
                    else:
                        await self._within_the_border(current, envelope)
            except (ModelError, StoreError, WorkspaceUnusableError) as exc:
                return await self._postpone(row, envelope, exc)
            finally:
                self.agents[envelope.key.agent].history_writer.ended(row.turn_id)
            return None

    async def _drop(self, row: InboxRow, envelope: Envelope, reason: str) -> None:
        """Drop a message without an answer, and those that had joined its turn."""
        transcript = await self.sessions.open(envelope.key)
        for each in (row.id, *joined(transcript.entries_of(row.turn_id))):
            await self.store.inbox.drop(each, reason)
        for answered in self.queueing.answered(envelope.key, row):
            self.outcome(answered, [])

    async def _within_the_border(self, current: Current, envelope: Envelope) -> None:
        row = current.row
        try:
            async with self.presence.answering(row.message) as draft:
                text = await self._text(current, envelope, draft)
        except ModelOverflowError:  # a retry cannot help
            text = await self._end(row, envelope, _NO_ROOM)
        except BudgetError as exc:
            text = await self._end_unpaid(row, envelope, exc)
        except (ModelError, StoreError, WorkspaceUnusableError):
            raise
        except TurnLimitError as exc:
            await self.store.count(f"limit.{exc.reason}")
            text = await self._end(row, envelope, f"I stopped: {exc}.")
        except HookError:  # logged and counted at its source
            text = await self._end(row, envelope, _UNBEGUN)
        except Exception:  # the border of a turn: after any failure the chat gets one sentence and continues
            log.exception("turn failed", code=(code := _code(row.message)))
            await self.store.count("turn_failed")
            text = await self._end(row, envelope, _FAILED.format(code=code))
        transcript = await self.sessions.open(envelope.key)
        entries, records = transcript.entries_of(row.turn_id), transcript.records.of(row.turn_id)
        files = () if _is_halted(entries) else enclosed_by(records, envelope.key.agent)
        await self._commit(row, envelope, text, files)
        note_end(self.planner.hooks, envelope, entries, text)

    async def _text(self, current: Current, envelope: Envelope, draft: Draft) -> str:
        """Run the turn, or resume it after a crash; return the answer, empty for silence."""
        row, voice = current.row, self.voice(envelope.key, self.agents[envelope.key.agent])
        agent = asked_for(voice, row.message, envelope)
        transcript = await self.sessions.open(envelope.key)
        joining = Joining(current, transcript, partial(self._said, envelope), partial(self._is_admitted, row))
        await joining.begin()

        async def journal(entry: Entry) -> None:
            await transcript.append(row.turn_id, entry)
            if isinstance(entry, ReplyEntry):
                draft.end_step()

        marks = {"mark": mark_of(row.message), "chat": chat_mark(row.message)}
        origin = Origin(str(envelope.key), str(row.id), row.turn_id, **marks)
        asked = TurnRequest(row, envelope.access, agent, transcript, origin, self.planner.clock())
        plan = self._shortcut(asked) or await unless(current.halt.soon, self.planner.plan(asked)) or _ended(asked)
        limits = within(self.planner.settings.limits, row.message.allowance)
        on_text = _unshown if self.planner.hooks.handles(MESSAGE_SENDING) else draft  # no hook has seen a draft
        course = TurnOutlets(journal, on_text, partial(joining.steered, plan.hears), current.halt)
        try:
            answer = await run_turn(plan.model, plan.request, plan.toolbox, limits, course)
        except ModelOverflowError:
            await self.store.count("overflow")
            if await self.planner.make_room_at_overflow(asked) is None:
                raise
            plan = await self.planner.plan(asked)
            answer = await run_turn(plan.model, plan.request, plan.toolbox, limits, course)
        if answer.model == HALTED:
            await self.store.count(current.why_halted)
        return plan.answer(answer.text)

    def _shortcut(self, asked: TurnRequest) -> Plan | None:
        return None if is_inner(asked.row.message) else self.shortcut(asked)  # our own text is never a command

    async def _said(self, envelope: Envelope, row: InboxRow) -> UserEntry:
        transcript = await self.sessions.open(envelope.key)
        taken = await self.take_in(row, envelope.access, self.agents[envelope.key.agent])
        message = replace(as_correction(row.message, transcript.records), text=taken.text)
        entry = _said(replace(row, message=message), envelope.access.session_type)
        at = row.received_at if row.message.via is Via.EDIT else entry.at
        return replace(entry, at=at, source=source_of(row.message), pictures=taken.pictures)

    async def _is_admitted(self, row: InboxRow) -> bool:
        return not isinstance(await examine(row.message, self.routes.policy, self.store.pairings), Refused)

    async def _end(self, row: InboxRow, envelope: Envelope, text: str) -> str:
        """Record in the transcript how a turn without an answer of its own ended, and return that sentence."""
        transcript = await self.sessions.open(envelope.key)
        await transcript.append(row.turn_id, ReplyEntry(text, (), UNFINISHED, Usage()))
        return text

    async def _too_late(self, row: InboxRow, envelope: Envelope) -> str:
        if is_task(row.message.address) or row.message.address.channel == CLOCK:
            return await self._end(row, envelope, _NO_MODEL)
        return "" if is_inner(row.message) else _TOO_LATE

    async def _end_unpaid(self, row: InboxRow, envelope: Envelope, exc: BudgetError) -> str:
        """End a turn that exceeds the day's budget, in silence; its session is notified of each limit once a day."""
        if is_task(row.message.address):  # each of these has a waiting caller
            return await self._end(row, envelope, str(exc))
        key, said = told_of_budget(exc, envelope)
        notice = await self.store.notify(key, _outgoing(row.message, said))
        transcript = await self.sessions.open(envelope.key)
        await transcript.append(row.turn_id, UNANSWERED)
        if notice:
            self.outcome(row, [notice])
        return ""

    async def _commit(self, row: InboxRow, envelope: Envelope, text: str, files: tuple[Enclosure, ...] = ()) -> None:
        """Commit *text* and *files* as the answer to all messages of a turn."""
        transcript = await self.sessions.open(envelope.key)
        entries = transcript.entries_of(row.turn_id)
        kind, answer = envelope.access.session_type, told_of(row.message, entries, text)
        if is_unasked_prose(row.message, kind, answer, entries):
            silence = Silence(self.planner.clock(), row.message.address, principal(row.message), UNASKED_PROSE)
            await asyncio.gather(self.store.count(UNASKED_PROSE), self.store.silences.record(silence))
        text = spoken(row.message, kind, answer, entries)
        buttons = self.offer(row.message, envelope.access, entries) if text else ()
        outgoing = [replace(_outgoing(row.message, text), files=files, buttons=buttons)] if text or files else []
        outgoing = await leaving(self.planner.hooks, envelope, outgoing)
        answers = [row.id, *joined(entries)]
        rows = await self.store.commit_turn(TurnCommit(row.turn_id, answers, outgoing, _has_failed(entries)))
        for answered in self.queueing.answered(envelope.key, row):
            self.outcome(answered, list(rows))

    async def _postpone(self, row: InboxRow, envelope: Envelope, exc: Exception) -> RetryLater | None:
        """Postpone the message and notify its sender once; after a day give up with a plain sentence."""
        log.warning("turn postponed", why=type(exc).__name__, detail=str(exc))
        waited = self.planner.clock() - row.received_at
        later = RetryLater(min(LONGEST_RETRY_S, max(FIRST_RETRY_S, waited.total_seconds())))
        try:
            if waited >= _patience(row.message):
                await self.store.count("gave_up")
                await self._commit(row, envelope, await self._too_late(row, envelope))
                return None
            await self.store.count(f"postponed.{type(exc).__name__}")
            if is_inner(row.message):  # nobody waits for an answer
                return later
            notice = await self.store.notify(f"postponed:{row.turn_id}", _outgoing(row.message, _apology(exc)))
        except StoreError as trouble:
            log.error("the store cannot be written", detail=str(trouble))
            if not is_inner(row.message):
                await self.unstored(row.message, trouble)
            return later
        self.outcome(row, [notice] if notice else [])
        return later


def _patience(message: InboundMessage) -> timedelta:
    if is_heartbeat(message):  # the next one comes anyway
        return timedelta(0)
    return timedelta(seconds=message.allowance.seconds) if message.allowance else GIVE_UP_AFTER


async def _unshown(_: str) -> None:
    """Show nothing before it is final."""


def _ended(asked: TurnRequest) -> Plan:
    """Return the plan that ends a turn halted before it was planned: its calls get their outcomes."""
    request = ModelRequest("", "", asked.transcript.entries_of(asked.row.turn_id), ())
    return Plan(asked.agent.model, request, Toolbox([], asked.access))


def _has_failed(entries: Sequence[Entry]) -> bool:
    return any(isinstance(entry, ReplyEntry) and entry.model == UNFINISHED for entry in entries)


def _is_halted(entries: Sequence[Entry]) -> bool:
    return any(isinstance(entry, ReplyEntry) and entry.model == HALTED for entry in entries)


def _said(row: InboxRow, session_type: SessionType) -> UserEntry:
    """Return the message as an entry; quoted words are marked line by line, so they cannot pass as the sender's."""
    message = row.message
    text = message.text
    if message.quote:
        author = " ".join(message.quote.author.split())
        text = "\n".join([f"(quoting {author})", *(f"> {line}" for line in message.quote.text.splitlines()), "", text])
    text = "\n".join([*context_lines(message.heard), text])
    name = "" if session_type is SessionType.MAIN else " ".join(message.sender.name.split())
    outside, ours = _holds_others_words(message), is_inner(message)
    return UserEntry(text, message.sent_at, name, str(row.id), from_outside=outside, is_ours=ours)


def _holds_others_words(message: InboundMessage) -> bool:
    is_quoting = message.quote is not None and not message.quote.is_ours
    return bool(message.heard) or is_quoting or message.via is Via.AGENT or message.address.channel == HELPER


def _code(message: InboundMessage) -> str:
    """Return a code that leads from a chat's sentence to the log; a turn's number would reveal others' activity."""
    facts = f"{message.address}\0{message.id}"
    return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def _outgoing(message: InboundMessage, text: str) -> Outgoing:
    if message.answers_to is not None:
        return Outgoing(message.answers_to, text)
    is_tied = (message.kind is ChatKind.GROUP and message.via is not Via.AGENT) or message.via is Via.SLASH
    return Outgoing(message.address, text, message.reply_target if is_tied else None)


def _apology(exc: Exception) -> str:
    match exc:
        case ModelRefusedError():
            return (
                "My language model refuses my requests, so I cannot answer yet; `strandline doctor` says why. "
                "Your message is kept."
            )
        case ModelError():
            return "My language model cannot be reached now. Your message is kept; I answer as soon as it is back."
        case _:
            return "I cannot write to my disk right now. Your message is kept; I answer as soon as it works again."
