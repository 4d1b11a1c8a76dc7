"""Records looked at by their fields, whether they are of `msgspec.Struct` or dataclasses."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from msgspec import Struct, structs

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


def is_record(value: object) -> "TypeGuard[Struct | DataclassInstance]":
    """Tell whether *value* is a record, and no class of records."""
    return isinstance(value, Struct) or (is_dataclass(value) and not isinstance(value, type))


def field_names(kind: "type[Struct | DataclassInstance]") -> tuple[str, ...]:
    """Return the names of the fields that a record of *kind* is made with, in order."""
    return kind.__struct_fields__ if issubclass(kind, Struct) else _init_names(kind)


@cache
def _init_names(kind: "type[DataclassInstance]") -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.init)


def is_constant(record: object) -> bool:
    """Tell whether *record* never changes, and can be referred to without being kept."""
    if isinstance(record, Struct):
        return record.__struct_config__.frozen and record.__struct_config__.weakref
    facts = getattr(record, "__dataclass_params__", None)
    return facts is not None and facts.frozen and hasattr(record, "__weakref__")


def with_fields(record: T, values: Mapping[str, Any]) -> T:
    """Return *record* with these fields. Raises TypeError for a field that it does not have."""
    return structs.replace(record, **values) if isinstance(record, Struct) else replace(record, **values)  # type: ignore[type-var]
