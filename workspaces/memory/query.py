"""A query of an agent's memory, and its defaults."""

from datetime import date

from msgspec import Struct, structs

from workspaces.memory.text.dates import is_between

MOST_RESULTS = 50


class Query(Struct, frozen=True):
    text: str
    max_results: int | None = None
    """`None`: the index's own number."""
    min_score: float | None = None
    """Lowest `Hit.score`; `None`: the index's own, by default without hits that fit nothing, except those of a day that
    the query names.
    """
    since: date | None = None
    until: date | None = None
    """Both days are included; undated notes are outside of any bounds."""
    as_of: date | None = None
    """Search the notes as of the end of this day, by the history; conversations are not searched then."""
    stays_here: bool = False
    """The query itself goes to no provider that runs elsewhere."""

    @property
    def most(self) -> int:
        """The number of results, within bounds."""
        return min(max(self.max_results or USUAL_SEARCH.max_results, 1), MOST_RESULTS)

    def includes(self, day: date | None) -> bool:
        """Return whether a note of *day* is within the query's bounds."""
        return is_between(day, self.since, self.until)


class SearchDefaults(Struct, frozen=True):
    """For a query that does not say."""

    max_results: int = 6
    min_score: float | None = None

    def applied_to(self, query: Query) -> Query:
        """Return *query* with these where it does not say."""
        least = self.min_score if query.min_score is None else query.min_score
        return structs.replace(query, max_results=query.max_results or self.max_results, min_score=least)


USUAL_SEARCH = SearchDefaults()
