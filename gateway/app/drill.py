"""A drill: the newest backup is restored to a folder of its own, and asked about lines of its notes."""

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from gateway.app.replay import answered
from gateway.app.trial import RecordedClock, opened_copy
from gateway.backup.automatic import DRILL, BackupOutcome, newest_backup, record_outcome
from gateway.backup.encryption import decrypted
from gateway.backup.restoring import restore_backup
from gateway.backup.seal import KEY_NAME, read_key
from gateway.config import Config, owner_zone
from gateway.control.expected_errors import EXPECTED
from gateway.errors import BackupError
from gateway.home import Home


class DrillReport(Struct, frozen=True):
    backup: str
    made_at: datetime
    missed: tuple[str, ...]
    """Lines that did not come back."""
    asked: int

    def __str__(self) -> str:
        found = f"{self.asked - len(self.missed)} of {self.asked} lines of the notes come back"
        missed = f"; missing: {'; '.join(self.missed[:3])}" if self.missed else ""
        return f"{found} from {self.backup}, made at {self.made_at:%Y-%m-%d %H:%M}{missed}"


async def drill(home: Home, config: Config, environ: Mapping[str, str]) -> BackupOutcome:
    """Restore the newest backup beside *home*, ask it ten questions an agent, and record the outcome."""
    try:
        report = await _report(home, config, environ)
        outcome = BackupOutcome(datetime.now(UTC), not report.missed, str(report))
    except EXPECTED as exc:
        outcome = BackupOutcome(datetime.now(UTC), False, str(exc))
    record_outcome(home, DRILL, outcome)
    return outcome


async def _report(home: Home, config: Config, environ: Mapping[str, str]) -> DrillReport:
    file = newest_backup(home, config.backup, datetime.now(UTC))
    if file is None:
        raise BackupError("there is no backup to restore; make one: strandline backup --encrypt")
    scratch, answers = home.control_file.parent / "drill", dict[str, bool]()
    shutil.rmtree(scratch, ignore_errors=True)  # left by a killed one
    try:
        made_at = _restored(file, home, scratch, environ).astimezone(owner_zone(config.owner.time_zone, environ).zone)
        async with opened_copy(Home(scratch), environ, RecordedClock()) as app:
            for agent in app.parts.resources.agents.values():
                await agent.memory.sync()
                answers |= {line: found == ("found",) for line, found in (await answered(agent)).items()}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    missed = tuple(line for line, is_found in answers.items() if not is_found)
    return DrillReport(file.name, made_at, missed, len(answers))


def _restored(file: Path, home: Home, scratch: Path, environ: Mapping[str, str]) -> datetime:
    """Restore *file* to *scratch* and return when it was made."""
    with decrypted(file, read_key(home.path / KEY_NAME), home.control_file.parent) as plain:
        restored = restore_backup(plain, Home(scratch), environ, lambda _done, _total: None)
    return datetime.fromisoformat(restored.made_at)
