"""This file tells the stored rows that can be read from those that cannot, which are set aside and hold nothing up."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TypeVar

import structlog
from pydantic import BaseModel, TypeAdapter, ValidationError

from adapters.channel import Address, Sender
from gateway.errors import StoreError
from gateway.stores.door import UNREADABLE_MESSAGE, Silence

log = structlog.get_logger()

UNREADABLE_REPLY = "unreadable_reply"
UNREADABLE_JOB = "unreadable_job"
"""Reason codes, like that of messages: a row was damaged, or a newer version wrote it, and it is kept apart."""
UNREADABLE_HEARD = "unreadable_heard"
"""Reason code: the same of what a group said to nobody, which is kept for a day at most: it is let go."""

Stored = TypeVar("Stored")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that cannot be read."""

    reason: str
    """A key of `gateway.stores.quarantine.KINDS`."""
    row: str
    """Its number in the store."""
    why: str

    def tell(self) -> None:
        """Warn of it, once it is set aside; its content stands in no log."""
        log.warning("a stored row cannot be read and was set aside", reason=self.reason, row=self.row, detail=self.why)


def legible(rows: Iterable[Stored], read: Callable[[Stored], Row]) -> tuple[list[Row], list[tuple[Stored, str]]]:
    """Return what *read* makes of *rows*, in their order, and those of which it makes nothing, with the reason."""
    good: list[Row] = []
    bad: list[tuple[Stored, str]] = []
    for row in rows:
        try:
            good.append(read(row))
        except (StoreError, ValueError, TypeError, LookupError) as exc:
            bad.append((row, str(exc) or type(exc).__name__))
    return good, bad


def text_of(value: str | None) -> str:
    """Return a stored *value* that must be a text. Raises ValueError for one that is none, or not in UTF-8."""
    if value is None:
        raise ValueError("a part of it is missing")
    value.encode()
    return value


def moment_of(value: str | None) -> datetime:
    """Return a stored moment, which has a zone. Raises ValueError for anything else."""
    moment = datetime.fromisoformat(text_of(value))
    if moment.tzinfo is None:
        raise ValueError("a time in it has no zone")
    return moment


class _Said(BaseModel):
    address: Address
    sender: Sender


class _Envelope(BaseModel):
    body: _Said


def silences_of(contents: Sequence[str], at: datetime) -> Sequence[Silence]:
    """Return whom nobody answers, of unreadable messages with these *contents*, as far as these say who wrote where."""
    found = []
    for content in contents:
        try:
            said = _envelopes().validate_json(content).body
        except (ValidationError, ValueError):
            continue
        found.append(Silence(at, said.address, f"{said.address.channel}:{said.sender.id}", UNREADABLE_MESSAGE))
    return found


@cache
def _envelopes() -> TypeAdapter[_Envelope]:
    return TypeAdapter(_Envelope)
