"""Values that a sentence gives."""

import pytest

from workspaces.memory.text.facts import FactKind
from workspaces.memory.text.values import CLOCK, values_in


@pytest.mark.parametrize(
    ("sentence", "times"),
    [
        ("el Keppra ahora a las 9 y a las 21, por el cole", ["09:00", "21:00"]),
        ("O dentista: às 15h", ["15:00"]),
        ("Training ist um 18 Uhr", ["18:00"]),
        ("yoga is at 6", ["06:00"]),
        ("yoga is at 18:30", ["18:30"]),
        ("yoga is at 6 pm", ["18:00"]),
        ("I paid at 9 euros each", []),
        ("it took 2h of work", []),
    ],
)
def test_hours_without_minutes_are_times(sentence: str, times: list[str]) -> None:
    """After a word of a time, or before "Uhr"; an amount or a duration is none."""
    found = [each.normal for each in values_in(sentence) if each.kind is FactKind.DATE and each.head == CLOCK]
    assert found == times


@pytest.mark.parametrize(
    ("sentence", "days"),
    [
        ("the party is on sat 24th cause of the venue", ["sat 24th"]),
        ("bins go out tues and fri", ["tues", "fri"]),
        ("we sat in the sun, the wed cake is gone", []),
    ],
)
def test_short_names_of_weekdays_are_days(sentence: str, days: list[str]) -> None:
    """Those that are words too need a number."""
    assert [each.text for each in values_in(sentence) if each.kind is FactKind.DATE] == days


def test_an_ordinal_counts_nothing() -> None:
    """A 90th birthday is no amount."""
    assert [each.text for each in values_in("the 90th, and 12 guests") if each.kind is FactKind.NUMBER] == ["12"]
