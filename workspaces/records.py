"""Records looked at by their fields, whether they are of `msgspec.Struct` or dataclasses."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct, structs

T = TypeVar("T")


def _field_names(kind: type) -> tuple[str, ...]:
    if issubclass(kind, Struct):
        return kind.__struct_fields__
    return tuple(each.name for each in fields(kind) if each.init) if is_dataclass(kind) else ()


field_names: Callable[[type], tuple[str, ...]] = cache(_field_names)
"""Returns the names of the fields that a record of a class is made with, in order; none for a class of no records."""


def is_constant(record: object) -> bool:
    """Tell whether *record* never changes, and can be referred to without being kept."""
    if isinstance(record, Struct):
        return record.__struct_config__.frozen and record.__struct_config__.weakref
    facts = getattr(record, "__dataclass_params__", None)
    return facts is not None and facts.frozen and hasattr(record, "__weakref__")


def with_fields(record: T, values: Mapping[str, Any]) -> T:
    """Return *record* with these fields. Raises TypeError for a field that it does not have."""
    return structs.replace(record, **values) if isinstance(record, Struct) else replace(record, **values)  # type: ignore[type-var]
