"""People whom notes name."""

import pytest

from workspaces.memory.checkup.people import name_words, people_named


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("User is John Doe, a software engineer at Google", ["John Doe"]),
        ("Owner is married to Emily Carter and has three sons", ["Emily Carter"]),
        ("Neighbour Margaret Shaw said the fence has to go", ["Neighbour Margaret Shaw"]),
        ("Herr Schmidtke wohnt im dritten Stock", ["Herr Schmidtke"]),
        ("Priya works at the airport", ["Priya"]),
        ("Uses Home Assistant on the small computer", []),
        ("Flew to San Francisco for the fair", []),
        ("The kitchen gets New Windows in May", []),
        ("Die Kinder haben Ferien", []),
    ],
)
def test_a_person_is_named_where_a_persons_name_stands(text: str, names: list[str]) -> None:
    """Beside a role, or before what only people do; a product and a town are none."""
    assert people_named(text) == names


def test_a_title_and_a_role_are_no_names() -> None:
    """Nobody is spoken of because somebody said "neighbour"."""
    assert name_words("Neighbour Margaret Shaw") == {"margaret", "shaw"}
    assert name_words("Dr. Evans") == {"evans"}
