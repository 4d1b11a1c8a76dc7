"""A history writer as a gateway has it, whose notices to the owner go nowhere."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from gateway.agent.file_trouble import FileTroubleNotices
from gateway.agent.history_writer import HistoryWriter
from tests.fakes.tally import Tally
from workspaces.history import ExposedTurns, History, exposed_place
from workspaces.run_blocking import RunBlocking
from workspaces.workspace import Workspace


def history_writer_of(
    workspace: Workspace,
    folder: Path,
    run: RunBlocking,
    clock: Callable[[], datetime],
    count: Callable[[str], Awaitable[None]] | None = None,
) -> HistoryWriter:
    """Return the writer of the history of *workspace*, which is in *folder*."""
    place = folder / "history.git"
    return HistoryWriter(
        partial(History.open, place, workspace, clock),
        run,
        count or Tally().count,
        FileTroubleNotices(workspace.agent, workspace.folder, _tell_nobody, clock),
        ExposedTurns(exposed_place(place)),
    )


async def _tell_nobody(_key: str, _said: str) -> None:
    """Take a notice that no owner reads."""
