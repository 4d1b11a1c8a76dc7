"""Selection of a server's tools, and their form for a model; everything here is pure."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct

from gateway.agent.models.port import ToolSpec
from gateway.agent.receipts import ACTING, READING
from workspaces.lazy_pattern import lazy_pattern

MOST_TOOLS = 64
"""Most tools of one server that are offered."""
DESCRIPTION_CHARS = 1_000
"""Longest description; the rest is cut off."""
SCHEMA_CHARS = 8_000
"""Longest schema of a tool's arguments, which is part of every request. The three limits are our choice."""
_NAME = lazy_pattern(r"[a-zA-Z0-9_-]{1,64}")
"""Valid tool names for providers."""


class ListedTool(Struct, frozen=True):
    name: str
    description: str
    schema: Mapping[str, object]
    is_closed: bool = False
    """Its server says that it changes nothing and reaches nobody: it only reads, in a closed world."""


class Called(Struct, frozen=True):
    """A server's answer to a call."""

    text: str
    has_failed: bool


class Offer(Struct, frozen=True):
    """The offered tools of a server."""

    specs: Mapping[str, ToolSpec]
    """Specifications for models, by the server's own tool name."""
    closed: frozenset[str] = frozenset()
    """The server's own names of those by which no text leaves it, as it says."""
    left_out: tuple[str, ...] = ()
    """Tools that are left out, each with the reason, as text."""


def offer(server: str, listed: Iterable[ListedTool], allowed: Collection[str] | None) -> Offer:
    """Return the offer from the tools that *server* lists; only the *allowed*, if that is given."""
    listed = list(listed)
    closed = frozenset(each.name for each in listed if each.is_closed)
    specs: dict[str, ToolSpec] = {}
    left_out: list[str] = []
    taken: set[str] = set()
    for each in listed:
        if allowed is not None and each.name not in allowed:
            continue
        spec = _spec(server, each)
        fault = _fault(each, spec.name, taken)
        if fault:
            left_out.append(f"{each.name[:64]!r} {fault}")
        else:
            taken.add(spec.name)
            specs[each.name] = spec
    left_out += _missing(allowed, {*specs}) if allowed is not None and not left_out else []
    return Offer(specs, closed, tuple(left_out))


def result_text(server: str, called: Called) -> str:
    """Return the text of a call's result for a model."""
    if called.has_failed:
        return f"The call failed; {server} says: {called.text}"
    return called.text or f"({server} returned no text)"


def _spec(server: str, tool: ListedTool) -> ToolSpec:
    description = " ".join(tool.description.split())
    return ToolSpec(
        f"{server}_{tool.name}",
        f"(By the tool server {server}.) {description[:DESCRIPTION_CHARS]}",
        {key: value for key, value in tool.schema.items() if key not in {"$schema", "title"}},
    )


def _fault(tool: ListedTool, name: str, taken: set[str]) -> str:
    """Return why a tool is left out; empty if it is not."""
    if len(taken) >= MOST_TOOLS:
        return f"exceeds the limit of {MOST_TOOLS} tools per server"
    if fault := _name_fault(name, taken):
        return fault
    if tool.schema.get("type") != "object":
        return "takes arguments of a type that models do not send"
    if len(json.dumps(dict(tool.schema))) > SCHEMA_CHARS:
        return f"has an argument schema of more than {SCHEMA_CHARS:,} characters"
    return ""


def _name_fault(name: str, taken: set[str]) -> str:
    if not _NAME.fullmatch(name):
        return "has a name that no model accepts"
    if name in READING | ACTING:
        return f"would be called {name}, as a tool of Strandline's own: give the server another name"
    return "is there twice" if name in taken else ""


def _missing(allowed: Collection[str], found: set[str]) -> Iterator[str]:
    yield from (f"{name!r} is not among the server's tools" for name in sorted({*allowed} - found))
