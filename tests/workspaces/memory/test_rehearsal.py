"""What a first search is spared: patterns are compiled while the worker looks."""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from tests.fakes.memory import HandlerWorker, SetClock, WordsEmbedder, run_here
from tests.fakes.patience import PATIENCE_S
from tests.workspaces.turns import AGENT, MAIN
from workspaces.files import Folder
from workspaces.memory import source_index
from workspaces.memory.query import Query
from workspaces.memory.search import MemoryIndex
from workspaces.memory.workspace_source import WorkspaceNotes

COMPILED = """
import re
from datetime import date

from workspaces.access import PRIVATE
from workspaces.memory.assembly import assembled
from workspaces.memory.fit import fits_clearly
from workspaces.memory.hits import Hit
from workspaces.memory.rehearsal import rehearse

compiled, compile_ = [], re.compile
re.compile = lambda *given: compiled.append(given) or compile_(*given)
{begin}
del compiled[:]
question, day = "When did we go to the lake?", date(2026, 3, 1)
lines = "- 09:10 Ada: we went to the lake yesterday", "- 18:30 You: noted, the lake is 20 km away"
hits = [Hit("MEMORY.md", n, n, line, "", day, PRIVATE, 0.5, 0.5, 0.5, 1.0, 0.5) for n, line in enumerate(lines)]
fits_clearly(assembled(hits, question, day), question)
print(len(compiled))
"""


def _compiled(begin: str) -> int:
    """Return how many patterns are compiled to put two hits in order, once *begin* was run."""
    program = [sys.executable, "-c", textwrap.dedent(COMPILED).format(begin=begin)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return int(done.stdout)


def test_after_a_rehearsal_hits_are_put_in_order_with_hardly_a_pattern_to_compile() -> None:
    """An invented search meets nearly all patterns that a real one needs."""
    assert _compiled("pass") > 40
    assert _compiled("rehearse()") < 5


async def test_the_first_search_rehearses_while_the_worker_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins before the worker is asked, on another thread, and once."""
    begun: list[int] = []
    monkeypatch.setattr(source_index, "rehearse", lambda: begun.append(threading.get_ident()))
    (tmp_path / "workspace").mkdir()
    worker = HandlerWorker(WordsEmbedder())
    sources = [WorkspaceNotes(Folder(tmp_path / "workspace"))]
    index = MemoryIndex(AGENT, tmp_path / "index", sources, worker, run_here, SetClock().clock())
    for _ in range(2):
        await index.search(Query("bicycle"), MAIN)
    assert len(begun) == 1
    assert begun[0] != threading.get_ident()
    worker.handler.close()
