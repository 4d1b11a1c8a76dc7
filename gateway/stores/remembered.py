"""Values that the gateway remembers in the store as JSON; an unreadable one costs its own content, and nothing else."""

import json
from datetime import datetime
from typing import Annotated, TypeVar

import msgspec
import structlog
from msgspec import Meta

from gateway.stores.ports import Store

log = structlog.get_logger()

T = TypeVar("T")
Moment = Annotated[datetime, Meta(tz=True)]
"""A time with a zone."""
UNREADABLE_VALUE = "unreadable_value"
"""Counted for each value that was damaged, or written by a newer version, and is forgotten."""


async def remember(store: Store, key: str, value: object) -> None:
    """Keep *value*, of structs, data classes and plain values, in *store* under *key*. Raises StoreError."""
    await store.put(key, json.dumps(msgspec.to_builtins(value, str_keys=True)))


async def remembered(store: Store, key: str, kind: type[T]) -> T | None:
    """Return the value of *kind* that *store* has under *key*; `None` if there is none, or none that can be read.

    Raises StoreError.
    """
    if not (text := await store.get(key)):
        return None
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError):
        log.error("a remembered value cannot be read and is forgotten", key=key)
        await store.count(UNREADABLE_VALUE)
        await store.put(key, "")
        return None
