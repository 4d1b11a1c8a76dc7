"""Days that people name by a feast."""

from datetime import date

import pytest

from workspaces.memory.text.day_spans import DaySpan, dated, days_named

TODAY = date(2026, 11, 28)


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("what was on Easter Sunday?", date(2026, 4, 5)),
        ("what did we eat on Easter Monday", date(2026, 4, 6)),
        ("what did I get for christmas", date(2025, 12, 25)),
        ("who was there on Christmas Eve", date(2025, 12, 24)),
        ("was haben wir an Silvester gemacht", date(2025, 12, 31)),
        ("wo waren wir am Pfingstmontag", date(2026, 5, 25)),
        ("où est-ce qu'on avait mangé à Noël", date(2025, 12, 25)),
        ("¿qué hicimos en Nochebuena?", date(2025, 12, 24)),
        ("what did dad say at Thanksgiving", date(2026, 11, 26)),
        ("presents, christmas 2023", date(2023, 12, 25)),
    ],
)
def test_a_feast_is_the_last_day_of_its_name(question: str, day: date) -> None:
    """Or that of the year that is named; "sunday" in "Easter Sunday" is no other day."""
    assert days_named(question, TODAY) == [DaySpan(day, day)]


@pytest.mark.parametrize("question", ["what are we doing for christmas?", "when does Noel arrive", "did Noel call"])
def test_plans_and_names_name_no_day(question: str) -> None:
    """Plans for a feast were made on other days."""
    assert days_named(question, TODAY) == []


def test_a_note_keeps_its_feast_without_a_date() -> None:
    """Only relative days get one."""
    assert dated("grandma was here at christmas", TODAY) == "grandma was here at christmas"


@pytest.mark.parametrize(
    ("year", "day"), [(2008, (3, 23)), (2011, (4, 24)), (2019, (4, 21)), (2024, (3, 31)), (2038, (4, 25))]
)
def test_easter_moves(year: int, day: tuple[int, int]) -> None:
    """By the full moon, from 22 March to 25 April."""
    assert days_named(f"easter {year}", TODAY) == [DaySpan(date(year, *day), date(year, *day))]
