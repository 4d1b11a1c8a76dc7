"""Records looked at by their fields."""

from dataclasses import dataclass

from msgspec import Struct

from workspaces.records import field_names, is_constant, with_fields


class Port(Struct, frozen=True, weakref=True):
    """A struct that never changes."""

    number: int


class Count(Struct, weakref=True):
    """A struct that changes."""

    number: int


@dataclass(frozen=True, slots=True)
class Day:
    """A dataclass without weak references."""

    number: int


def test_both_kinds_of_records_are_read_and_copied_alike() -> None:
    """What is no record has no fields."""
    assert field_names(Port) == field_names(Day) == ("number",)
    assert field_names(str) == ()
    assert (with_fields(Port(1), {"number": 2}), with_fields(Day(1), {"number": 2})) == (Port(2), Day(2))


def test_only_what_cannot_change_is_looked_at_once() -> None:
    """A record that changes later may hold a secret then."""
    assert [is_constant(each) for each in (Port(1), Count(1), Day(1), "text")] == [True, False, False, False]
