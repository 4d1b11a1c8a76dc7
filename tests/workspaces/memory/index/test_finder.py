"""Order of the results of one search in a collection."""

from datetime import date
from pathlib import Path

import pytest

from workspaces.access import PRIVATE
from workspaces.memory.entry import Document
from workspaces.memory.index.engine import DayRange
from workspaces.memory.index.finder import Finder, SearchRequest
from workspaces.memory.index.index import Index

TODAY = date(2026, 3, 7)
NOTE = """- the plumber came at 7:30, the plumber was early
- plumber Kolb's mobile: 0171 330 8854
- the plumber from Elm Street is friendly
"""


@pytest.mark.parametrize(
    ("question", "first"),
    [("plumber number", "mobile"), ("when plumber", "7:30"), ("friendly plumber", "friendly")],
)
def test_an_entry_with_the_kind_of_answer_that_is_asked_for_comes_first(
    tmp_path: Path, question: str, first: str
) -> None:
    """Of entries that fit about equally well; a question of no such kind changes nothing."""
    index = Index(tmp_path, None)
    for _ in index.building.put(Document(f"memory/{TODAY}.md", PRIVATE, NOTE, TODAY, "1"), "1"):
        pass
    index.commit(complete=True)
    finder = Finder(index.answering.engine, index.answering.manifest, None)
    found = finder.find(SearchRequest(question, None, DayRange(None, None), 3, None, TODAY))
    assert first in found[0].entry.text
    index.close()
