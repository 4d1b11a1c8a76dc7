"""The gateway's own schedule of backups and restores on trial, each in a process of its own."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from gateway.app.open_home import OpenHome
from gateway.backup.automatic import BACKUP, DRILL, backup_troubles, due, outcomes
from gateway.errors import StoreError
from gateway.runtime.clock import pause

log = structlog.get_logger()

LOOK_EVERY_S = 900.0
_WORDS = {BACKUP: ("backup", "--automatic"), DRILL: ("doctor", "--drill")}


@dataclass(frozen=True, slots=True)
class AutomaticBackups:
    """Makes them when they are due; the owner is told of one that failed, once a day."""

    home: OpenHome
    environ: Mapping[str, str]
    note: Callable[[tuple[str, ...]], None]
    """Called with the latest failures, for the status."""

    async def work(self) -> None:
        """Look every quarter of an hour; runs until cancelled."""
        home, settings = self.home.files, self.home.config.backup
        while True:
            for kind in await asyncio.to_thread(lambda: list(due(home, settings, self.home.clock.now()))):
                await self._make(kind)
            self.note(await asyncio.to_thread(backup_troubles, home, self.home.zone.zone))
            await pause(self.home.clock, LOOK_EVERY_S)

    async def _make(self, kind: str) -> None:
        place = str(self.home.files.path)
        words = [sys.executable, "-P", "-m", "gateway", *_WORDS[kind], "--home", place]
        quiet = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*words, env=dict(self.environ), stdout=quiet, stderr=quiet)
        try:
            await process.wait()
        except asyncio.CancelledError:
            process.terminate()
            raise
        outcome = (await asyncio.to_thread(outcomes, self.home.files)).get(kind)
        if process.returncode == 0 or outcome is None:
            log.info("backups looked after", kind=kind, status=process.returncode)
            return
        log.error("backups failed", kind=kind, detail=outcome.said)
        try:
            said = f"The automatic {kind} failed: {outcome.said} `strandline doctor` tells when it works again."
            await self.home.notices.tell(f"{kind}:{self.home.now().date()}", said)
        except StoreError as exc:
            log.error("owner not told of a failed backup", detail=str(exc))
