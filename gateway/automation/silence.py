"""This file decides what of a turn's answer is sent, where that hangs on who asked: a person, or nobody."""

from collections.abc import Sequence

from adapters.channel import InboundMessage
from gateway.admission.internal_channels import CLOCK, is_heartbeat
from gateway.agent.entries import UNFINISHED, Entry, ReplyEntry
from gateway.agent.models.offline import OFFLINE
from gateway.agent.tools.notify import notified
from gateway.schedule.checklist import for_owner, without_token
from workspaces.access import SessionType


def is_unasked(message: InboundMessage, kind: SessionType) -> bool:
    """Say whether nobody waits for the answer to *message*, in a session of that *kind*: it speaks by `notify`."""
    return message.address.channel == CLOCK or kind in {SessionType.HEARTBEAT, SessionType.CRON}


def spoken(message: InboundMessage, kind: SessionType, answer: str, entries: Sequence[Entry]) -> str:
    """Return what of the *answer* to *message* is sent; empty for silence. *entries* are those of its turn.

    A turn that nobody asked for tells what it gave to `notify`, and our own word that a job could not be finished; of a
    heartbeat that no model answered nothing is told.
    """
    if not is_unasked(message, kind):
        return without_token(answer)
    if is_heartbeat(message) and has_failed(entries):
        return ""
    said = notified(entries)
    return "\n\n".join(text for text in (said, answer) if text) if _ended_by(entries) == UNFINISHED else said


def is_unasked_prose(message: InboundMessage, kind: SessionType, answer: str, entries: Sequence[Entry]) -> bool:
    """Say whether a turn that nobody asked for wrote an *answer*, other than of silence, and told nothing."""
    if not is_unasked(message, kind) or has_failed(entries):
        return False
    return not notified(entries) and bool(for_owner(answer))


def has_failed(entries: Sequence[Entry]) -> bool:
    """Say whether no language model answered the turn of *entries*."""
    return _ended_by(entries) in {UNFINISHED, OFFLINE}


def _ended_by(entries: Sequence[Entry]) -> str:
    """Return the name of the model that ended the turn of *entries*; the gateway's own for a sentence of ours."""
    return next((each.model for each in reversed(entries) if isinstance(each, ReplyEntry)), "")
