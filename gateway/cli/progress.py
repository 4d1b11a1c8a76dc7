"""Progress of long orders, on standard error."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.control.order import Progress


@contextmanager
def progress_bar(what: str, *, in_bytes: bool = False) -> Iterator[Progress]:
    """Show progress on standard error if it is a terminal; otherwise only the outcome is printed."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    done = DownloadColumn() if in_bytes else MofNCompleteColumn()
    with Bar(TextColumn(what), BarColumn(), done, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
