"""This file answers one message: it opens the session, builds the prompt, runs the agent and commits the outcome."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from adapters.channel import ChatKind, InboundMessage, Via
from gateway.agent.agent import Agent
from gateway.agent.entries import Entry, ReplyEntry, Usage, UserEntry
from gateway.agent.loop import Course, run_turn
from gateway.conversation.attachments import TakeIn, text_alone
from gateway.conversation.context import context_lines
from gateway.conversation.drafts import Draft
from gateway.conversation.enclosures import enclosed_by
from gateway.conversation.lanes import RetryLater
from gateway.conversation.plan import Asked, Shortcut, no_shortcut
from gateway.conversation.planning import Planner
from gateway.conversation.presence import Presence
from gateway.conversation.sessions import Sessions
from gateway.door.admission import Refused, admit
from gateway.door.routing import Envelope, Routes, route
from gateway.errors import ModelError, ModelOverflowError, ModelRefusedError, StoreError, TurnLimitError
from gateway.stores.ports import Enclosure, InboxRow, OutboxRow, Outgoing, Store, TurnCommit
from workspaces.access import AgentId, SessionType
from workspaces.errors import WorkspaceUnusableError
from workspaces.history import Origin

__all__ = ["GIVE_UP_AFTER", "Turns"]

log = structlog.get_logger()

GIVE_UP_AFTER = timedelta(hours=24)
"""How long a message waits for a model that is down before its sender is told to ask again."""
FIRST_RETRY_S = 5.0
LONGEST_RETRY_S = 600.0
_NO_ROOM = (
    "This is more than my language model can read at once, so I could not answer. Everything is kept; a smaller part "
    "may work, or a new conversation with /new."
)
_FAILED = "Something went wrong on my side, so I could not answer. The log has the details (code {code})."


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
    """Told of what was committed for a message: an answer, silence, or the notice that it must wait."""
    shortcut: Shortcut = no_shortcut
    """Asked first: what it answers needs no language model, no prompt and no memories."""

    take_in: TakeIn = text_alone
    """Brings in what came with the message, and returns the text that the conversation keeps."""
    async def answer(self, row: InboxRow) -> RetryLater | None:
        """Answer the message of *row*; the result asks to be called again when no answer is possible now."""
        envelope = route(row.message, self.routes)
        with structlog.contextvars.bound_contextvars(agent=envelope.key.agent, turn=row.turn_id):
            try:
                if isinstance(refusal := admit(row.message, self.routes.policy), Refused):
                    await self.store.inbox.drop(row.id, f"revoked.{refusal.reason}")
                    self.outcome(row, [])
                    return None
                await self._within_the_border(row, envelope)
            except (ModelError, StoreError, WorkspaceUnusableError) as exc:
                return await self._postpone(row, exc)
            finally:
                self.agents[envelope.key.agent].keeper.ended(row.turn_id)
            return None

    async def _within_the_border(self, row: InboxRow, envelope: Envelope) -> None:
        try:
            async with self.presence.answering(row.message) as draft:
                text = await self._text(row, envelope, draft)
        except ModelOverflowError:  # to ask again later cannot help
            text = await self._end(row, envelope, _NO_ROOM)
        except (ModelError, StoreError, WorkspaceUnusableError):
            raise
        except TurnLimitError as exc:
            await self.store.count(f"limit.{exc.reason}")
            text = await self._end(row, envelope, f"I stopped: {exc}.")
        except Exception:  # the border of a turn: whatever went wrong, the chat gets one sentence and goes on
            log.exception("turn failed", code=(code := _code(row.message)))
            await self.store.count("turn_failed")
            text = await self._end(row, envelope, _FAILED.format(code=code))
        transcript = await self.sessions.open(envelope.key)
        await self._commit(row, text, enclosed_by(transcript.records, row.turn_id, envelope.key.agent))

    async def _text(self, row: InboxRow, envelope: Envelope, draft: Draft) -> str:
        """Run the turn, or go on with it where a crash left it; return the answer, empty for silence."""
        agent = self.agents[envelope.key.agent]
        transcript = await self.sessions.open(envelope.key)
        if not any(record.turn_id == row.turn_id for record in transcript.records):
            text = await self.take_in(row, envelope.access, agent)
            said = replace(row, message=replace(row.message, text=text))
            await transcript.append(row.turn_id, _said(said, envelope.access.session_type))

        async def journal(entry: Entry) -> None:
            await transcript.append(row.turn_id, entry)
            if isinstance(entry, ReplyEntry):
                draft.end_step()

        origin = Origin(str(envelope.key), str(row.id), row.turn_id)
        asked = Asked(row, envelope.access, agent, transcript, origin, self.planner.clock())
        plan = self.shortcut(asked) or await self.planner.plan(asked)
        limits = self.planner.settings.limits
        try:
            answer = await run_turn(plan.model, plan.request, plan.toolbox, limits, Course(journal, draft))
        except ModelOverflowError:
            await self.store.count("overflow")
            if await self.planner.make_room_at_overflow(asked) is None:
                raise
            plan = await self.planner.plan(asked)
            answer = await run_turn(plan.model, plan.request, plan.toolbox, limits, Course(journal, draft))
        return plan.answer(answer.text)

    async def _end(self, row: InboxRow, envelope: Envelope, text: str) -> str:
        """Note in the transcript how a turn that has no answer of its own ended, and return that sentence."""
        transcript = await self.sessions.open(envelope.key)
        await transcript.append(row.turn_id, ReplyEntry(text, (), "strandline", Usage()))
        return text

    async def _commit(self, row: InboxRow, text: str, files: tuple[Enclosure, ...] = ()) -> None:
        outgoing = [replace(_outgoing(row.message, text), files=files)] if text or files else []
        rows = await self.store.commit_turn(TurnCommit(row.turn_id, [row.id], outgoing))
        self.outcome(row, list(rows))

    async def _postpone(self, row: InboxRow, exc: Exception) -> RetryLater | None:
        """Keep the message for later and tell its sender once; after a day give up with a plain sentence."""
        log.warning("turn postponed", why=type(exc).__name__, detail=str(exc))
        waited = self.planner.clock() - row.received_at
        later = RetryLater(min(LONGEST_RETRY_S, max(FIRST_RETRY_S, waited.total_seconds())))
        try:
            if waited > GIVE_UP_AFTER:
                await self.store.count("gave_up")
                await self._commit(row, "I could not answer this within a day, so I let it go. Please ask again.")
                return None
            await self.store.count(f"postponed.{type(exc).__name__}")
            notice = await self.store.notify(f"postponed:{row.turn_id}", _outgoing(row.message, _apology(exc)))
        except StoreError as trouble:
            log.error("the store cannot be written", detail=str(trouble))
            return later
        self.outcome(row, [notice] if notice else [])
        return later


def _said(row: InboxRow, session_type: SessionType) -> UserEntry:
    """Return the message as an entry; quoted words are marked line by line: they cannot pass as the sender's."""
    message = row.message
    text = message.text
    if message.quote:
        author = " ".join(message.quote.author.split())
        text = "\n".join([f"(quoting {author})", *(f"> {line}" for line in message.quote.text.splitlines()), "", text])
    name = "" if session_type is SessionType.MAIN else " ".join(message.sender.name.split())
    return UserEntry(text, message.sent_at, name, str(row.id), from_outside=_quotes_others(message))


def _quotes_others(message: InboundMessage) -> bool:
    return message.quote is not None and not message.quote.is_ours


def _code(message: InboundMessage) -> str:
    """Return what leads from the sentence in a chat to the log; a turn's number would tell how much others write."""
    facts = f"{message.address}\0{message.id}"
    return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def _outgoing(message: InboundMessage, text: str) -> Outgoing:
    is_tied = message.kind is ChatKind.GROUP or message.via is Via.SLASH
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
