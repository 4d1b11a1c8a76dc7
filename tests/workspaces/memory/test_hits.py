"""Search results."""

from datetime import date

from msgspec import structs

from workspaces.access import PRIVATE
from workspaces.memory.hits import Hit, as_shown, each_once


def test_a_hit_shows_at_least_the_score_of_the_next() -> None:
    """Their order knows more than each score: nobody reads a list whose numbers go up."""
    hits = [
        Hit("memory/a.md", line, line, "text", "", date(2026, 3, 2), PRIVATE, score, 0.5, 0.5, 0.5, 0.5)
        for line, score in enumerate((0.6, 0.9, 0.3, 0.4), 1)
    ]
    assert [hit.score for hit in as_shown(hits)] == [0.9, 0.9, 0.4, 0.4]
    assert [hit.start_line for hit in as_shown(hits)] == [1, 2, 3, 4]
    assert as_shown([]) == []


def test_each_line_is_shown_once() -> None:
    """What a better hit's passage holds is left out, unless it is marked; a line shown above is not repeated."""
    kite, boot, dinner = (
        Hit("memory/a.md", line, line, text, "", None, PRIVATE, 0.5, 0.5, 0.5, 0.5, 0.5)
        for line, text in enumerate(("the kite is orange", "moved it to the boot", "dinner with Kolb"), 1)
    )
    with_next, with_before = structs.replace(kite, after=boot.snippet), structs.replace(boot, before=kite.snippet)
    assert [hit.passage for hit in each_once([with_next, dinner, with_before])] == [
        "the kite is orange\nmoved it to the boot",
        "dinner with Kolb",
    ]
    assert [hit.passage for hit in each_once([kite, with_before])] == ["the kite is orange", "moved it to the boot"]
    assert each_once([with_next, structs.replace(with_before, mark="now")])[1].passage == "moved it to the boot"
    elsewhere = structs.replace(boot, path="memory/b.md")
    assert each_once([with_next, elsewhere]) == [with_next, elsewhere]
