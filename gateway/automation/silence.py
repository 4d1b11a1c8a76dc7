"""This file decides what of a turn's answer is sent, where that hangs on who asked: a person, or nobody."""

from collections.abc import Sequence

from adapters.channel import InboundMessage
from gateway.admission.internal_channels import is_heartbeat
from gateway.agent.entries import UNFINISHED, Entry, ReplyEntry
from gateway.agent.models.offline import OFFLINE
from gateway.agent.tools.notify import notified
from gateway.schedule.checklist import for_owner, without_token


def spoken(message: InboundMessage, answer: str, entries: Sequence[Entry]) -> str:
    """Return what of the *answer* to *message* is sent; empty for silence. *entries* are those of its turn.

    A heartbeat that used `notify` tells that and nothing else; one that no model answered tells nothing.
    """
    if not is_heartbeat(message):
        return without_token(answer)
    return "" if has_failed(entries) else notified(entries) or for_owner(answer)


def has_failed(entries: Sequence[Entry]) -> bool:
    """Say whether no language model answered the turn of *entries*."""
    last = next((each for each in reversed(entries) if isinstance(each, ReplyEntry)), None)
    return last is not None and last.model in {UNFINISHED, OFFLINE}
