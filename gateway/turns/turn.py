"""Answers one message: opens the session, builds the prompt, runs the agent and commits the outcome."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import structlog
from msgspec import Struct, field, structs

from adapters.channel import Button, ChatKind, InboundMessage, Via
from gateway.admission.internal_channels import CLOCK, is_inner
from gateway.admission.pairing import examine
from gateway.admission.policy import Admitted, Refused
from gateway.admission.routing import Envelope, Routes, SessionKey, principal
from gateway.agent.agent import Agent
from gateway.agent.entries import HALTED, UNFINISHED, Entry, ReplyEntry, Usage, UserEntry
from gateway.agent.limits import narrow_limits
from gateway.agent.loop import UNANSWERED, TurnOutlets, run_turn
from gateway.agent.models.port import ModelRequest, reader_of, unshown
from gateway.agent.receipts import ReceiptLevel, receipt_line, with_receipts
from gateway.agent.tools.tool import Toolbox
from gateway.automation.job_runner import is_reminder, reminder_of, reminders_of
from gateway.automation.silence import is_unasked, is_unasked_prose, visible_answer
from gateway.automation.subagents import is_task, report_of
from gateway.delivery.outgoing_files import enclosed_by
from gateway.errors import (
    BudgetError,
    HookError,
    HouseError,
    ModelError,
    ModelOverflowError,
    StoreError,
    TurnLimitError,
)
from gateway.hooks import MESSAGE_SENDING
from gateway.inbound.edits import as_correction, source_of
from gateway.inbound.queue_modes import Current, Queueing
from gateway.inbound.turn_mark import author_mark, chat_mark, mark_of
from gateway.runtime.clock import unless
from gateway.runtime.lanes import RetryLater
from gateway.sessions.hook_events import leaving, note_end
from gateway.sessions.turn_request import Plan, Shortcut, TurnRequest
from gateway.stores.admission import BUDGET_SPENT, UNASKED_PROSE, Silence
from gateway.stores.ports import Store
from gateway.stores.rows import Enclosure, InboxRow, OutboxRow, Outgoing, TurnCommit
from gateway.transcripts.store import Sessions
from gateway.turns.apology import code_of
from gateway.turns.attachments import TakeIn, TakenIn
from gateway.turns.cost_cause import asked_for, budget_notice
from gateway.turns.drafts import Draft
from gateway.turns.house_notice import carries_mark, refusal, voice_for
from gateway.turns.join import Joining
from gateway.turns.journal import TransientJournal, TurnJournal
from gateway.turns.message_entry import entry_of
from gateway.turns.planning import Planner
from gateway.turns.postponement import Postponement
from gateway.turns.presence import Presence
from gateway.turns.quoted_answers import may_hold_others
from workspaces.access import Access, AgentId, Locality, may_know, read_by, reader_in, rights
from workspaces.errors import WorkspaceUnusableError
from workspaces.history import Origin
from workspaces.house import has_tag

log = structlog.get_logger()

_NO_ROOM = (
    "This is more than my language model can read at once, so I could not answer. Everything is kept; a smaller part "
    "may work, or a new conversation with /new."
)
_TOO_LATE = "I could not answer this within a day, so I gave up. Please ask again."
_NO_MODEL = "my language model could not be reached in time."
_UNBEGUN = "A hook that checks my answers failed, so I did not answer. `strandline status` names it."
_FAILED = "Something went wrong on my side, so I could not answer. The log has the details (code {code})."


Offer = Callable[[InboundMessage, Access, Sequence[Entry]], tuple[Button, ...]]
"""Returns the buttons below the answer to a message, based on its turn."""


class Turns(Struct, frozen=True):
    """Answers messages, one turn each; a lane calls it for one message of a session at a time."""

    agents: Mapping[AgentId, Agent]
    sessions: Sessions
    store: Store
    routes: Routes
    planner: Planner
    outcome: Callable[[InboxRow, list[OutboxRow]], None]
    """Called with the rows committed for a message: an answer, silence, or the notice that it must wait."""
    presence: Presence = field(default_factory=lambda: Presence({}))
    """Shows that an answer is being written; no channel has signs by default."""
    shortcut: Shortcut = lambda _: None
    """Asked first: its answers need no language model, no prompt and no memories."""
    take_in: TakeIn | None = None
    """Takes in the message's attachments, and returns the text that the conversation stores."""
    queueing: Queueing = field(default_factory=Queueing)
    """Knows the messages waiting behind this one, and requests to end its turn."""
    voice: Callable[[SessionKey, Agent], Agent] = lambda _, agent: agent
    """Returns the agent with the model chosen for a session."""
    offer: Offer | None = None
    is_house: Callable[[SessionKey], bool] = lambda _: False
    """Tells whether a session's chat carries the mark `house`."""
    chat_reader: Callable[[InboundMessage], Locality] = lambda _: Locality.HERE
    """Returns who carries the answer to a message."""
    receipts: ReceiptLevel = ReceiptLevel.OFF
    """How much is told below an answer about what its turn did."""
    postponed: Callable[[InboxRow, str, bool], None] = lambda *_: None
    """As in `Postponement`."""
    unstored: Callable[[InboundMessage, StoreError], Awaitable[None]] | None = None
    """As in `Postponement`."""

    async def answer(self, row: InboxRow, envelope: Envelope, *, is_passing: bool = False) -> RetryLater | None:
        """Answer the message of *row*, routed by *envelope* for this attempt; the result asks for another attempt.

        A command that *is_passing* another message leaves that one's unfinished turn the last of the transcript.
        """
        with structlog.contextvars.bound_contextvars(agent=envelope.key.agent, turn=row.turn_id):
            try:
                with self.queueing.running(envelope.key, row) as current:
                    turn = await self._open(row, envelope, is_passing=is_passing)
                    if isinstance(refusal := await turn.examine(), Refused):
                        await turn.drop(f"revoked.{refusal.reason}")
                    else:
                        await turn.run(current)
            except (ModelError, StoreError, WorkspaceUnusableError) as exc:
                wait = Postponement(self.store, self.planner.clock, self.outcome, self.postponed, self.unstored)
                return await wait.postpone(row, envelope, exc, partial(self._open, row, envelope))
            finally:
                self.agents[envelope.key.agent].history_writer.ended(row.turn_id)
            return None

    async def _open(self, row: InboxRow, envelope: Envelope, *, is_passing: bool = False) -> "Turn":
        journal_of = TransientJournal if is_passing else TurnJournal
        journal = journal_of(await self.sessions.open(envelope.key), row.turn_id)
        return Turn(self, row, envelope, self.agents[envelope.key.agent], journal)


