"""Edits the configuration's text: adds and removes agents, and preserves comments, order and everything else.

It works on lines: tomlkit was tried, but it joins tables that are out of order, and removes the comments below a table
along with it. The result is parsed as TOML and compared with the intended one.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from gateway.config.values import dotted, end_of_keys, split_tables
from gateway.errors import ConfigError
from workspaces.lazy_pattern import lazy_pattern

_BINDING = lazy_pattern(r"\s*\[\[\s*bindings\s*\]\]")
_Table = dict[str, object]


class Removal(Struct, frozen=True):
    """A configuration without an agent, and the removed parts, both as TOML."""

    text: str
    taken: str


def with_agent(text: str, agent: str, model: str | None = None) -> str:
    """Return *text* with a table for *agent* at its end; the implicit `main` becomes explicit.

    Raises ConfigError if a table cannot be added.
    """
    begin = f"{text.rstrip()}\n\n" if text.strip() else ""
    main = "" if "agents" in _parse(text) else "[agents.main]\n\n"
    setting = f"model = {json.dumps(model)}\n" if model is not None else ""
    added = f"{begin}{main}[{dotted(['agents', agent])}]\n{setting}"
    try:
        _parse(added)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"agents.{agent}: the agents of this file are one value, not tables; add it by hand") from exc
    return added


def without_agent(text: str, agent: str) -> Removal:
    """Return *text* without the tables of *agent* and the bindings that lead to it.

    Comments above and below them stay, those between their keys go. Raises ConfigError if they are not written as
    tables of their own.
    """
    wanted = _without_agent_table(_parse(text), agent)
    with suppress(tomllib.TOMLDecodeError):  # a value of several lines, one of which looks like a table header
        kept, taken = _split_at_agent(text.splitlines(keepends=True), agent)
        if _parse(kept) == wanted:
            return Removal(kept, taken)
    raise ConfigError(f"agents.{agent} is not a table of its own; remove it and its bindings from the file")


def _without_agent_table(table: _Table, agent: str) -> _Table:
    """Return the expected file."""
    wanted = dict(table)
    agents, bindings = wanted.get("agents"), wanted.pop("bindings", [])
    if isinstance(agents, dict):
        wanted["agents"] = {name: settings for name, settings in agents.items() if name != agent}
    left = [each for each in bindings if each.get("agent") != agent] if isinstance(bindings, list) else []
    return wanted | ({"bindings": left} if left else {})


def _split_at_agent(lines: Sequence[str], agent: str) -> tuple[str, str]:
    own = re.compile(rf"""\s*\[\s*agents\s*\.\s*(["']?){re.escape(agent)}\1\s*[].]""")
    kept: list[str] = []
    taken: list[str] = []
    for section in filter(None, split_tables(lines)):
        if own.match(section[0]) or (_BINDING.match(section[0]) and _leads_to(section, agent)):
            end = end_of_keys(section)
            taken += [*section[:end], *([] if section[end - 1].endswith("\n") else ["\n"])]
            kept += section[end:]
        else:
            kept += section
    return "".join(kept), "".join(taken)


def _leads_to(section: Sequence[str], agent: str) -> bool:
    (binding,) = tomllib.loads("".join(section))["bindings"]
    return bool(binding.get("agent") == agent)


def _parse(text: str) -> _Table:
    return tomllib.loads(text)
