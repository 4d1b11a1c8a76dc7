"""Answers to the question which of two moments is meant."""

from datetime import UTC, datetime

import pytest

from gateway.commands.moment_question import moment_meant
from gateway.errors import ScheduleError
from gateway.schedule.named_time import read_time
from gateway.schedule.two_moments import moments_in

NOW = datetime(2026, 12, 1, 15, tzinfo=UTC)
EVENING, MORNING = "Tue 2026-12-01 21:00", "Wed 2026-12-02 09:00"
FRIDAYS = ("Fri 2026-12-04 09:00", "Fri 2026-12-11 09:00")


def test_the_refusal_of_a_time_names_both_moments() -> None:
    """They are read from its words; other refusals name none."""
    with pytest.raises(ScheduleError) as refused:
        read_time("remind me at 9 to call Ann", NOW)
    assert moments_in(str(refused.value)) == (EVENING, MORNING)
    with pytest.raises(ScheduleError) as refused:
        read_time("remind me next Friday to call Ann", NOW)
    assert moments_in(str(refused.value)) == FRIDAYS
    assert moments_in('"next friday" can mean Fri 2026-12-04 or Fri 2026-12-11: say which day') == ()


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ("at 21:00", EVENING),
        ("21:00", EVENING),
        ("21", EVENING),
        ("9 pm", EVENING),
        ("today", EVENING),
        ("the evening", EVENING),
        ("This evening, please.", EVENING),
        ("heute Abend", EVENING),
        (EVENING, EVENING),
        ("at 2026-12-01 21:00", EVENING),
        ("tomorrow", MORNING),
        ("Tomorrow!", MORNING),
        ("in the morning", MORNING),
        ("tomorrow at 9", MORNING),
        ("Wednesday", MORNING),
        ("demain", MORNING),
        (MORNING, MORNING),
        ("9", ""),
        ("at 9", ""),
        ("at 20:00", ""),
        ("tomorrow evening", ""),
        ("not tomorrow", ""),
        ("buy milk tomorrow", ""),
        ("what is tomorrow", ""),
        ("tomorrow?", ""),
        ("yes", ""),
        ("", ""),
        ("tomorrow " * 9, ""),
    ],
)
def test_an_answer_is_nothing_but_a_time_that_fits_one_of_them(answer: str, meant: str) -> None:
    """Other words, and times that fit neither or both, answer nothing."""
    assert moment_meant(answer, (EVENING, MORNING), NOW) == meant


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ("this Friday", FRIDAYS[0]),
        ("this week", FRIDAYS[0]),
        ("the 4th", FRIDAYS[0]),
        ("in three days", FRIDAYS[0]),
        ("next week", FRIDAYS[1]),
        ("Friday next week", FRIDAYS[1]),
        ("Friday week", FRIDAYS[1]),
        ("11 December", FRIDAYS[1]),
        ("on the 11th, please", FRIDAYS[1]),
        ("next Friday", ""),
        ("Thursday", ""),
        ("this Friday at 10", ""),
        ("next month", ""),
    ],
)
def test_an_answer_chooses_one_of_two_days(answer: str, meant: str) -> None:
    """By its own words, or by those of its week."""
    assert moment_meant(answer, FRIDAYS, NOW) == meant
    late = tuple(each.replace("09:00", "22:00") for each in FRIDAYS)
    assert moment_meant(answer, late, NOW) == meant.replace("09:00", "22:00")