class Turn(Struct, frozen=True):
    """One attempt to answer a message, with its session open."""

    turns: Turns
    row: InboxRow
    envelope: Envelope
    agent: Agent
    journal: TurnJournal

    async def examine(self) -> Admitted | Refused:
        """Return whether the sender may still write. Raises StoreError."""
        return await examine(self.row.message, self.turns.routes.policy, self.turns.store.pairings)

    async def run(self, current: Current) -> None:
        """Answer the message, or resume its turn after a crash, and commit the answer.

        Raises ModelError, StoreError and WorkspaceUnusableError: another attempt may succeed.
        """
        text = await self._answer_or_apology(current)
        files = () if self.journal.is_halted else enclosed_by(self.journal.records, self.agent.id)
        await self._commit(text, files)
        note_end(self.turns.planner.hooks, self.envelope, self.journal.entries, text)

    async def drop(self, reason: str) -> None:
        """Drop the message without an answer, and those that had joined its turn. Raises StoreError."""
        for each in (self.row.id, *self.journal.joined):
            await self.turns.store.inbox.drop(each, reason)
        self._tell([])

    async def give_up(self) -> None:
        """Commit the sentence for a message that could not be answered in time. Raises StoreError."""
        message = self.row.message
        if is_reminder(message) and await self.reminder():  # needs no model: it is sent in its own words
            await self.journal.append(UNANSWERED)
            await self._commit("")
        elif is_task(message.address) or message.address.channel == CLOCK:
            await self._commit(await self._end(_NO_MODEL))
        else:
            await self._commit("" if is_inner(message) else _TOO_LATE)

    async def _answer_or_apology(self, current: Current) -> str:
        store = self.turns.store
        try:
            async with self.turns.presence.answering(self.row.message) as draft:
                return await self._text(current, draft)
        except ModelOverflowError:  # a retry cannot help
            return await self._end(_NO_ROOM)
        except (BudgetError, HouseError) as exc:
            return await self._end_unasked(exc)
        except (ModelError, StoreError, WorkspaceUnusableError):
            raise
        except TurnLimitError as exc:
            await store.count(f"limit.{exc.reason}")
            return await self._end(f"I stopped: {exc}.")
        except HookError:  # logged and counted at its source
            return await self._end(_UNBEGUN)
        except Exception:  # the border of a turn: after any failure the chat gets one sentence and continues
            log.exception("turn failed", code=(code := code_of(self.row.message)))
            await store.count("turn_failed")
            return await self._end(_FAILED.format(code=code))

    async def _text(self, current: Current, draft: Draft) -> str:
        """Run the turn, or resume it after a crash; return the answer, empty for silence."""
        joining = Joining(current, self.journal, self._user_entry, self._is_admitted)
        await joining.begin()

        async def record(entry: Entry) -> None:
            await self.journal.append(*unrecorded, entry)
            unrecorded.clear()
            if isinstance(entry, ReplyEntry):
                draft.end_step(call.name for call in entry.calls)

        planner, asked = self.turns.planner, self._request()
        plan = self._shortcut(asked) or await self._plan(asked, current) or self._ending_plan(asked)
        limits = narrow_limits(planner.settings.limits, self.row.message.allowance)
        on_text = unshown if planner.hooks.handles(MESSAGE_SENDING) else draft  # no hook has seen a draft
        unrecorded = [*plan.unrecorded]
        course = TurnOutlets(record, on_text, partial(joining.steered, plan.hears), current.halt)
        try:
            answer = await run_turn(plan.model, plan.request, plan.toolbox, limits, course)
        except ModelOverflowError:
            await self.turns.store.count("overflow")
            if await planner.make_room_at_overflow(asked) is None:
                raise
            plan = await planner.plan(asked)
            unrecorded[:] = plan.unrecorded
            answer = await run_turn(plan.model, plan.request, plan.toolbox, limits, course)
        if answer.model == HALTED:
            await self.turns.store.count(current.why_halted)
        return "" if not plan.may_send() and await self.reminder() else plan.answer(answer.text)

    async def _plan(self, asked: TurnRequest, current: Current) -> Plan | None:
        """Raise HouseError for a marked message in a chat that may not carry such text; a model asks for itself."""
        if not may_know(self.turns.chat_reader(self.row.message), is_house=self._is_house(self.row)):
            raise HouseError("the message stays on the owner's machines, and a chat app carries this chat")
        return await unless(current.halt.soon, self.turns.planner.plan(asked))

    def _request(self) -> TurnRequest:
        """Return the turn as its plan needs it, with the session's model, which is charged for the turn's cause."""
        message, key = self.row.message, self.envelope.key
        is_house, voiced = self._is_house(self.row), self.turns.voice(key, self.agent)
        agent = asked_for(voice_for(voiced) if is_house else voiced, message, self.envelope)
        origin = Origin(
            str(key),
            str(self.row.id),
            self.row.turn_id,
            mark=mark_of(message),
            chat=chat_mark(message),
            author=author_mark(message),
        )
        is_house = is_house or self.journal.transcript.records.has_house
        reader = reader_in(self.turns.chat_reader(message), reader_of(agent.model))
        access = read_by(self.envelope.access, reader, is_house=is_house)
        return TurnRequest(self.row, access, agent, self.journal.transcript, origin, self.turns.planner.clock())

    def _is_house(self, row: InboxRow) -> bool:
        """Return whether the message of *row* carries the mark `house`."""
        return self.turns.is_house(self.envelope.key) or carries_mark(row.message, self.journal.transcript.records)

    def _shortcut(self, asked: TurnRequest) -> Plan | None:
        if self.journal.was_answered():
            return self._ending_plan(asked)
        if is_inner(self.row.message):  # our own text is never a command
            return None
        plan = self.turns.shortcut(asked)
        return plan and structs.replace(plan, request=structs.replace(plan.request, entries=self.journal.entries))

    def _ending_plan(self, asked: TurnRequest) -> Plan:
        """Return the plan that ends a turn halted before it was planned: its calls get their outcomes."""
        request = ModelRequest("", self.journal.entries, ())
        return Plan(asked.agent.model, request, Toolbox([], asked.access))

    async def _user_entry(self, row: InboxRow) -> UserEntry:
        """Return the entry of *row*: the turn's message, or one that joins it."""
        is_house = self._is_house(row)
        access = read_by(self.envelope.access, Locality.HERE, is_house=is_house)
        take_in = self.turns.take_in
        taken = TakenIn(row.message.text) if take_in is None else await take_in(row, access, self.agent)
        if self._request().agent.model.name not in self.turns.planner.settings.seeing:
            taken = taken.unseen()
        message = replace(as_correction(row.message, self.journal.transcript.records), text=taken.text)
        entry = entry_of(replace(row, message=message), access.session_type, self.turns.planner.clock().tzinfo)
        is_outside = entry.from_outside or await self._quotes_others(message)
        at = row.received_at if row.message.via is Via.EDIT else entry.at
        is_house = is_house or has_tag(entry.text)  # in a file's name, or in the words that a group said before
        entry = replace(entry, at=at, source=source_of(row.message), mark=mark_of(row.message), is_house=is_house)
        return replace(entry, pictures=taken.pictures, from_outside=is_outside)

    async def _quotes_others(self, message: InboundMessage) -> bool:
        """Return whether *message* of the owner's own chat quotes words of our bot that may be others'."""
        if message.quote is None or not message.quote.is_bots or not rights(self.envelope.access).private:
            return False
        told = await reminders_of(self.turns.planner.tools.approvals.job_schedule, self.agent.id)
        return may_hold_others(message.quote.text, self.journal.transcript.records, told)

    async def _is_admitted(self) -> bool:
        return not isinstance(await self.examine(), Refused)

    async def _end(self, text: str) -> str:
        """Record in the transcript how a turn without an answer of its own ended, and return that sentence."""
        await self.journal.append(ReplyEntry(text, (), UNFINISHED, Usage()))
        return text

    async def _end_unasked(self, exc: BudgetError | HouseError) -> str:
        """End a turn whose model was not asked: the message is not for it, or it exceeds the day's budget.

        The latter ends in silence; its session is notified of each limit once a day.
        """
        if isinstance(exc, HouseError):
            await self.turns.store.count("house_withheld")
            return await self._end(refusal(self._request().agent, self.row.message, self.envelope.access))
        if is_task(self.row.message.address):  # each of these has a waiting caller
            return await self._end(str(exc))
        key, said = budget_notice(exc, self.envelope)
        notice = await self.turns.store.notify(key, Outgoing.answering(self.row.message, said))
        await self.journal.append(UNANSWERED)
        if notice:
            self.turns.outcome(self.row, [notice])
        else:
            await self.turns.store.silences.record(self._silence(BUDGET_SPENT))
        return ""

    def _silence(self, reason: str) -> Silence:
        message = self.row.message
        return Silence(self.turns.planner.clock(), message.address, principal(message), reason)

    async def _commit(self, text: str, files: tuple[Enclosure, ...] = ()) -> None:
        """Commit *text* and *files* as the answer to all messages of the turn."""
        row, store, entries = self.row, self.turns.store, self.journal.entries
        kind, answer = self.envelope.access.session_type, report_of(row.message, entries, text)
        reminder = await self.reminder()
        if not reminder and is_unasked_prose(row.message, kind, answer, entries):
            await asyncio.gather(store.count(UNASKED_PROSE), store.silences.record(self._silence(UNASKED_PROSE)))
        text = self._with_receipts(visible_answer(row.message, kind, answer, entries, reminder))
        offer = self.turns.offer if text else None
        buttons = () if offer is None else offer(row.message, self.envelope.access, entries)
        reply = replace(Outgoing.answering(row.message, text), files=files, buttons=buttons)
        outgoing = await leaving(self.turns.planner.hooks, self.envelope, [reply] if text or files else [])
        answers = [row.id, *self.journal.joined]
        rows = await store.commit_turn(TurnCommit(row.turn_id, answers, outgoing, self.journal.has_failed))
        self._tell(list(rows))

    async def reminder(self) -> str:
        """Return the reminder of the job that began the turn, if there is one and its owner's chat may carry it."""
        if not may_know(self.turns.chat_reader(self.row.message), is_house=self._is_house(self.row)):
            return ""
        return await reminder_of(self.turns.planner.tools.approvals.job_schedule, self.row.message)

    def _with_receipts(self, text: str) -> str:
        """Return *text* with the line about what the turn did; only a person in a direct chat gets that line alone."""
        message, entries, access = self.row.message, self.journal.entries, self.envelope.access
        is_private = message.kind is ChatKind.DIRECT and not is_unasked(message, access.session_type)
        if self.turns.receipts is ReceiptLevel.OFF or is_task(message.address) or not (text or is_private):
            return text
        return with_receipts(text, receipt_line(entries, access, self.turns.receipts))

    def _tell(self, rows: list[OutboxRow]) -> None:
        """Report *rows*, committed for the turn, as the outcome of each of its messages."""
        for answered in self.turns.queueing.answered(self.envelope.key, self.row):
            self.turns.outcome(answered, rows)
