"""Separates readable stored rows from unreadable ones, which are quarantined and block nothing."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import TypeVar

import structlog
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from adapters.channel import Address, Sender
from gateway.errors import StoreError
from gateway.stores.admission import UNREADABLE_MESSAGE, Silence

log = structlog.get_logger()

UNREADABLE_REPLY = "unreadable_reply"
UNREADABLE_JOB = "unreadable_job"
"""Reason codes, as for messages: a row was damaged, or written by a newer version, and is quarantined."""
UNREADABLE_HEARD = "unreadable_heard"
"""Reason code: the same for an overheard group message, which would be kept for a day at most: it is dropped."""

Stored = TypeVar("Stored")
Row = TypeVar("Row")


class Unreadable(Struct, frozen=True):
    """A row that cannot be read."""

    reason: str
    """A key of `gateway.stores.quarantine.KINDS`."""
    row: str
    """Its number in the store."""
    why: str

    def tell(self) -> None:
        """Log a warning, once it is quarantined; no log contains its content."""
        log.warning("a stored row cannot be read and was set aside", reason=self.reason, row=self.row, detail=self.why)


def legible(rows: Iterable[Stored], read: Callable[[Stored], Row]) -> tuple[list[Row], list[tuple[Stored, str]]]:
    """Return the *rows* decoded by *read*, in order, and the unreadable ones, with the reason."""
    good: list[Row] = []
    bad: list[tuple[Stored, str]] = []
    for row in rows:
        try:
            good.append(read(row))
        except (StoreError, ValueError, TypeError, LookupError) as exc:
            bad.append((row, str(exc) or type(exc).__name__))
    return good, bad


def text_of(value: str | None) -> str:
    """Return a stored *value* that must be text. Raises ValueError if it is not, or is not UTF-8."""
    if value is None:
        raise ValueError("a part of it is missing")
    value.encode()
    return value


def moment_of(value: str | None) -> datetime:
    """Return a stored time with a zone. Raises ValueError for anything else."""
    moment = datetime.fromisoformat(text_of(value))
    if moment.tzinfo is None:
        raise ValueError("a time in it has no zone")
    return moment


class _StoredMessage(BaseModel):
    model_config = ConfigDict(defer_build=True)

    address: Address
    sender: Sender


class _RowEnvelope(BaseModel):
    model_config = ConfigDict(defer_build=True)

    body: _StoredMessage


def silences_of(contents: Sequence[str], at: datetime) -> Sequence[Silence]:
    """Return the unanswered senders of unreadable messages with these *contents*, as far as identifiable."""
    found = []
    for content in contents:
        try:
            said = _envelopes().validate_json(content).body
        except (ValidationError, ValueError):
            continue
        found.append(Silence(at, said.address, f"{said.address.channel}:{said.sender.id}", UNREADABLE_MESSAGE))
    return found


@cache
def _envelopes() -> TypeAdapter[_RowEnvelope]:
    return TypeAdapter(_RowEnvelope)
