"""Doubles: the same said twice, and not what only looks so."""

from collections.abc import Sequence

import pytest

from tests.workspaces.memory.checkup.notes import BY_OWNER, lasting, of_day
from workspaces.memory.checkup.doubles import alike, doubles
from workspaces.memory.checkup.noted import NotedEntry


def gone(entries: Sequence[NotedEntry], unsaid: Sequence[NotedEntry] = ()) -> list[str]:
    """Return the texts that are called doubles."""
    return [each.entry.text for each in doubles(alike(entries), {entry.place for entry in unsaid})]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Drinks oat milk in coffee, never sugar.", "drinks oat milk in coffee, never sugar"),
        ("Drinks oat milk in coffee, never sugar.", "The user drinks oat milk in coffee, never sugar."),
        ("The spare wheel hangs in the shed.", "In the shed hangs the spare wheel."),
        ("Prefers trains over planes below eight hours.", "Prefer trains over planes below eight hours"),
    ],
)
def test_the_same_in_one_file_is_a_double(one: str, other: str) -> None:
    """Case, marks, order, endings and "the user" make no difference."""
    assert gone(lasting(one, "The cat is called Miso.", other)) == [other]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The code of the bicycle shed is 1905.", "The code of the bicycle shed is 1906."),
        ("Likes window seats facing forwards on trains.", "Likes window seats facing backwards on trains."),
        ("Eats fish when travelling with the children.", "Does not eat fish when travelling with the children."),
        ("Sister Anna lives in the old town of Graz.", "Sister Anna lives in the old town of Linz."),
        ("Caroline thanks Melanie for her friendship.", "Melanie thanks Caroline for her friendship."),
        ("Water meter 1 is in the cellar.", "Water meter 2 is in the cellar."),
        ("Gym", "Gym"),
    ],
)
def test_another_value_is_no_double(one: str, other: str) -> None:
    """A number, a word in another's place, a denial, a name."""
    assert gone(lasting(one, other)) == []


def test_the_one_that_says_more_stays_and_so_does_the_owners() -> None:
    """Whichever came first."""
    short, long = "The heating engineer is Herr Lorenz", "The good heating engineer is Herr Lorenz"
    assert gone(lasting(short, long)) == [short]
    agents, owners = lasting("The cat is called Miso."), lasting("the cat is called Miso", source=BY_OWNER)
    assert gone([*agents, *owners]) == ["The cat is called Miso."]


def test_what_happens_twice_is_noted_twice() -> None:
    """The same run on two days, the same cold of a child, and what a person said again."""
    days = [entry for day in ("2026-03-02", "2026-03-09") for entry in of_day(day, "Ran 5 km along the canal.")]
    assert gone(days, days) == []
    said = [e for day in ("2026-03-02", "2026-03-09") for e in of_day(day, "Owner: The cat is called Miso.")]
    assert gone(said, said) == []


def test_what_the_agent_writes_again_unasked_is_a_double() -> None:
    """A day's note that MEMORY.md said already; not one that came first, nor one that somebody had said again."""
    known, again = lasting("The cat is called Miso."), of_day("2026-05-05", "The cat is called Miso.")
    before = of_day("2026-02-02", "The cat is called Miso.")
    assert gone([*known, *again], again) == ["The cat is called Miso."]
    assert gone([*known, *again]) == []
    assert gone([*known, *before], before) == []
