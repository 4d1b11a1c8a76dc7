"""This file decides what an edit of an earlier message means. It is pure.

What still waits is answered as it reads now, in its own place; what was answered is corrected by a message that says
so.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from adapters.channel import InboundMessage, Quote, Via
from gateway.agent.entries import UserEntry
from gateway.stores.codec import message_key
from gateway.stores.rows import InboxRow
from gateway.transcripts.codec import Record

LATE_AFTER = timedelta(hours=48)
"""As long as Telegram lets people edit."""
_QUOTED_CHARS = 500
_CORRECTS = "an earlier message of mine, which this one corrects"


class Void(StrEnum):
    """Why an edit needs no turn; the value is the reason code that is counted."""

    EDITED = "edited"
    """The message was answered as it reads now, or its text did not change."""
    EDIT_LATE = "edit_late"
    """It comes so late that it is left alone."""


def source_of(message: InboundMessage) -> str:
    """Return the marks of which message it is and how it reads; an edit is the message that it changes."""
    return f"{_mark(message_key(message.address, _first(message)))}.{_mark(message.text.strip())}"


def as_edited(row: InboxRow, waiting: Iterable[object]) -> InboxRow:
    """Return *row* as its sender last edited it, by what is *waiting* behind it."""
    edits = _edits_of(row.message, waiting)
    return replace(row, message=replace(row.message, text=edits[-1].text)) if edits else row


def why_void(
    message: InboundMessage, records: Sequence[Record], waiting: Iterable[object], now: datetime
) -> Void | None:
    """Return why an edit needs no turn; `None` where it needs one, and for what is no edit.

    What is *waiting* behind it may be a newer edit of the same message.
    """
    if message.via is not Via.EDIT:
        return None
    if now - message.sent_at > LATE_AFTER:
        return Void.EDIT_LATE
    newest = next(_versions(message, records), None)
    is_known = newest is not None and newest.source == source_of(message)
    return Void.EDITED if is_known or _edits_of(message, waiting) else None


def as_correction(message: InboundMessage, records: Sequence[Record]) -> InboundMessage:
    """Return an edit with the words that it corrects, where they are known; anything else as it is."""
    newest = next(_versions(message, records), None) if message.via is Via.EDIT else None
    if newest is None:
        return message
    cut = "…" if len(newest.text) > _QUOTED_CHARS else ""
    old = Quote(_CORRECTS, newest.text[:_QUOTED_CHARS] + cut, is_ours=not newest.from_outside)
    return replace(message, quote=old)


def _edits_of(message: InboundMessage, waiting: Iterable[object]) -> list[InboundMessage]:
    """Return the edits among what is *waiting* of *message*, or of what that itself edits."""
    return [item.message for item in waiting if isinstance(item, InboxRow) and _edits(item.message, message)]


def _edits(later: InboundMessage, message: InboundMessage) -> bool:
    is_its = later.via is Via.EDIT and later.target == _first(message) and later.address == message.address
    return is_its and later.sender.id == message.sender.id


def _first(message: InboundMessage) -> str:
    """Return the platform's id of *message* as it was first sent."""
    return message.target if message.via is Via.EDIT and message.target else message.id


def _versions(message: InboundMessage, records: Sequence[Record]) -> Iterator[UserEntry]:
    """Give how the message that is edited read in the conversation, the newest first."""
    mark = source_of(message).partition(".")[0]
    for record in reversed(records):
        if isinstance(record.entry, UserEntry) and record.entry.source.partition(".")[0] == mark:
            yield record.entry


def _mark(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
