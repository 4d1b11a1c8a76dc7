"""Backups that the gateway makes by itself: their names, which of them are kept, and the outcome of the latest."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from msgspec import Struct, structs

from gateway.backup.encryption import ENDING
from gateway.backup.taking import BackupResult, take_encrypted
from gateway.config import BackupSettings, Config
from gateway.home import FOLDER_MODE, Home
from gateway.runtime.clock import is_ahead
from gateway.stores.disk import disk_trouble

_NAME = "auto-%Y%m%dT%H%M%SZ.tar.gz" + ENDING
BACKUP, DRILL = "backup", "drill"


class BackupOutcome(Struct, frozen=True):
    """The outcome of the latest automatic backup, or of the latest restore on trial."""

    at: datetime
    is_good: bool
    said: str


def folder_of(home: Home, settings: BackupSettings) -> Path:
    return settings.folder or home.backups


def take_automatic(home: Home, config: Config, now: datetime) -> BackupResult:
    """Make an encrypted backup, and remove those that are not kept any longer. Raises what `take_backup` raises."""
    folder = folder_of(home, config.backup)
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        taken = take_encrypted(home, config, folder / f"{now.astimezone(UTC):{_NAME}}", lambda _done, _total: None)
        for file in expired(folder.glob(f"auto-*{ENDING}"), config.backup, now):
            file.unlink()
    except OSError as exc:
        raise disk_trouble(folder, exc) from exc
    return taken


def expired(files: Iterable[Path], settings: BackupSettings, now: datetime) -> list[Path]:
    """Return those of the automatic backups that are not kept: the newest of a day, week or month is.

    One of a date to come, by a clock that was ahead, is left alone, and takes no other's place.
    """
    found = ((at, file) for file in files if (at := _made_at(file)) and not is_ahead(at, now))
    dated = sorted(found, reverse=True)
    kept: set[Path] = set()
    for form, most in (("%Y%j", settings.keep_days), ("%G%V", settings.keep_weeks), ("%Y%m", settings.keep_months)):
        newest: dict[str, Path] = {}
        for at, file in dated:
            newest.setdefault(f"{at:{form}}", file)
        kept |= set(list(newest.values())[:most])
    return [file for _, file in dated if file not in kept]


def newest_backup(home: Home, settings: BackupSettings, now: datetime) -> Path | None:
    """Return the newest backup in the folder of backups, however it was made; one of a date to come counts least."""
    files = [*folder_of(home, settings).glob("*.tar.gz"), *folder_of(home, settings).glob(f"*.tar.gz{ENDING}")]
    made_at = {file: datetime.fromtimestamp(file.stat().st_mtime, UTC) for file in files}
    return max(files, key=lambda file: (not is_ahead(made_at[file], now), made_at[file]), default=None)


def outcomes(home: Home) -> dict[str, BackupOutcome]:
    """Return the latest outcomes, by `BACKUP` and `DRILL`; none that cannot be read."""
    try:
        known = json.loads(home.backups_file.read_text("utf-8"))
        return {
            kind: BackupOutcome(datetime.fromisoformat(each["at"]), bool(each["is_good"]), str(each["said"]))
            for kind, each in known.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def record_outcome(home: Home, kind: str, outcome: BackupOutcome) -> None:
    """Keep the latest *outcome* of *kind*. Raises OSError."""
    known = {name: structs.asdict(each) for name, each in (outcomes(home) | {kind: outcome}).items()}
    home.write(home.backups_file, json.dumps(known, default=str, ensure_ascii=False))


def due(home: Home, settings: BackupSettings, now: datetime) -> Iterator[str]:
    """Yield what is to be done now: a backup, or a restore on trial of the newest one."""
    known = outcomes(home)
    every = {BACKUP: timedelta(hours=settings.every_hours), DRILL: timedelta(days=settings.drill_days)}
    for kind, interval in every.items():
        is_due = kind not in known or is_ahead(known[kind].at, now) or now - known[kind].at >= interval
        if interval and is_due and (kind == BACKUP or newest_backup(home, settings, now) is not None):
            yield kind


def backup_troubles(home: Home, zone: tzinfo) -> tuple[str, ...]:
    """Return in one sentence each what failed last; *zone* is the owner's."""
    return tuple(
        f"the latest {kind} of {each.at.astimezone(zone):%Y-%m-%d %H:%M} failed: {each.said}"
        for kind, each in outcomes(home).items()
        if not each.is_good
    )


def _made_at(file: Path) -> datetime | None:
    try:
        return datetime.strptime(file.name, _NAME).replace(tzinfo=UTC)
    except ValueError:
        return None
