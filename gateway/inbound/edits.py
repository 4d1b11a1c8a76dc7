"""Effects of edited messages, as pure functions.

A waiting message is answered in its latest version, in its own place; one already answered is followed by a correction.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from adapters.channel import InboundMessage, Quote, Via
from gateway.agent.authorship import EARLIER_VERSION
from gateway.agent.entries import UserEntry
from gateway.stores.codec import message_key
from gateway.stores.rows import InboxRow
from gateway.transcripts.codec import Record

LATE_AFTER = timedelta(hours=48)
"""As long as Telegram allows edits."""
_QUOTED_CHARS = 500


class Void(StrEnum):
    """The reason that an edit needs no turn; the value is the counted reason code."""

    EDITED = "edited"
    """The message was answered in this version, or its text did not change."""
    EDIT_LATE = "edit_late"
    """It is too late and ignored."""


def source_of(message: InboundMessage) -> str:
    """Return an id of the message and its version; an edit has its original's."""
    return f"{_mark(message_key(message.address, _first(message)))}.{_mark(message.text.strip())}"


def as_edited(row: InboxRow, waiting: Iterable[object]) -> InboxRow:
    """Return *row* in its latest version, by the edits *waiting* behind it: its text, and the files that are left."""
    edits = _edits_of(row.message, waiting)
    if not edits:
        return row
    return replace(row, message=replace(row.message, text=edits[-1].text, attachments=edits[-1].attachments))


def void_reason(
    message: InboundMessage, records: Sequence[Record], waiting: Iterable[object], now: datetime
) -> Void | None:
    """Return the reason that an edit needs no turn; `None` if it needs one, and for other messages.

    A newer edit of the same message may be *waiting* behind it.
    """
    if message.via is not Via.EDIT:
        return None
    if now - message.sent_at > LATE_AFTER:
        return Void.EDIT_LATE
    newest = next(_versions(message, records), None)
    is_known = newest is not None and newest.source == source_of(message)
    return Void.EDITED if is_known or _edits_of(message, waiting) else None


def as_correction(message: InboundMessage, records: Sequence[Record]) -> InboundMessage:
    """Return an edit with the words that it corrects, if known; other messages unchanged."""
    newest = next(_versions(message, records), None) if message.via is Via.EDIT else None
    if newest is None:
        return message
    cut = "…" if len(newest.text) > _QUOTED_CHARS else ""
    old = Quote(EARLIER_VERSION, newest.text[:_QUOTED_CHARS] + cut, is_ours=not newest.from_outside)
    return replace(message, quote=old)


def _edits_of(message: InboundMessage, waiting: Iterable[object]) -> list[InboundMessage]:
    """Return the *waiting* edits of *message*, or of the message that it edits itself."""
    return [item.message for item in waiting if isinstance(item, InboxRow) and _edits(item.message, message)]


def _edits(later: InboundMessage, message: InboundMessage) -> bool:
    is_its = later.via is Via.EDIT and later.target == _first(message) and later.address == message.address
    return is_its and later.sender.id == message.sender.id


def _first(message: InboundMessage) -> str:
    """Return the platform's id of the first version of *message*."""
    return message.target if message.via is Via.EDIT and message.target else message.id


def _versions(message: InboundMessage, records: Sequence[Record]) -> Iterator[UserEntry]:
    """Yield the versions of the edited message in the conversation, newest first."""
    mark = source_of(message).partition(".")[0]
    for record in reversed(records):
        if isinstance(record.entry, UserEntry) and record.entry.source.partition(".")[0] == mark:
            yield record.entry


def _mark(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
