"""Benchmark of an index on a server beside the embedded engine."""

import re
import sys

import pytest

from bench import server
from tests.fakes.qdrant_stub import QdrantStub


def test_both_engines_are_measured_and_nothing_is_left_on_the_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside other agents on the same server; a search's requests are counted, two to four of the server's."""
    with QdrantStub() as qdrant:
        order = ["--sizes", "30", "--searches", "3", "--other-agents", "2", "--other-entries", "5"]
        monkeypatch.setattr(sys, "argv", ["bench.server", qdrant.url, *order])
        server.main()
        left = qdrant.memory.get_collections().collections
    shown = capsys.readouterr().out
    assert "2 other agents of 5 entries: " in shown
    assert re.search(r"^embedded, 30 entries: indexing +[\d,.]+ entries/s", shown, re.MULTILINE)
    assert re.search(r"^embedded, 30 entries: p50 .* requests 0 to 0", shown, re.MULTILINE)
    assert re.search(r"^server, 30 entries: p50 .* requests [2-4] to [2-4]", shown, re.MULTILINE)
    assert left == []
