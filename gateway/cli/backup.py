"""This file is `strandline backup` and `strandline restore`: everything that a gateway knows, in one file and back."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.invocation import HomeOption, Invocation, JsonOption, print_json

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Such as strandline.tar.gz.")]


def backup(context: typer.Context, file: FileArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Write everything that the gateway knows to one file, while it runs; secrets and the index are left out."""
    from gateway.backup.taking import take_backup
    from gateway.config import read_config

    invocation: Invocation = context.obj
    place = invocation.home(home)
    config = read_config(place.config_file)
    with _bar("Backing up") as progress:
        taken = take_backup(place, config, file.expanduser().absolute(), progress)
    if as_json:
        print_json(asdict(taken))
        return
    print(f"{taken.file}: {taken.files:,} files of {', '.join(taken.agents)}, {taken.bytes:,} bytes, yours alone")
    if taken.elsewhere:
        print(f"Not in it is what other servers keep, back it up there: {', '.join(taken.elsewhere)}")
    if taken.left_out:
        print(f"Not in it are the secrets, keep them elsewhere: {', '.join(taken.left_out)}")


def restore(context: typer.Context, file: FileArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Make a home of a backup. A damaged one, or a home that is not empty, is refused before anything is written."""
    from gateway.backup.restoring import restore_backup

    invocation: Invocation = context.obj
    place = invocation.home(home)
    with _bar("Restoring") as progress:
        restored = restore_backup(file.expanduser().absolute(), place, invocation.environ, progress)
    if as_json:
        print_json(asdict(restored))
        return
    print(f"{restored.home}: {restored.files:,} files, as they were at {restored.made_at}")
    for key in restored.secrets:
        print(f"Its secret is not here yet: {key}")
    print(f"Next: {invocation.command('up', place)}   (the index is rebuilt from the files)")


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress in bytes on a terminal's standard error; elsewhere only the outcome is told."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
