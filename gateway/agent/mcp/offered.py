"""This file decides which of a server's tools are offered, and how a model sees them; everything here is pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gateway.agent.models.port import ToolSpec

MOST_TOOLS = 64
"""Tools that are taken of one server."""
DESCRIPTION_CHARS = 1_000
"""Longest description; the rest is cut off."""
SCHEMA_CHARS = 8_000
"""Longest schema of a tool's arguments; it stands in every request. The three are our choice."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What providers take as a tool's name."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server lists it."""

    name: str
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Called:
    """What a server said to a call."""

    text: str
    has_failed: bool


@dataclass(frozen=True, slots=True)
class Offer:
    """What is taken of a server's tools."""

    specs: Mapping[str, ToolSpec]
    """How models see each, by the server's own name for it."""
    left_out: tuple[str, ...] = ()
    """What is not taken, with the reason, in words."""


def offer(server: str, listed: Iterable[Listed], allowed: frozenset[str] | None) -> Offer:
    """Return what is offered of the tools that *server* lists; only the *allowed*, if that is given."""
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
    return Offer(specs, tuple(left_out))


def result_text(server: str, called: Called) -> str:
    """Return what a model is told of a call."""
    if called.has_failed:
        return f"The call failed; {server} says: {called.text}"
    return called.text or f"({server} answered without a text)"


def _spec(server: str, tool: Listed) -> ToolSpec:
    description = " ".join(tool.description.split())
    return ToolSpec(
        f"{server}_{tool.name}",
        f"(By the tool server {server}.) {description[:DESCRIPTION_CHARS]}",
        {key: value for key, value in tool.schema.items() if key not in {"$schema", "title"}},
    )


def _fault(tool: Listed, name: str, taken: set[str]) -> str:
    """Return why a tool is not taken; empty if it is."""
    if len(taken) >= MOST_TOOLS:
        return f"is beyond the {MOST_TOOLS} tools that are taken of one server"
    if not _NAME.fullmatch(name):
        return "has a name that no model takes"
    if name in taken:
        return "is there twice"
    if tool.schema.get("type") != "object":
        return "takes arguments of a kind that no model gives"
    if len(json.dumps(dict(tool.schema))) > SCHEMA_CHARS:
        return f"describes its arguments in more than {SCHEMA_CHARS:,} characters"
    return ""


def _missing(allowed: frozenset[str], found: set[str]) -> Iterator[str]:
    yield from (f"{name!r} is not among the server's tools" for name in sorted(allowed - found))
