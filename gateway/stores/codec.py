"""Encodes stored messages, replies and changes as versioned JSON, and decodes them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from adapters.channel import Address, InboundMessage, OverheardMessage
from gateway.errors import StoreError
from gateway.stores.jobs import JobSpec
from gateway.stores.rows import (
    ChangeId,
    ChangeState,
    OutboxId,
    OutboxRow,
    OutboxState,
    Outgoing,
    PendingChange,
    Proposal,
    TurnId,
)
from gateway.stores.unreadable import moment_of, text_of
from workspaces.secrets import holds_secret, redact_all

T = TypeVar("T")


KEYS_ALONE = ConfigDict(cache_strings="keys", defer_build=True)
"""Pydantic caches the latest 16,000 short texts of all JSON that it reads. Ids, times and words of conversations do not
recur: it should cache only field names. It is prepared when it is first used.
"""


class _Versioned(BaseModel, Generic[T]):
    model_config = KEYS_ALONE

    v: Literal[1] = 1
    body: T


def valid_unicode(text: str) -> str:
    """Return *text* with every lone surrogate, which no file and no platform can hold, as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def to_json(adapter: TypeAdapter[T], value: T) -> str:
    """Return *value* as one line of valid Unicode JSON without known secrets, whatever its texts contain."""
    text = _to_json(adapter, value)
    return _to_json(adapter, _redacted(value)) if holds_secret(text) else text


def _to_json(adapter: TypeAdapter[T], value: T) -> str:
    try:
        return adapter.dump_json(value).decode()
    except PydanticSerializationError:  # a lone surrogate; checking first was seven times as slow
        plain = adapter.dump_python(value, mode="json")
    return valid_unicode(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))


def _redacted(value: T) -> T:
    if not isinstance(value, BaseModel):
        return redact_all(value)
    return value.model_copy(update={name: redact_all(getattr(value, name)) for name in type(value).model_fields})


class Codec(Generic[T]):
    """Encodes one kind of stored rows as JSON with a version, and decodes them."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind

    @cached_property
    def _adapter(self) -> "TypeAdapter[_Versioned[T]]":
        return TypeAdapter(_Versioned[self._kind])  # type: ignore[name-defined]  # known when it runs

    def encode(self, row: T) -> str:
        return to_json(self._adapter, _Versioned[self._kind](body=row))  # type: ignore[name-defined]  # the same

    def decode(self, text: str) -> T:
        """Decode the result of `encode`. Raises StoreError."""
        try:
            return self._adapter.validate_json(text).body
        except ValidationError as exc:
            what = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'record'}: {e['msg']}" for e in exc.errors())
            raise StoreError(f"the stored row cannot be read ({what})") from exc


MESSAGES = Codec(InboundMessage)
OUTGOING = Codec(Outgoing)
PROPOSALS = Codec(Proposal)
JOB_SPECS = Codec(JobSpec)
OVERHEARD = Codec(OverheardMessage)


def address_key(address: Address) -> str:
    """Return a unique key for an address; `Address(*json.loads(key))` is the address again."""
    return json.dumps([address.channel, address.account, address.chat, address.thread])


def message_key(address: Address, message_id: str) -> str:
    """Return a unique key for a platform's message."""
    return json.dumps([address.channel, address.account, address.chat, address.thread, message_id])


def encode_time(moment: datetime) -> str:
    """Return *moment*, which has a zone, as text in UTC that sorts by time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def reply_row(fields: Sequence[Any]) -> OutboxRow:
    """Return a stored reply from its fields, in the order of `OutboxRow`; numbers may be text.

    Raises StoreError and ValueError.
    """
    id_, turn_id, outgoing, created_at, state, parts_sent, attempts, not_before, begun_at = fields
    return OutboxRow(
        OutboxId(int(id_)),
        TurnId(text_of(turn_id)),
        OUTGOING.decode(outgoing),
        moment_of(created_at),
        OutboxState(state),
        int(parts_sent),
        int(attempts),
        None if not_before is None else moment_of(not_before),
        None if begun_at is None else moment_of(begun_at),
    )


def change_row(fields: Sequence[Any], now: datetime) -> PendingChange:
    """Return a stored change from number, proposal, both times and state; one past its time counts as expired."""
    id_, proposal, created_at, expires_at, state = fields
    expires, stored = datetime.fromisoformat(expires_at), ChangeState(state)
    is_late = stored is ChangeState.WAITING and expires <= now
    return PendingChange(
        ChangeId(int(id_)),
        PROPOSALS.decode(proposal),
        datetime.fromisoformat(created_at),
        expires,
        ChangeState.EXPIRED if is_late else stored,
    )
