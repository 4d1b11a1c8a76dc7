"""The costs of a message, an agent and a chunk, and their table in the paper on many agents."""

import re

import pytest

from bench.costs import PAPER, Sample, renewed, weigh
from tests.fakes.redis_server import KINDS, program


def test_the_papers_table_is_replaced_between_its_marks() -> None:
    """Nothing is put anywhere else, and the paper has the marks."""
    paper = "a\n<!-- costs -->\nold\n<!-- /costs -->\nb"
    assert renewed(paper, "new") == "a\n<!-- costs -->\nnew\n<!-- /costs -->\nb"
    with pytest.raises(KeyError):
        renewed("a\n<!-- costs -->\nold", "new")
    assert renewed(PAPER.read_text("utf-8"), "new").count("\nnew\n") == 1


@pytest.mark.nightly
async def test_every_cost_can_be_weighed() -> None:
    """A short run of the whole: everything that takes something is above nothing."""
    if not any(map(program, KINDS)):
        pytest.skip("no Redis or Valkey server is installed here")
    size = Sample(singles=5, burst=30, chats=6, agents=10, stored=128, indexes=2, chunks=300, searches=10)
    _, _, _, _, *rows = (await weigh(size)).splitlines()
    assert len(rows) == 9
    assert [row for row in rows if not any(map(float, re.findall(r"[0-9]+\.?[0-9]*", row.partition(" | ")[2])))] == []
