"""Benchmark of an agent's history: a commit after a thousand earlier ones, and the log of one file.

python -m bench --only history
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from bench.figures import Figure, at_most
from workspaces.access import PRIVATE, Access, AgentId, SessionType
from workspaces.files import Folder
from workspaces.history import History, LogQuery, Origin
from workspaces.workspace import Workspace

EARLIER = 1_000
MEASURED = 200
DAYS = 100
"""Days whose notes the commits change in turn; every tenth commit changes `MEMORY.md`, too."""
START = datetime(2026, 1, 1, tzinfo=UTC)
AGENT = AgentId("bench")
OWNER = Access(AGENT, SessionType.MAIN, PRIVATE, "terminal:0", 0, frozenset())
MEMORY = PurePosixPath("MEMORY.md")


async def run() -> list[Figure]:
    """Return all figures."""
    return await asyncio.to_thread(history_figures)


def history_figures() -> list[Figure]:
    """Create a history in a separate folder, and measure the waits of a turn and an owner."""
    with tempfile.TemporaryDirectory(prefix="strandline-bench-") as place:
        folder = Path(place) / "workspace"
        folder.mkdir()
        with closing(Folder(folder)) as opened:
            history = History.open(Path(place) / "history.git", Workspace(opened, AGENT), lambda: START)
            for number in range(EARLIER):
                _commit(opened, history, number)
            commits = [_commit(opened, history, EARLIER + number) for number in range(MEASURED)]
            before = _log_ms(history)
            history.maintain(START + timedelta(days=31))
            after = _log_ms(history)
            looked = [_ms(lambda: history.record_all(None, None)) for _ in range(20)]
    beside = f"beside {EARLIER:,}"
    return [
        Figure(f"history: a commit {beside}", commits, "ms", at_most(15), "7 (pygit2 alone)"),
        Figure(f"history: log of a file {beside}", before, "ms"),
        Figure("history: log of a file after maintenance", after, "ms", at_most(50), "5,000 (dulwich)"),
        Figure(f"history: a look through {DAYS + 1} files", looked, "ms"),
    ]


def _commit(folder: Folder, history: History, number: int) -> float:
    """Add a line to a day's notes, sometimes to the long-term memory too, and return the duration of the commit."""
    paths = [PurePosixPath("memory") / f"{START + timedelta(days=number % DAYS):%Y-%m-%d}.md"]
    if number % 10 == 0:
        paths.append(MEMORY)
    for path in paths:
        folder.append(path, f"- 09:30 line {number} of what was said and done\n", f"# {path.stem}\n\n")
    return _ms(lambda: history.record(paths, None, Origin("main", str(number), f"t{number}")))


def _log_ms(history: History) -> list[float]:
    return [_ms(lambda: history.view(OWNER).log(LogQuery(path=MEMORY))) for _ in range(20)]


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000
