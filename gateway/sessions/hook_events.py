"""This file brings what happens in conversations before the owner's hooks, as their typed events.

Nothing is built where no hook asks for it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import structlog

from adapters.channel import Address, InboundMessage, OutboundMessage, Sent
from gateway.admission.internal_channels import HELPER
from gateway.admission.routing import Envelope, Routes, SessionKey, route
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
    Compacted,
    Compacting,
    Conversation,
    Event,
    Hooks,
    MessageReceived,
    MessageSending,
    MessageSent,
    Place,
    SessionRest,
    SessionStart,
)
from gateway.sessions.session import Session
from gateway.stores.rows import OutboxRow, Outgoing
from workspaces.access import Access, SessionType

log = structlog.get_logger()

WITHHELD = "A hook that looks at my answers failed, so I keep this one back. `strandline status` names it."
"""What a chat is told in place of an answer that no hook could look at."""
_OWN_WORDS = "strandline"
"""`ReplyEntry.model` of the sentence in which the gateway itself ended a turn."""


def conversation(key: SessionKey, session_type: SessionType) -> Conversation:
    """Return where a turn of the session *key* happens, as hooks are told."""
    return Conversation(key.agent, str(key), session_type)


def conversation_of(access: Access, key: SessionKey) -> Conversation:
    """Return the same of a turn with *access*."""
    return conversation(key, access.session_type)


def place(address: Address) -> Place:
    """Return *address* as hooks are told of it."""
    return Place(address.channel, address.account, address.chat, address.thread)


# --- messages


def note_received(hooks: Hooks, message: InboundMessage, routes: Routes) -> None:
    """Tell of a message that was let in and stored."""
    if hooks.handles(MESSAGE_RECEIVED):
        envelope = route(message, routes)
        where = conversation_of(envelope.access, envelope.key)
        told = MessageReceived(where, place(message.address), message.sender.id, message.text, message.is_for_us)
        hooks.note(MESSAGE_RECEIVED, told)


async def leaving(hooks: Hooks, envelope: Envelope, outgoing: Sequence[Outgoing]) -> list[Outgoing]:
    """Return what of a turn's *outgoing* goes into the outbox, as hooks leave it.

    What a helper says to who asked for it is no message, and is not shown to them.
    """
    if not hooks.handles(MESSAGE_SENDING):
        return list(outgoing)
    where = conversation_of(envelope.access, envelope.key)
    decided = [each if each.address.channel == HELPER else await _leaving(hooks, where, each) for each in outgoing]
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
    """Tell of a part of *row* that the platform confirmed."""
    if hooks.handles(MESSAGE_SENT) and row.outgoing.address.channel != HELPER:
        where = place(row.outgoing.address)
        hooks.note(MESSAGE_SENT, MessageSent(where, message.body.text, row.parts_sent, is_last, sent.message_id))


# --- turns


def note_end(hooks: Hooks, envelope: Envelope, entries: Sequence[Entry], text: str) -> None:
    """Tell what a turn of a model came to, whose journal holds *entries*; a command has no agent to end."""
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
    """Tell of a session in which nothing was said yet."""
    if hooks.handles(SESSION_START) and not session.transcript.records:
        hooks.note(SESSION_START, SessionStart(conversation_of(session.access, session.key)))


def note_rest(
    hooks: Hooks, event: Event[SessionRest], session: Session, reason: str, notes: Sequence[PurePosixPath]
) -> None:
    """Tell of a pause or an end, with the files that were written for it."""
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
        raise HookError(f"not summarised now, by a rule of the owner's: {decided.refused}")


def note_summary(hooks: Hooks, session: Session, turns: int, entry: SummaryEntry) -> None:
    """Tell of a summary that stands in the transcript now."""
    if hooks.handles(AFTER_COMPACTION):
        where = conversation_of(session.access, session.key)
        hooks.note(AFTER_COMPACTION, Compacted(where, turns, entry.text, entry.model))
