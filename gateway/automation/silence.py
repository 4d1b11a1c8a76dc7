"""Visible part of a turn's answer, depending on whether a person asked for it."""

from collections.abc import Sequence

from adapters.channel import InboundMessage
from gateway.admission.internal_channels import CLOCK, is_heartbeat
from gateway.agent.entries import NO_REPLY, OFFLINE, UNFINISHED, Entry
from gateway.agent.models.offline_intents import content_words
from gateway.agent.models.offline_quotes import REMINDER_HEAD
from gateway.agent.person_requests import REMINDER
from gateway.agent.receipts import ended_by
from gateway.agent.tools.notify import notified_texts
from gateway.schedule.checklist import for_owner, without_heartbeat_token
from workspaces.access import SessionType

SHARE = 0.49
"""Share of the words of an owner's reminder, its time among them, that only an answer about its subject holds."""
_LONG, _STEM = 4, 5
"""Letters of a word that is compared, and of its beginning that counts: "call Ann" may become "calling Ann"."""


def is_unasked(message: InboundMessage, kind: SessionType) -> bool:
    """Return whether *message*, in a session of that *kind*, is unprompted: its turn speaks by `notify`."""
    return message.address.channel == CLOCK or kind in {SessionType.HEARTBEAT, SessionType.CRON}


def visible_answer(
    message: InboundMessage, kind: SessionType, answer: str, entries: Sequence[Entry], reminder: str = ""
) -> str:
    """Return the part of the *answer* to *message* that is sent; empty for silence. *entries* are those of its turn.

    An unprompted turn sends the texts of its `notify` calls, and the gateway's sentence that a job could not be
    finished; a heartbeat that no model answered sends nothing. A job with a *reminder* is never silent: without a text
    of `notify` it sends the answer, below the reminder in its own words unless the answer repeats it.
    """
    if not is_unasked(message, kind):
        return without_heartbeat_token(answer)
    if is_heartbeat(message) and has_failed(entries):
        return ""
    said = notified_texts(entries)
    if ended_by(entries) == UNFINISHED:
        return "\n\n".join(text for text in (said or reminder, answer) if text)
    told = for_owner(answer) if reminder and NO_REPLY not in answer.upper() else ""
    is_needed = not _repeats(told, reminder, SHARE if REMINDER in message.text else 0.0)
    return said or "\n\n".join(text for text in (reminder if is_needed else "", told) if text)


def _repeats(answer: str, reminder: str, share: float) -> bool:
    """Tell whether *answer* holds more than *share* of the words of *reminder*: "Done!" reminds nobody."""
    wanted, given = (_stems(text) for text in (reminder.removeprefix(REMINDER_HEAD), answer))
    return len(wanted & given) > share * len(wanted)


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in content_words(text) if len(word) >= _LONG}


def is_unasked_prose(message: InboundMessage, kind: SessionType, answer: str, entries: Sequence[Entry]) -> bool:
    """Return whether an unprompted turn wrote an *answer*, other than of silence, without notifying its owner."""
    if not is_unasked(message, kind) or has_failed(entries):
        return False
    return not notified_texts(entries) and bool(for_owner(answer))


def has_failed(entries: Sequence[Entry]) -> bool:
    """Return whether no language model answered the turn of *entries*."""
    return ended_by(entries) in {UNFINISHED, OFFLINE}
