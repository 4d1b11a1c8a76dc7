"""`strandline backup`, `verify` and `restore`: saves a gateway's whole state to one file and restores it."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.call import JsonCall
from gateway.cli.invocation import config_of, plain_fields, print_json
from gateway.cli.progress import progress_bar
from gateway.errors import BackupError, ConfigError, StrandlineError
from gateway.home import FOLDER_MODE, Home
from gateway.runtime.escape import visible
from workspaces.errors import WorkspaceError

if TYPE_CHECKING:
    from gateway.backup.plan import RestoreLosses, RestorePlan
    from gateway.backup.restoring import RestoreException
    from gateway.config import Config

SEALS = {
    "valid": "sealed with the key of this home",
    "other": "NOT sealed with the key of this home: another home made it, or somebody changed it",
    "absent": "without a seal: an older version made it, or somebody else; changes cannot be detected",
    "no_key": "its seal cannot be checked, because the home has no backup.key: the file may have been changed",
}
"""Description of a seal by its state."""
_SHOWN = 10

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Path of the backup, such as strandline.tar.gz.")]
KeyOption = Annotated[
    bool, typer.Option("--key", help="Ask for the key on the recovery sheet, which opens an encrypted backup.")
]
YesOption = Annotated[bool, typer.Option("--yes", help="Restore without a prompt.")]
AllowOption = Annotated[
    list[str],
    typer.Option(
        metavar="WHAT",
        help="Accept a risk. outside: write workspaces outside of the home, if configured so. unsealed: it lacks "
        "the seal of this home. large: it unpacks to more than 100 GB, or to 300 times its size.",
    ),
]


def backup(
    call: JsonCall,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Path of the backup. Default: a new file in backup.folder.")
    ] = None,
    encrypt: Annotated[
        bool, typer.Option("--encrypt", help="Encrypt it with the key of the home, which the recovery sheet has.")
    ] = False,
    sheet: Annotated[
        bool, typer.Option("--sheet", help="Print the recovery sheet instead: the key, and how to restore with it.")
    ] = False,
    automatic: Annotated[bool, typer.Option("--automatic", hidden=True)] = False,
) -> None:
    """Back up the gateway's whole state to one file. Works while it runs; secrets and the index are left out."""
    from gateway.backup.automatic import folder_of
    from gateway.backup.taking import take_backup, take_encrypted

    place = call.existing_home
    config = config_of(place)
    call.invocation.guard(config, place)
    if sheet:
        _print_sheet(place, folder_of(place, config.backup))
        return
    if automatic:
        _back_up_unasked(place, config)
        return
    ending = ".tar.gz.enc" if encrypt else ".tar.gz"
    target = file or folder_of(place, config.backup) / f"backup-{datetime.now(UTC):%Y%m%dT%H%M%SZ}{ending}"
    if file is None:
        target.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    with progress_bar("Backing up", in_bytes=True) as progress:
        taken = (take_encrypted if encrypt else take_backup)(place, config, target.expanduser().absolute(), progress)
    if call.as_json:
        print_json(plain_fields(taken))
        return
    only = "encrypted" if encrypt else "readable only by you"
    print(f"{taken.file}: {taken.files:,} files of {', '.join(taken.agents)}, {taken.bytes:,} bytes, {only}")
    if taken.elsewhere:
        print(f"Not included is the data on other servers; back it up there: {', '.join(taken.elsewhere)}")
    if taken.left_out:
        print(f"Not included are the secrets; keep them elsewhere: {', '.join(taken.left_out)}")


def _print_sheet(home: Home, folder: Path) -> None:
    from gateway.backup.recovery_sheet import recovery_sheet
    from gateway.backup.seal import key_of

    print(recovery_sheet(key_of(home), str(home.path), str(folder), f"{datetime.now(UTC):%Y-%m-%d}"))


def _back_up_unasked(home: Home, config: "Config") -> None:
    from gateway.backup.automatic import BACKUP, BackupOutcome, record_outcome, take_automatic

    now = datetime.now(UTC)
    try:
        taken = take_automatic(home, config, now)
    except (StrandlineError, WorkspaceError) as exc:
        record_outcome(home, BACKUP, BackupOutcome(now, is_good=False, said=str(exc)))
        raise
    record_outcome(home, BACKUP, BackupOutcome(now, is_good=True, said=str(taken.file)))


def verify(
    call: JsonCall,
    file: FileArgument,
    allow: AllowOption = [],  # noqa: B006  # typer makes a new one each time
    key: KeyOption = False,
) -> None:
    """Check a backup to its last byte and preview its restore. Shows the files, code and losses; writes nothing."""
    from gateway.backup.plan import losses_of
    from gateway.backup.restoring import examine_restore

    place, backup = call.home, file.expanduser().absolute()
    with progress_bar("Checking", in_bytes=True) as progress, _readable(backup, place, key) as plain:
        plan = examine_restore(plain, place, _parse_exceptions(allow), progress)
    losses = losses_of(place, plan.contents)
    call.print(plan_as_json(plan, losses), plan_lines(plan, losses, backup, place))


