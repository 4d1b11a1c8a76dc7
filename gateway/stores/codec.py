"""Encodes stored messages, replies and changes as versioned JSON, and decodes them."""

import json
from datetime import UTC, datetime
from functools import cache
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from adapters.channel import Address, InboundMessage, OverheardMessage
from gateway.errors import StoreError
from gateway.stores.jobs import JobSpec
from gateway.stores.rows import Outgoing, Proposal
from workspaces.secrets import holds_secret, redact_all

T = TypeVar("T")


KEYS_ALONE = ConfigDict(cache_strings="keys")
"""Pydantic caches the latest 16,000 short texts of all JSON that it reads. Ids, times and words of conversations do not
recur: it should cache only field names.
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


def encode_message(message: InboundMessage) -> str:
    """Return *message* as JSON."""
    return to_json(_messages(), _Versioned[InboundMessage](body=message))


def decode_message(text: str) -> InboundMessage:
    """Decode the result of `encode_message`. Raises StoreError."""
    return _decode(_messages(), text)


def encode_outgoing(outgoing: Outgoing) -> str:
    """Return *outgoing* as JSON."""
    return to_json(_outgoing(), _Versioned[Outgoing](body=outgoing))


def decode_outgoing(text: str) -> Outgoing:
    """Decode the result of `encode_outgoing`. Raises StoreError."""
    return _decode(_outgoing(), text)


def encode_proposal(proposal: Proposal) -> str:
    """Return *proposal* as JSON."""
    return to_json(_proposals(), _Versioned[Proposal](body=proposal))


def decode_proposal(text: str) -> Proposal:
    """Decode the result of `encode_proposal`. Raises StoreError."""
    return _decode(_proposals(), text)


def encode_job_spec(spec: JobSpec) -> str:
    """Return *spec* as JSON."""
    return to_json(_errands(), _Versioned[JobSpec](body=spec))


def decode_job_spec(text: str) -> JobSpec:
    """Decode the result of `encode_job_spec`. Raises StoreError."""
    return _decode(_errands(), text)


def encode_heard(heard: OverheardMessage) -> str:
    """Return *heard* as JSON."""
    return to_json(_heard(), _Versioned[OverheardMessage](body=heard))


def decode_heard(text: str) -> OverheardMessage:
    """Decode the result of `encode_heard`. Raises StoreError."""
    return _decode(_heard(), text)


def address_key(address: Address) -> str:
    """Return a unique key for an address; `Address(*json.loads(key))` is the address again."""
    return json.dumps([address.channel, address.account, address.chat, address.thread])


def message_key(address: Address, message_id: str) -> str:
    """Return a unique key for a platform's message."""
    return json.dumps([address.channel, address.account, address.chat, address.thread, message_id])


def encode_time(moment: datetime) -> str:
    """Return *moment*, which has a zone, as text in UTC that sorts by time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _decode(adapter: TypeAdapter[_Versioned[T]], text: str) -> T:
    try:
        return adapter.validate_json(text).body
    except ValidationError as exc:
        what = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'record'}: {e['msg']}" for e in exc.errors())
        raise StoreError(f"what is stored cannot be read ({what})") from exc


@cache
def _messages() -> TypeAdapter[_Versioned[InboundMessage]]:
    return TypeAdapter(_Versioned[InboundMessage])


@cache
def _outgoing() -> TypeAdapter[_Versioned[Outgoing]]:
    return TypeAdapter(_Versioned[Outgoing])


@cache
def _proposals() -> TypeAdapter[_Versioned[Proposal]]:
    return TypeAdapter(_Versioned[Proposal])


@cache
def _errands() -> TypeAdapter[_Versioned[JobSpec]]:
    return TypeAdapter(_Versioned[JobSpec])


@cache
def _heard() -> TypeAdapter[_Versioned[OverheardMessage]]:
    return TypeAdapter(_Versioned[OverheardMessage])
