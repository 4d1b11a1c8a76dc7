"""The settings of a running gateway: read again when their files change, and checked before anything is stopped."""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from gateway.cli.invocation import config_of
from gateway.control.settings_wire import SettingsReport
from gateway.errors import ConfigError
from gateway.home import Home
from gateway.runtime.clock import SystemClock, pause

if TYPE_CHECKING:
    from gateway.config import Config

LOOK_EVERY_S = 0.5
"""Seconds between two looks at the files; our choice."""
AT_START = ("gateway", "traces", "redis")
"""Tables that are read once, at the start."""


class LiveSettings(Struct, frozen=True):
    """The settings of one run."""

    config: "Config"
    environ: Mapping[str, str]
    """The environment, with the home's own secrets."""
    secrets: tuple[str, ...]
    """Those of the home, in use or not."""
    digest: str


def settings_digest(home: Home) -> str:
    """Return a digest of the files that hold the settings of *home*."""
    found = hashlib.blake2b(digest_size=16)
    for file in (home.config_file, home.secrets_file):
        try:
            content = file.read_bytes()
        except OSError:
            content = b""
        found.update(len(content).to_bytes(8) + content)
    return found.hexdigest()


def read_settings(home: Home, environ: Mapping[str, str]) -> LiveSettings:
    """Return the settings in the files of *home*. Raises ConfigError."""
    from gateway.settings.secrets_file import read_secrets

    digest = settings_digest(home)  # first: a change while they are read is seen at the next look
    secrets = read_secrets(home.secrets_file)
    return LiveSettings(config_of(home), {**environ, **secrets}, tuple(secrets.values()), digest)


def restart_keys(running: "Config", fresh: "Config") -> Iterator[str]:
    """Yield the keys of *fresh* that differ from those *running* and take effect at the next start only."""
    yield from (name for name in AT_START if getattr(running, name) != getattr(fresh, name))
    for agent in dict.fromkeys([*running.agents, *fresh.agents]):
        before, after = running.agents.get(agent), fresh.agents.get(agent)
        if before is None or after is None:
            yield f"agents.{agent}"
        elif before.workspace != after.workspace:
            yield f"agents.{agent}.workspace"


def live_part(running: "Config", fresh: "Config") -> "Config | None":
    """Return *fresh* with the tables of *running* that are read at the start; `None` if its agents are others."""
    if any(key.startswith("agents.") for key in restart_keys(running, fresh)):
        return None
    return fresh.model_copy(update={name: getattr(running, name) for name in AT_START})


class SettingsWatch:
    """Looks at the files of a home while its gateway runs."""

    def __init__(self, home: Home, environ: Mapping[str, str], first: LiveSettings) -> None:
        self._home = home
        self._environ = environ
        self.running = first
        self.earlier = first
        self._report = SettingsReport(first.digest, first.digest)

    def report(self) -> SettingsReport:
        """Return the state of the settings."""
        return self._report

    async def changed(self) -> LiveSettings:
        """Return the settings of the next run, once the files hold others that can be used."""
        while True:
            await pause(SystemClock(), LOOK_EVERY_S)
            if await asyncio.to_thread(settings_digest, self._home) == self._report.seen:
                continue
            if (fresh := await self._read()) is not None:
                return fresh

    def use(self, settings: LiveSettings) -> None:
        """Run with *settings* from now on."""
        self.earlier, self.running = self.running, settings
        self._report = structs.replace(self._report, seen=settings.digest, fault="")

    def begun(self, settings: LiveSettings) -> None:
        """Note that a run with *settings* has begun."""
        self._report = structs.replace(self._report, digest=settings.digest)

    def go_back(self, fault: str) -> LiveSettings:
        """Return the settings of the run before: the present ones cannot be used because of *fault*."""
        self._tell("the changed settings cannot be used; the earlier ones stay in force", fault)
        self._report = structs.replace(self._report, fault=fault, restart=())
        self.running = self.earlier
        return self.running

    def _tell(self, what: str, detail: str) -> None:
        import structlog

        structlog.get_logger().error(what, detail=detail)

    async def _read(self) -> LiveSettings | None:
        try:
            fresh = await asyncio.to_thread(read_settings, self._home, self._environ)
        except ConfigError as exc:
            seen = await asyncio.to_thread(settings_digest, self._home)
            self._report = structs.replace(self._report, seen=seen, fault=str(exc), restart=())
            self._tell("the changed settings cannot be used; the earlier ones stay in force", str(exc))
            return None
        waiting = tuple(restart_keys(self.running.config, fresh.config))
        self._report = structs.replace(self._report, restart=waiting, fault="")
        config = live_part(self.running.config, fresh.config)
        if config is None:
            why = f"takes effect at the next start, with all other changes: {', '.join(waiting)}"
            self._report = structs.replace(self._report, seen=fresh.digest, fault=why)
            self._tell("the changed settings are not taken up", self._report.fault)
            return None
        return structs.replace(fresh, config=config)
