"""Typed hook events about conversations.

Nothing is built unless a hook handles it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import structlog

from adapters.channel import Address, InboundMessage, OutboundMessage, Sent
from gateway.admission.internal_channels import SUBAGENT
from gateway.admission.routing import Envelope, SessionKey
from gateway.agent.entries import COMMAND, HALTED, Entry, ReplyEntry, SummaryEntry
from gateway.errors import HookError
from gateway.hooks import (
    AFTER_COMPACTION,
    AGENT_END,
    BEFORE_COMPACTION,
    MESSAGE_RECEIVED,
    MESSAGE_SENDING,
    MESSAGE_SENT,
    SESSION_START,
    AgentEnd,
    ChatPayload,
    Compacting,
    CompactionPayload,
    Conversation,
    HookEvent,
    Hooks,
    MessageReceived,
    MessageSending,
    MessageSent,
    SessionRest,
    SessionStart,
)
from gateway.sessions.session import Session
from gateway.stores.rows import OutboxRow, Outgoing
from workspaces.access import Access, SessionType

log = structlog.get_logger()

WITHHELD = "A hook that checks my answers failed, so I withheld this one. `strandline status` names it."
"""Sent to a chat in place of an answer that hooks could not inspect."""
_OWN_WORDS = "strandline"
"""`ReplyEntry.model` of the sentence with which the gateway itself ended a turn."""


def conversation(key: SessionKey, session_type: SessionType) -> Conversation:
    """Return the description, for hooks, of a turn's place in the session *key*."""
    return Conversation(key.agent, str(key), session_type)


def conversation_of(access: Access, key: SessionKey) -> Conversation:
    """Return the same for a turn with *access*."""
    return conversation(key, access.session_type)


def place(address: Address) -> ChatPayload:
    """Return *address* in the form that hooks get."""
    return ChatPayload(address.channel, address.account, address.chat, address.thread)


# --- messages


def note_received(hooks: Hooks, message: InboundMessage, envelope: Envelope) -> None:
    """Report a message that was admitted and stored."""
    if hooks.handles(MESSAGE_RECEIVED):
        where = conversation_of(envelope.access, envelope.key)
        told = MessageReceived(where, place(message.address), message.sender.id, message.text, message.is_for_us)
        hooks.note(MESSAGE_RECEIVED, told)


async def leaving(hooks: Hooks, envelope: Envelope, outgoing: Sequence[Outgoing]) -> list[Outgoing]:
    """Return the part of a turn's *outgoing* messages that goes into the outbox, as hooks leave it.

    A subagent's result for its caller is not a message, and is not shown to them.
    """
    if not hooks.handles(MESSAGE_SENDING):
        return list(outgoing)
    where = conversation_of(envelope.access, envelope.key)
    decided = [each if each.address.channel == SUBAGENT else await _leaving(hooks, where, each) for each in outgoing]
    return [each for each in decided if each is not None]


async def _leaving(hooks: Hooks, where: Conversation, each: Outgoing) -> Outgoing | None:
    seen = MessageSending(where, place(each.address), each.text, len(each.files))
    try:
        decided = await hooks.tell(MESSAGE_SENDING, seen)
    except HookError:
        return replace(each, text=WITHHELD, files=())
    if decided.is_cancelled:
        await hooks.count("hook_cancelled")
        log.info("a hook kept an answer back", channel=each.address.channel)
        return None
    return replace(each, text=decided.text)


def note_sent(hooks: Hooks, row: OutboxRow, message: OutboundMessage, sent: Sent, *, is_last: bool) -> None:
    """Report a part of *row* that the platform confirmed."""
    if hooks.handles(MESSAGE_SENT) and row.outgoing.address.channel != SUBAGENT:
        where = place(row.outgoing.address)
        hooks.note(MESSAGE_SENT, MessageSent(where, message.body.text, row.parts_sent, is_last, sent.message_id))


# --- turns


def note_end(hooks: Hooks, envelope: Envelope, entries: Sequence[Entry], text: str) -> None:
    """Report the outcome of a model's turn, whose journal holds *entries*; a command has no agent to end."""
    if not hooks.handles(AGENT_END):
        return
    model = next((each.model for each in reversed(entries) if isinstance(each, ReplyEntry)), _OWN_WORDS)
    if model != COMMAND:
        where = conversation_of(envelope.access, envelope.key)
        hooks.note(AGENT_END, AgentEnd(where, _outcome(model, text), text, model))


def _outcome(model: str, text: str) -> str:
    if model in {HALTED, _OWN_WORDS}:
        return "halted" if model == HALTED else "failed"
    return "answered" if text else "silent"


# --- sessions


def note_start(hooks: Hooks, session: Session) -> None:
    """Report a session without any messages yet."""
    if hooks.handles(SESSION_START) and not session.transcript.records:
        hooks.note(SESSION_START, SessionStart(conversation_of(session.access, session.key)))


def note_rest(
    hooks: Hooks, event: HookEvent[SessionRest], session: Session, reason: str, notes: Sequence[PurePosixPath]
) -> None:
    """Report a pause or an end, with the files that were written for it."""
    if hooks.handles(event):
        where = conversation_of(session.access, session.key)
        hooks.note(event, SessionRest(where, str(reason), tuple(map(str, notes))))


async def allow_summary(hooks: Hooks, session: Session, turns: int) -> None:
    """Ask hooks whether *turns* turns may become a summary now. Raises HookError if they may not."""
    if not hooks.handles(BEFORE_COMPACTION):
        return
    asked = Compacting(conversation_of(session.access, session.key), turns)
    decided = await hooks.tell(BEFORE_COMPACTION, asked)
    if decided.refused:
        await hooks.count("hook_refused")
        log.info("a hook refused a summary", session=str(session.key))
        raise HookError(f"not summarised now; blocked by the owner's hook: {decided.refused}")


def note_summary(hooks: Hooks, session: Session, turns: int, entry: SummaryEntry) -> None:
    """Report a summary that is in the transcript now."""
    if hooks.handles(AFTER_COMPACTION):
        where = conversation_of(session.access, session.key)
        hooks.note(AFTER_COMPACTION, CompactionPayload(where, turns, entry.text, entry.model))
