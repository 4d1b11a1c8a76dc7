"""Port to quarantined rows: messages, replies and jobs that were moved out of the way until the owner decides."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct

from gateway.errors import StoreError
from gateway.stores.admission import UNREADABLE_MESSAGE
from gateway.stores.codec import JOB_SPECS, MESSAGES, OUTGOING
from gateway.stores.jobs import JobId
from gateway.stores.rows import InboxRow, OutboxRow
from gateway.stores.unreadable import UNREADABLE_JOB, UNREADABLE_REPLY

CRASHED_MESSAGE = "crashed_message"
CRASHED_REPLY = "crashed_reply"
"""Reason codes: the process ended twice in a row while it worked on the row."""
EXCERPT_CHARS = 80


class QuarantineKind(StrEnum):
    MESSAGE = "message"
    REPLY = "reply"
    JOB = "job"


KINDS: Mapping[str, QuarantineKind] = MappingProxyType(
    {
        UNREADABLE_MESSAGE: QuarantineKind.MESSAGE,
        CRASHED_MESSAGE: QuarantineKind.MESSAGE,
        UNREADABLE_REPLY: QuarantineKind.REPLY,
        CRASHED_REPLY: QuarantineKind.REPLY,
        UNREADABLE_JOB: QuarantineKind.JOB,
    }
)
"""By reason code."""

Retried = InboxRow | OutboxRow | JobId


class QuarantinedRow(Struct, frozen=True):
    """A row that stays unprocessed until the owner retries or drops it."""

    id: str
    """Its name in the quarantine."""
    reason: str
    """A key of `KINDS`."""
    row: str
    """Its number in its original table."""
    why: str
    at: datetime
    content: str
    """As stored; bytes that are not UTF-8 are surrogates."""

    @property
    def kind(self) -> QuarantineKind:
        return KINDS[self.reason]

    @property
    def excerpt(self) -> str:
        """The beginning of its text, or of its content if that cannot be read."""
        try:
            text = _TEXTS[self.kind](self.content)
        except (StoreError, ValueError):
            text = self.content
        return " ".join(text[: 4 * EXCERPT_CHARS].split())[:EXCERPT_CHARS]

    def check(self) -> None:
        """Raise StoreError if its content cannot be read, so that a retry would quarantine it again."""
        try:
            self.content.encode()
            _TEXTS[self.kind](self.content)
        except (StoreError, ValueError) as exc:
            raise StoreError(
                f"{self.kind} {self.id} still cannot be read ({exc}); it stays in quarantine. If a newer version wrote "
                "it, install that version and retry; otherwise drop it"
            ) from exc


_TEXTS: Mapping[QuarantineKind, Callable[[str], str]] = MappingProxyType(
    {
        QuarantineKind.MESSAGE: lambda content: MESSAGES.decode(content).text,
        QuarantineKind.REPLY: lambda content: OUTGOING.decode(content).text,
        QuarantineKind.JOB: lambda content: JOB_SPECS.decode(content).prompt,
    }
)


class Quarantine(Protocol):
    """Quarantined rows; only the owner can remove one."""

    async def all(self) -> Sequence[QuarantinedRow]:
        """Return every row, oldest first."""

    async def add(self, reason: str, row: int, why: str) -> bool:
        """Quarantine inbox or outbox row number *row* and count *reason*; `False` if the row is gone."""

    async def retry(self, id: str) -> Retried | None:  # noqa: A002  # the field's name
        """Put the row back: a message or reply under a new number, as if it had just come, a job under its own.

        Return the restored row, or `None` if there is no such row. Raises StoreError, with nothing changed, for a
        row that still cannot be read.
        """

    async def drop(self, id: str) -> bool:  # noqa: A002  # the field's name
        """Delete the row; `False` if there is no such row."""
