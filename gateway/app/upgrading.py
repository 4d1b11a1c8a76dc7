"""Upgrade of a home: another version opens a copy of it first, replays its last turns, and both are compared."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock, Timeout
from msgspec import Struct

from gateway.app.replay import ANSWERS, MEMORIES, RECEIPTS, REQUESTS
from gateway.backup.comparison import Difference, differences
from gateway.backup.inventory import Figures, Lines, inventory
from gateway.backup.parts import parts_of
from gateway.backup.restoring import restore_backup
from gateway.backup.taking import BackupResult, take_backup
from gateway.config import Config, read_config
from gateway.control.order import Progress
from gateway.errors import BackupError
from gateway.home import FOLDER_MODE, Home
from gateway.stores.disk import disk_trouble
from gateway.stores.sqlite.schema import VERSION, stored_format
from workspaces.lazy_pattern import lazy_pattern

OPEN, REPLAY = "open", "replay"
"""Steps that a version is asked for, each in a process of its own."""
_COPIES = 3
"""Times the size of the home that a trial needs: the backup, and two copies. Our choice."""
BACKUPS_KEPT = 3
"""Of the backups made before trials: the newest. Our choice."""
REPLAYED = {REQUESTS, MEMORIES, RECEIPTS, ANSWERS}
"""Topics that two versions may well treat differently; in all others a difference is a loss, or a fault."""
_EMBEDDINGS = "texts.db"
_VERSION = lazy_pattern(r"strandline (\S{1,50})")
_BACKUP = lazy_pattern(r"before-.+-(\d{8}T\d{12}Z)\.tar\.gz")


class Installation(Struct, frozen=True):
    """An installed version of Strandline."""

    python: Path
    version: str
    installed_at: float = 0.0
    """POSIX time; 0.0 if it is unknown."""

    def __str__(self) -> str:
        return f"{self.version} of {self.python}"

    def is_later(self, other: "Installation") -> bool:
        """Return whether it is the newer one; of equal versions, such as two checkouts, the one installed later is."""
        if is_newer(self.version, other.version) or is_newer(other.version, self.version):
            return is_newer(self.version, other.version)
        return 0 < other.installed_at < self.installed_at

    def run(self, copy: Home, step: str, environ: Mapping[str, str]) -> "tuple[Figures, str]":
        """Have it open, or replay, *copy*; return its figures, or the last line of its complaint."""
        words = [str(self.python), "-P", "-m", "gateway", "upgrade", "--step", step, "--home", str(copy.path)]
        done = subprocess.run(words, env=dict(environ), capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode == 0:
            return (json.loads(done.stdout) if step == REPLAY else {}), ""
        lines = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        if "No such command" in lines[-1]:
            return {}, f"{self} has no `upgrade` yet; leave --python out"
        return {}, lines[-1].removeprefix("strandline: ")


class UpgradeTrial(Struct, frozen=True):
    """The outcome of a trial on a copy."""

    backup: BackupResult
    counts: Mapping[str, int]
    """Compared lines, by topic."""
    turns: int
    differences: tuple[Difference, ...]


def installation(python: Path | None, environ: Mapping[str, str]) -> Installation:
    """Return the version of *python*'s environment, or this one. Raises BackupError if there is none."""
    if python is None:
        here = Path(sys.executable)
        return Installation(here, version("strandline"), _installed_at(here))
    words = [str(python), "-P", "-m", "gateway", "--version"]
    try:
        told = subprocess.run(words, env=dict(environ), capture_output=True, text=True, check=False).stdout  # noqa: S603
    except OSError as exc:
        raise BackupError(f"{python} cannot be started ({exc.strerror}); name the python of an environment") from exc
    if (found := _VERSION.search(told)) is None:
        raise BackupError(f"{python} has no Strandline; install it there first, or name another environment")
    return Installation(python, found[1], _installed_at(python))


def _installed_at(python: Path) -> float:
    found = python.absolute().parent.parent.glob("lib/python*/site-packages/strandline-*.dist-info")
    return max((each.stat().st_mtime for each in found), default=0.0)


def is_newer(one: str, other: str) -> bool:
    """Return whether version *one* is newer than *other*; the part after its numbers does not count."""
    first, second = ([int(each) for each in re.findall(r"\d{1,9}", text)[:3]] for text in (one, other))
    return first > second


def refuse_newer(home: Home, program: Installation) -> None:
    """Raise BackupError for a home that a newer version used last: its remedy is that version."""
    is_here = program.version == version("strandline")
    if is_newer(home.last_version, program.version) or (is_here and stored_format(home.state_db) > VERSION):
        used = f"Strandline {home.last_version}" if home.last_version else "a newer version"
        raise BackupError(
            f"{home.path} was last used by {used}, and this is {program.version}, which is older: install that version "
            "again, or restore a backup made by this one into an empty home"
        )