def restore(
    call: JsonCall,
    file: FileArgument,
    yes: YesOption = False,
    allow: AllowOption = [],  # noqa: B006  # typer makes a new one each time
    key: KeyOption = False,
) -> None:
    """Preview a backup; with --yes, restore it to an empty home. Its code stays disabled."""
    from gateway.backup.plan import losses_of
    from gateway.backup.restoring import examine_restore, restore_backup
    from gateway.config import read_config
    from gateway.settings.secrets import secret_gaps

    invocation = call.invocation
    place, backup = call.home, file.expanduser().absolute()
    allowed = _parse_exceptions(allow)
    with _readable(backup, place, key) as plain:
        if not yes:
            plan = examine_restore(plain, place, allowed, lambda _done, _total: None)
            for line in plan_lines(plan, losses_of(place, plan.contents), backup, place):
                print(visible(line), file=sys.stderr)
            _ask()
        with progress_bar("Restoring", in_bytes=True) as progress:
            restored = restore_backup(plain, place, invocation.environ_of(place), progress, allowed)
    if call.as_json:
        print_json(plain_fields(restored))
        return
    print(f"{restored.home}: {restored.files:,} files, as of {_here(restored.made_at)}; {SEALS[restored.seal]}")
    for gap in secret_gaps(read_config(place.config_file).secret_sources(), invocation.environ_of(place)):
        print(f"Its secret is still missing here: {gap}")
    if restored.disabled:
        print(f"Disabled until you run {invocation.command('hooks enable', place)}: {', '.join(restored.disabled)}")
    print(f"Next: {invocation.command('up', place)}   (the index is rebuilt from the files)")


@contextmanager
def _readable(file: Path, home: Home, is_typed: bool) -> Iterator[Path]:
    """Yield *file*, decrypted if necessary; a key that *is_typed* from the sheet becomes that of an empty home."""
    from gateway.backup.encryption import decrypted
    from gateway.backup.recovery_sheet import key_on_sheet
    from gateway.backup.seal import KEY_NAME, read_key, write_key

    key = read_key(home.path / KEY_NAME)
    if is_typed:
        key = key_on_sheet(typer.prompt("Key on the recovery sheet", err=True))
    with decrypted(file, key, home.path) as plain:
        if is_typed and key is not None and not (home.path / KEY_NAME).exists():
            home.path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            write_key(home.path / KEY_NAME, key)
        yield plain


def _parse_exceptions(given: Sequence[str]) -> "list[RestoreException]":
    from gateway.backup.restoring import RestoreException

    try:
        return [RestoreException(each) for each in given]
    except ValueError as exc:
        raise ConfigError(f"--allow takes {', '.join(RestoreException)}: {exc}") from exc


def _ask() -> None:
    """Ask the owner at a terminal for confirmation. Raises BackupError if refused or if there is no terminal."""
    if not sys.stdin.isatty() or not typer.confirm("Restore it?", err=True):
        raise BackupError("nothing was restored; check the plan above, and add --yes to restore it")


# --- the description of a restore


def _here(made_at: str) -> str:
    """Return the moment *made_at* that an archive names, in UTC, by this machine's clock."""
    try:
        return f"{datetime.fromisoformat(made_at).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):  # somebody else's archive may name anything
        return made_at


def plan_lines(plan: "RestorePlan", losses: "RestoreLosses", file: Path, home: Home) -> Iterator[str]:
    """Describe the restore of *file* to *home*."""
    head, contents = plan.contents.head, plan.contents
    yield f"backup    {file}: of {_here(head.made_at)}, by Strandline {head.version}"
    yield f"contents  {len(contents.files):,} files, {contents.size:,} bytes; all checksums match"
    yield f"seal      {SEALS[contents.seal]}"
    for place, count in plan.writes.items():
        yield f"writes    {place}: {count:,} {'file' if count == 1 else 'files'}"
    for agent, path in plan.outside.items():
        is_there = str(path) in plan.writes
        what = "outside of the home, as you allowed" if is_there else "kept in the home (--allow outside: there)"
        yield f"outside   agent {agent}: its configuration names {path}: {what}"
    yield from (f"runs      {each}: disabled until strandline hooks enable" for each in plan.code)
    yield from (f"reads     {each}" for each in plan.secrets)
    yield from (f"talks to  {each}" for each in plan.talks_to)
    if plan.owners:
        yield f"owners    {', '.join(plan.owners)}"
    yield from _losses("loses     only in the home", losses.missing)
    yield from _losses("loses     different in the home", losses.changed)
    if losses:
        yield f"          {home.path} is not empty: move it away, or choose another --home"


def plan_as_json(plan: "RestorePlan", losses: "RestoreLosses") -> dict[str, object]:
    """Return the same for machines."""
    return {
        "made_at": plan.contents.head.made_at,
        "version": plan.contents.head.version,
        "files": len(plan.contents.files),
        "bytes": plan.contents.size,
        "seal": plan.contents.seal.value,
        "writes": plan.writes,
        "outside": {agent: str(path) for agent, path in plan.outside.items()},
        "runs": plan.code,
        "reads": plan.secrets,
        "talks_to": plan.talks_to,
        "owners": plan.owners,
        "missing": losses.missing,
        "changed": losses.changed,
    }


def _losses(begin: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        yield f"{begin} ({len(names):,}): {', '.join(names[:_SHOWN])}{more}"
