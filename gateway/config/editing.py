"""This file changes the configuration's text: agents come and go; comments, order and everything else stay.

It works on lines: tomlkit was tried, and it puts tables that stand out of order together, and takes the comments below
a table away with it. What comes out is read back as TOML and compared with what was meant.
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
    """A configuration without an agent, and what was taken out of it, both as TOML."""

    text: str
    taken: str


def with_agent(text: str, agent: str, model: str | None = None) -> str:
    """Return *text* with a table for *agent* at its end; `main`, which is there as long as none is named, is named too.

    Raises ConfigError where a table cannot be added.
    """
    begin = f"{text.rstrip()}\n\n" if text.strip() else ""
    main = "" if "agents" in _parsed(text) else "[agents.main]\n\n"
    setting = f"model = {json.dumps(model)}\n" if model is not None else ""
    name = agent if _BARE.fullmatch(agent) else json.dumps(agent)
    added = f"{begin}{main}[agents.{name}]\n{setting}"
    try:
        _parsed(added)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"agents.{agent}: the agents of this file are one value, not tables; add it by hand") from exc
    return added


def without_agent(text: str, agent: str) -> Removal:
    """Return *text* without the tables of *agent* and the bindings that lead to it.

    Comments above and below them stay, those between their keys go. Raises ConfigError for a file in which they are not
    written as tables of their own.
    """
    wanted = _without(_parsed(text), agent)
    with suppress(tomllib.TOMLDecodeError):  # a value of several lines, one of which looks like a table's beginning
        kept, taken = _parted(text.splitlines(keepends=True), agent)
        if _parsed(kept) == wanted:
            return Removal(kept, taken)
    raise ConfigError(f"agents.{agent} is not a table of its own; take it out of the file, and its bindings")


def without_workspace(text: str, agent: str) -> str:
    """Return *text* with the line that puts the workspace of *agent* somewhere made a comment.

    Raises ConfigError for a file in which it is not a line of the agent's own table.
    """
    lines: list[str] = []
    for section in _sections(text.splitlines(keepends=True)):
        header = _AGENT.match(section[0])
        is_own = header is not None and header[2] == agent
        lines += [f"# {line}" if is_own and _WORKSPACE.match(line) else line for line in section]
    with suppress(tomllib.TOMLDecodeError):
        if _parsed("".join(lines)) == _in_home(_parsed(text), agent):
            return "".join(lines)
    raise ConfigError(f"agents.{agent}.workspace leads out of the home, and is not a line of its own to take out")


def _in_home(table: _Table, agent: str) -> _Table:
    """Return what the file shall say once a workspace is where the home has it."""
    agents = table.get("agents")
    if not isinstance(agents, dict) or not isinstance(settings := agents.get(agent), dict):
        return table
    own = {name: value for name, value in settings.items() if name != "workspace"}
    return table | {"agents": agents | {agent: own}}


def _without(table: _Table, agent: str) -> _Table:
    """Return what the file shall say."""
    wanted = dict(table)
    agents, bindings = wanted.get("agents"), wanted.pop("bindings", [])
    if isinstance(agents, dict):
        wanted["agents"] = {name: settings for name, settings in agents.items() if name != agent}
    left = [each for each in bindings if each.get("agent") != agent] if isinstance(bindings, list) else []
    return wanted | ({"bindings": left} if left else {})


def _parted(lines: Sequence[str], agent: str) -> tuple[str, str]:
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
    """Give what comes before the first table's header, then each table from its header on."""
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
    """Return how many lines of a table are its own: what follows its last key belongs to what comes next."""
    return max(number for number, line in enumerate(section, 1) if line.strip() and not line.lstrip().startswith("#"))


def _parsed(text: str) -> _Table:
    return tomllib.loads(text)