def try_on_copy(
    home: Home,
    environ: Mapping[str, str],
    new: Installation,
    old: Installation | None,
    target: Path,
    progress: Progress = lambda _done, _total: None,
) -> UpgradeTrial:
    """Back *home* up to *target*, have *new* open a copy of it, and compare; with *old*, replay the turns with both.

    Raises BackupError, StoreError and ConfigError; nothing of the home is changed.
    """
    config, steps = read_config(home.config_file), 4 if old is None else 5
    with _scratch(home, config) as scratch:
        progress(0, steps)
        _make_folder(target.parent)
        backup = take_backup(home, config, target, lambda _done, _total: None)
        remove_old_backups(target.parent)
        progress(1, steps)
        copied = partial(_copied, home, config, target, environ)
        copy = copied(scratch / "new")
        before: dict[str, Mapping[str, Lines]] = dict(inventory(copy, read_config(copy.config_file)))
        progress(2, steps)
        _, fault = new.run(copy, OPEN, environ)
        if fault:
            return UpgradeTrial(backup, {}, 0, (Difference("the new version", "opening the copy", fault),))
        after: dict[str, Mapping[str, Lines]] = dict(inventory(copy, read_config(copy.config_file)))
        progress(3, steps)
        replayed, fault = new.run(copy, REPLAY, environ)
        found = [Difference("the new version", "replaying the last turns", fault)] if fault else []
        if old is not None and not fault:
            progress(4, steps)
            earlier, complaint = old.run(copied(scratch / "old"), REPLAY, environ)
            found += [Difference("the earlier version", "replaying the last turns", complaint)] if complaint else []
            before |= earlier
        progress(steps, steps)
        after |= replayed
        return _compared(backup, before, after, found)


def _compared(backup: BackupResult, before: Figures, after: Figures, found: Sequence[Difference]) -> UpgradeTrial:
    others = {topic: lines for topic, lines in before.items() if topic != ANSWERS}
    unfound = _unfound(before[ANSWERS], after[ANSWERS]) if ANSWERS in before and ANSWERS in after else []
    counts = {topic: sum(map(len, before[topic].values())) for topic in before if topic in after}
    return UpgradeTrial(backup, counts, len(after.get(RECEIPTS, ())), (*found, *differences(others, after), *unfound))


def _unfound(before: Mapping[str, Lines], after: Mapping[str, Lines]) -> list[Difference]:
    """Return the statements that only the newer version does not find; each version chooses its own ten."""
    missed = (
        each for each, (answer, *_) in after.items() if answer != "found" and list(before.get(each, ())) != [answer]
    )
    return [Difference(ANSWERS, each, "the new version does not find it") for each in missed]


def remove_old_backups(folder: Path) -> None:
    """Remove all backups made before trials but the newest; others' files are left alone. Raises OSError."""
    dated = ((found[1], file) for file in folder.iterdir() if (found := _BACKUP.fullmatch(file.name)))
    for _, file in sorted(dated)[:-BACKUPS_KEPT]:
        file.unlink()


def switch(home: Home, new: Installation, environ: Mapping[str, str]) -> None:
    """Have *new* open *home* itself, which migrates its state, wholly or not at all. Raises BackupError."""
    _, fault = new.run(home, OPEN, environ)
    if fault:
        raise BackupError(f"Strandline {new.version} did not open the home, which is as it was: {fault}")


def backup_name(new: Installation) -> str:
    """Return the file name of the backup made before a trial of *new*."""
    return f"before-{new.version}-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.tar.gz"


@contextmanager
def _scratch(home: Home, config: Config) -> Iterator[Path]:
    """Yield an empty folder, and remove it; what a killed trial left is removed first."""
    scratch = home.control_file.parent / "upgrade"
    try:
        scratch.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
        with FileLock(scratch.with_name("upgrade.lock"), mode=0o600, blocking=False):
            shutil.rmtree(scratch, ignore_errors=True)
            _refuse_unless_it_fits(home, config)
            scratch.mkdir(mode=FOLDER_MODE)
            try:
                yield scratch
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    except Timeout as exc:
        raise BackupError(f"another upgrade of {home.path} is in progress; wait until it is done") from exc
    except OSError as exc:
        raise disk_trouble(home.path, exc, is_retried=False) from exc


def _refuse_unless_it_fits(home: Home, config: Config) -> None:
    files = [path for part in parts_of(home, config) for _, path in part.files() if path.is_file()]
    files += [path for path in (home.state_db, *home.agents.glob("*/sessions/**/*.jsonl")) if path.is_file()]
    needed, free = _COPIES * sum(path.stat().st_size for path in files), shutil.disk_usage(home.path).free
    if needed > free:
        raise BackupError(
            f"a trial needs about {needed:,} bytes at {home.path} for a backup and copies, and {free:,} are free: free "
            "some space; nothing was changed"
        )


def _copied(home: Home, config: Config, backup: Path, environ: Mapping[str, str], place: Path) -> Home:
    """Return a copy of *home*, restored from its *backup*, with the embeddings of its texts."""
    copy = Home(place)
    restore_backup(backup, copy, environ, lambda _done, _total: None)
    for agent in config.agents:
        _take_embeddings(home.agent(agent).index, copy.agent(agent).index)
    return copy


def _take_embeddings(index: Path, folder: Path) -> None:
    """Copy the texts' embeddings: no text is embedded or paid for twice."""
    folder.mkdir(mode=FOLDER_MODE, parents=True)
    if (index / _EMBEDDINGS).exists():
        with (
            closing(sqlite3.connect(index / _EMBEDDINGS)) as known,
            closing(sqlite3.connect(folder / _EMBEDDINGS)) as copy,
        ):
            known.backup(copy)


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
