"""What docs/monitoring.md says to machines is what the program does."""

import re
import types
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from gateway.control.status_wire import Status
from workspaces.records import field_names

MONITORING = (Path(__file__).parent.parent / "docs" / "monitoring.md").read_text("utf-8")


def shape(kind: Any, prefix: str = "") -> Iterator[str]:
    """Give every field of a record, and of those inside, as a path."""
    hints = get_type_hints(kind)
    for name in field_names(kind):
        path = f"{prefix}{name}"
        yield path
        inside, ending = _within(hints[name])
        if inside is not None:
            yield from shape(inside, f"{path}{ending}.")


def _is_kind_of_record(hint: Any) -> bool:
    return is_dataclass(hint) or (isinstance(hint, type) and issubclass(hint, Struct))


def _within(hint: Any) -> tuple[Any, str]:
    """Return the record that a field holds, if any, and how a path goes on from there."""
    if _is_kind_of_record(hint):
        return hint, ""
    of_many = get_origin(hint) is tuple
    if of_many or get_origin(hint) in {Union, types.UnionType}:
        found = next((each for each in get_args(hint) if _is_kind_of_record(each)), None)
        return found, "[]" if of_many else ""
    return None, ""


def test_the_shape_of_the_status_is_written_down() -> None:
    """Each field with its type, in order, and none that is not there; two come from the command itself."""
    part = MONITORING[MONITORING.index("| `running` |") :].partition("\n## ")[0]
    documented = re.findall(r"^\| `([a-z_.\[\]]+)` \| \w[^|]* \|", part, re.MULTILINE)
    assert documented == ["running", "address", *shape(Status)]
