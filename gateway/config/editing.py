"""Edits the configuration's text: adds and removes agents, and preserves comments, order and everything else.

It works on lines: tomlkit was tried, but it joins tables that are out of order, and removes the comments below a table
along with it. The result is parsed as TOML and compared with the intended one.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gateway.errors import ConfigError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A key that needs no quotation marks."""
_HEADER = re.compile(r"\s*\[")
_BINDING = re.compile(r"\s*\[\[\s*bindings\s*\]\]")
_AGENT = re.compile(r"""\s*\[\s*agents\s*\.\s*(["']?)([a-z0-9-]+)\1\s*\]""")
_WORKSPACE = re.compile(r"""\s*(["']?)workspace\1\s*=""")
_Table = dict[str, object]


@dataclass(frozen=True, slots=True)
class Removal:
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
    name = agent if _BARE.fullmatch(agent) else json.dumps(agent)
    added = f"{begin}{main}[agents.{name}]\n{setting}"
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


def without_workspace(text: str, agent: str) -> str:
    """Return *text* with the line that sets the workspace of *agent* commented out.

    Raises ConfigError if it is not a line of the agent's own table.
    """
    lines: list[str] = []
    for section in _sections(text.splitlines(keepends=True)):
        header = _AGENT.match(section[0])
        is_own = header is not None and header[2] == agent
        lines += [f"# {line}" if is_own and _WORKSPACE.match(line) else line for line in section]
    with suppress(tomllib.TOMLDecodeError):
        if _parse("".join(lines)) == _with_default_workspace(_parse(text), agent):
            return "".join(lines)
    raise ConfigError(f"agents.{agent}.workspace leads out of the home, and is not a line of its own to take out")


def _with_default_workspace(table: _Table, agent: str) -> _Table:
    """Return the expected file with the workspace at its default place in the home."""
    agents = table.get("agents")
    if not isinstance(agents, dict) or not isinstance(settings := agents.get(agent), dict):
        return table
    own = {name: value for name, value in settings.items() if name != "workspace"}
    return table | {"agents": agents | {agent: own}}


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
    for section in _sections(lines):
        if own.match(section[0]) or (_BINDING.match(section[0]) and _leads_to(section, agent)):
            end = _end_of_keys(section)
            taken += [*section[:end], *([] if section[end - 1].endswith("\n") else ["\n"])]
            kept += section[end:]
        else:
            kept += section
    return "".join(kept), "".join(taken)


def _sections(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the lines before the first table's header, then each table from its header on."""
    section: list[str] = []
    for line in lines:
        if _HEADER.match(line) and section:
            yield section
            section = []
        section.append(line)
    if section:
        yield section


def _leads_to(section: Sequence[str], agent: str) -> bool:
    (binding,) = tomllib.loads("".join(section))["bindings"]
    return bool(binding.get("agent") == agent)


def _end_of_keys(section: Sequence[str]) -> int:
    """Return the number of lines that belong to a table; lines after its last key belong to the next one."""
    return max(number for number, line in enumerate(section, 1) if line.strip() and not line.lstrip().startswith("#"))


def _parse(text: str) -> _Table:
    return tomllib.loads(text)
