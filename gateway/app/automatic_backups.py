"""The gateway's own schedule of backups and restores on trial, each in a process of its own."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

import structlog
from msgspec import Struct

from gateway.app.open_home import OpenHome
from gateway.backup.automatic import BACKUP, DRILL, BackupOutcome, backup_troubles, due, outcomes, record_outcome
from gateway.errors import StoreError
from gateway.runtime.clock import pause

log = structlog.get_logger()

LOOK_EVERY_S = 900.0
_WORDS = {BACKUP: ("backup", "--automatic"), DRILL: ("doctor", "--drill")}


class AutomaticBackups(Struct, frozen=True):
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
        if process.returncode == 0:
            log.info("backups looked after", kind=kind)
            return
        why = await asyncio.to_thread(self._why, kind, process.returncode)
        log.error("backups failed", kind=kind, detail=why)
        try:
            said = f"The automatic {kind} failed: {why} `strandline doctor` tells when it works again."
            await self.home.notices.tell(f"{kind}:{self.home.now().date()}", said)
        except StoreError as exc:
            log.error("owner not told of a failed backup", detail=str(exc))

    def _why(self, kind: str, status: int | None) -> str:
        """Return the reason that the process recorded; record that it ended with *status* if it could not."""
        home, known = self.home.files, outcomes(self.home.files).get(kind)
        if known is not None and not known.is_good:
            return known.said
        told = f"its process ended with status {status}; `strandline {' '.join(_WORDS[kind])}` says more."
        with suppress(OSError):
            record_outcome(home, kind, BackupOutcome(self.home.clock.now(), is_good=False, said=told))
        return told
