"""Search results."""

from datetime import date

from workspaces.access import PRIVATE
from workspaces.memory.hits import Hit, as_shown


def test_a_hit_shows_at_least_the_score_of_the_next() -> None:
    """Their order knows more than each score: nobody reads a list whose numbers go up."""
    hits = [
        Hit("memory/a.md", line, line, "text", "", date(2026, 3, 2), PRIVATE, score, 0.5, 0.5, 0.5, 0.5)
        for line, score in enumerate((0.6, 0.9, 0.3, 0.4), 1)
    ]
    assert [hit.score for hit in as_shown(hits)] == [0.9, 0.9, 0.4, 0.4]
    assert [hit.start_line for hit in as_shown(hits)] == [1, 2, 3, 4]
    assert as_shown([]) == []
