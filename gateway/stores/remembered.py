"""Values that the gateway remembers in the store as JSON; an unreadable one costs its own content, and nothing else."""

from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar, cast

import structlog
from pydantic import TypeAdapter, ValidationError

from gateway.stores.ports import Store

log = structlog.get_logger()

T = TypeVar("T")
UNREADABLE_VALUE = "unreadable_value"
"""Counted for each value that was damaged, or written by a newer version, and is forgotten."""


async def remembered(store: Store, key: str, kind: type[T]) -> T | None:
    """Return the value of *kind* that *store* has under *key*; `None` if there is none, or none that can be read.

    Raises StoreError.
    """
    if not (text := await store.get(key)):
        return None
    try:
        value: T = _adapter(cast("Hashable", kind)).validate_json(text)
    except ValidationError as exc:
        log.error("a remembered value cannot be read and is forgotten", key=key, faults=exc.error_count())
        await store.count(UNREADABLE_VALUE)
        await store.put(key, "")
        return None
    return value


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
