"""Notes that no longer hold."""

import pytest
from msgspec import structs

from tests.workspaces.memory.checkup.notes import BY_AGENT, TODAY, lasting, of_day
from workspaces.memory.checkup.noted import LineSource
from workspaces.memory.checkup.staleness import outdated, past_dates


@pytest.mark.parametrize(
    ("line", "is_stale"),
    [
        ("Dentist for Ida on 12 March at 8:40.", True),
        ("Holiday flat reserved until April 6.", True),
        ("Submit the tender by 2026-03-20.", True),
        ("Tomorrow the surveyor comes.", True),
        ("Heute ist der Drucker kaputt.", True),
        ("Daughter Ida was born on 14 May 2015.", False),
        ("Ida's birthday is on 14 May.", False),
        ("Moved to Leipzig on 1 September 2009.", False),
        ("The lease of the garden ends in 2034.", False),
        ("The passport expires on 3 February 2031.", False),
        ("The cleaner comes every Tuesday.", False),
        ("The choir rehearses on Thursdays.", False),
        ("Train to Lund on 28 October.", False),
    ],
)
def test_a_plan_is_stale_a_week_after_its_day(line: str, is_stale: bool) -> None:
    """What was past when it was written, recurs, or is still ahead is not."""
    assert bool(list(past_dates(lasting(line), TODAY))) is is_stale


def test_nothing_is_stale_of_which_nobody_knows_the_day_and_no_day_is() -> None:
    """An imported line may be of any year; a diary tells of days that are past."""
    line = "Dentist for Ida on 12 March at 8:40."
    assert list(past_dates(lasting(line, source=LineSource()), TODAY)) == []
    assert list(past_dates(of_day("2026-03-01", line), TODAY)) == []


def test_a_later_value_marks_the_earlier_line_and_removes_nothing() -> None:
    """From a lasting note, and from what the owner said on a day."""
    notes = lasting("The staging port is 5432.", "The staging port is 5433 now.")
    [found] = outdated(notes)
    assert (found.entry, found.beside) == tuple(notes)
    assert found.after == "- The staging port is 5432. (until 2026-03-01, now MEMORY.md#L6)"
    said = of_day("2026-04-02", "Owner: the staging port is now 5434")
    assert [each.beside for each in outdated([*notes[:1], *said])] == said


def test_an_earlier_or_another_thing_outdates_nothing() -> None:
    """A day before, another thing, the agent's own answer."""
    note = lasting("The staging port is 5432.")
    for day, line in (
        ("2026-02-02", "Owner: the staging port is now 5434"),
        ("2026-04-02", "Owner: the production port is now 5434"),
        ("2026-04-02", "main: the staging port is now 5434"),
    ):
        assert list(outdated([*note, *of_day(day, line, source=structs.replace(BY_AGENT, turn=""))])) == []
