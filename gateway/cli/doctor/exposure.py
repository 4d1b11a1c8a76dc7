"""Checks of `strandline doctor` for things that others could reach or read."""

import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gateway.control.finding import Finding, Level
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.config import Config, GroupSettings

_OTHERS, _WRITERS = 0o077, 0o022
_PEOPLE = ("guest", "group")
"""Sessions in which others than the owner write."""


def check_exposure(config: "Config", home: Home) -> Iterator[Finding]:
    """Report who else could read secrets, reach the gateway, or have tools run."""
    findings = [*_files(config, home), *_binds(config), *_groups(config), *_tools(config)]
    yield from findings
    if not findings:
        yield Finding("exposure", Level.OK, "secrets, addresses, groups and tools are open to nobody else")


def _files(config: "Config", home: Home) -> Iterator[Finding]:
    files = {source.file for source in config.secret_sources() if source.file is not None} | {home.secrets_file}
    for file in sorted(files):
        if file.is_file() and stat.S_IMODE(file.stat().st_mode) & _OTHERS:
            mend = f"run: chmod go= {file}, or strandline doctor --fix"
            yield Finding("exposure-secrets", Level.FAIL, f"others on this machine can read {file}", mend)
    for place in (home.config_file, home.path / "hooks", *sorted((home.path / "hooks").rglob("*"))):
        if place.exists() and not place.is_symlink() and stat.S_IMODE(place.stat().st_mode) & _WRITERS:
            detail = f"others on this machine can change {place}, which the gateway reads or runs"
            yield Finding("exposure-code", Level.FAIL, detail, f"run: chmod go-w {place}")


def _binds(config: "Config") -> Iterator[Finding]:
    if config.gateway.allow_remote:
        detail = f"the owner's commands are accepted at {config.gateway.host}, protected by their token alone"
        mend = "put TLS in front, or set gateway.allow_remote = false"
        yield Finding("exposure-address", Level.WARN, detail, mend)


def _groups(config: "Config") -> Iterator[Finding]:
    for account, bot in config.channels.bots():
        for chat, group in bot.groups.items():
            for detail, mend in _open_group(group):
                where = f"channels.{bot.channel}.{account}.groups.{chat}"
                yield Finding("exposure-group", Level.WARN, f"{where}: {detail}", mend)


def _open_group(group: "GroupSettings") -> Iterator[tuple[str, str]]:
    if group.bots and not group.people:
        mend = "set bots = false, or name people, by the ids that strandline route why shows"
        yield "every bot there is answered, at your cost", mend
    if group.may_end == "everyone":
        yield "everybody there may end its conversation", 'set may_end = "owner"'


def _tools(config: "Config") -> Iterator[Finding]:
    for name, server in config.mcp.items():
        audience = [each for each in _PEOPLE if each in server.sessions]
        if audience and server.tools is None:
            detail = f"mcp.{name}: all its tools are offered in sessions of others ({', '.join(audience)})"
            mend = f"name the tools that they may use in mcp.{name}.tools, or take them out of mcp.{name}.sessions"
            yield Finding("exposure-tools", Level.WARN, detail, mend)
