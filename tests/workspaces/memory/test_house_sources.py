"""Tests of memory with the mark `house`: two indexes, and nothing of one in the other."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.fakes.memory import WordsEmbedder
from tests.workspaces.memory.test_search import Home
from tests.workspaces.turns import MAIN
from workspaces.access import Locality, read_by
from workspaces.memory.exact_search import ExactQuery
from workspaces.memory.query import Query
from workspaces.memory.source_index import CHECK_EVERY_S, QueryRefusedError

HERE = read_by(MAIN, Locality.HERE)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path, WordsEmbedder())
    home.note("memory/2026-03-01.md", "the vault was painted green", "the vault opens with 5433 #house", "bought tea")
    yield home
    home.worker.handler.close()


async def test_a_marked_line_is_found_here_and_nowhere_else(home: Home) -> None:
    """A reader elsewhere finds the other lines, at their places; one here is told that the answer holds such a line."""
    assert await home.found("vault opens 5433") == ["the vault was painted green"]
    result = await home.index.search(Query("vault opens 5433"), HERE)
    assert result.hits[0].snippet == "the vault opens with 5433 #house"
    assert result.hits[0].citation == "memory/2026-03-01.md#L2-L2"
    assert result.is_house
    assert (await home.index.search(Query("vault opens 5433"), MAIN)).is_withheld
    assert not (await home.index.search(Query("tea"), MAIN)).is_withheld


async def test_scores_and_orders_elsewhere_do_not_depend_on_marked_lines(home: Home) -> None:
    """Neither the rarity of words nor the vectors of neighbours: the same as if they were not there."""
    marked = await home.index.search(Query("vault tea green"), MAIN)
    home.note("memory/2026-03-01.md", "the vault was painted green", "tea tea tea green #house", "bought tea")
    assert replace(await home.index.search(Query("vault tea green"), MAIN), is_withheld=False) == replace(
        marked, is_withheld=False
    )


async def test_a_line_that_gets_the_mark_is_gone_at_once(home: Home) -> None:
    """Also from an index that has not been brought up to date."""
    assert await home.found("painted green") == ["the vault was painted green"]
    home.note("memory/2026-03-01.md", "the vault was painted green #house")
    result = await home.index.search(Query("painted green"), MAIN, is_patient=False)
    assert not result.hits
    home.clock.now_s += CHECK_EVERY_S
    assert await home.found("painted green") == []
    home.note("memory/2026-03-01.md", "the vault was painted green")
    assert await home.found("painted green") == ["the vault was painted green"]


async def test_a_line_that_gets_the_mark_is_gone_from_passages(home: Home) -> None:
    """Another line's hit showed it as what goes on about it."""
    said, goes_on = "14:20 Owner: the vault was painted green", "15:00 Owner: it opens from the left side"
    home.note("memory/2026-03-01.md", said, goes_on)
    assert (await home.index.search(Query("vault painted green"), MAIN)).hits[0].passage == f"{said}\n{goes_on}"
    home.note("memory/2026-03-01.md", said, f"{goes_on} #house")
    result = await home.index.search(Query("vault painted green"), MAIN, is_patient=False)
    assert [hit.passage for hit in result.hits] == [said]


async def test_a_literal_search_and_a_reading_keep_to_it_too(home: Home) -> None:
    """Elsewhere nothing is found or read of a marked line, and its file's stamp is the only trace of it."""
    assert not (await home.index.find_exact(ExactQuery("5433"), MAIN)).matches
    found = await home.index.find_exact(ExactQuery("5433"), HERE)
    assert found.matches
    assert found.is_house
    outside, here = [await home.index.read("memory/2026-03-01.md", each) for each in (MAIN, HERE)]
    assert outside is not None
    assert here is not None
    assert "5433" not in outside.text
    assert "5433" in here.text
    assert all("5433" not in each.text for each in await home.index.documents(MAIN))


async def test_earlier_days_are_for_readers_here_while_anything_is_marked(home: Home) -> None:
    """A line may have lacked the mark then."""
    with pytest.raises(QueryRefusedError):
        await home.index.search(Query("vault", as_of=date(2020, 1, 1)), MAIN)
