"""Times in a person's sentence, in the syntax of schedules."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from gateway.schedule.named_time import when_named

NOW = datetime(2026, 11, 24, 9, 10, tzinfo=ZoneInfo("Europe/Brussels"))
"""A Tuesday."""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("remind me tomorrow at 9:30 to call Ann", "at 2026-11-25 09:30"),
        ("remind me tonight to lock up", "at 2026-11-24 20:00"),
        ("remind me at 7 tonight", "at 2026-11-24 19:00"),
        ("remind me on Sunday at six to put the bins out", "at 2026-11-29 06:00"),
        ("erinnere mich heute Abend um acht", "at 2026-11-24 20:00"),
        ("remind me at 7", "at 2026-11-25 07:00"),
        ("remind me at noon on Friday", "at 2026-11-27 12:00"),
        ("remind me tuesday at 8", "at 2026-12-01 08:00"),
        ("remind me tuesday at 10", "at 2026-11-24 10:00"),
        ("remind me on the 3rd of May", "at 2027-05-03 09:00"),
        ("erinnere mich morgen um 8 an die Tonne", "at 2026-11-25 08:00"),
        ("erinnere mich morgen um 17 Uhr an die Tonne", "at 2026-11-25 17:00"),
        ("erinner mich morgen früh an die Tonne", "at 2026-11-25 09:00"),
        ("herinner me morgen om 17 uur aan de post", "at 2026-11-25 17:00"),
        ("recuérdame el viernes a las 24 cerrar el pedido", "at 2026-11-28 00:00"),
        ("erinner mich heute um 24 Uhr", "at 2026-11-25 00:00"),
        ("recuérdame mañana a las 17 llamar", "at 2026-11-25 17:00"),
        ("recuérdame mañana por la mañana llamar", "at 2026-11-25 09:00"),
        ("recuérdame a las 11 de la mañana llamar", "at 2026-11-24 11:00"),
        ("remind me on friday at half past nine to ring", "at 2026-11-27 09:30"),
        ("remind me tomorrow at quarter to 8", "at 2026-11-25 07:45"),
        ("erinner mich um halb neun an die Wäsche", "at 2026-11-25 08:30"),
        ("herinner me morgen om half tien", "at 2026-11-25 09:30"),
        ("recuérdame mañana a las ocho y media de la noche", "at 2026-11-25 20:30"),
        ("rappelle-moi demain à 8 heures et quart", "at 2026-11-25 08:15"),
        ("lembra-me na segunda às 8", "at 2026-11-30 08:00"),
        ("提醒我明天8点打电话", "at 2026-11-25 08:00"),
        ("in 10 min tell me to turn the oven off", "in 10m"),
        ("remind me in half an hour", "in 30m"),
        ("rappelle-moi dans deux heures", "in 2h"),
        ("herinner me over een uur", "in 1h"),
        ("напомни мне через 2 часа", "in 2h"),
        ("remind me in 1h to plan the morning", "in 1h"),
    ],
)
def test_a_moment_is_the_next_one(said: str, expected: str) -> None:
    """A weekday, a part of the day, a time of day and a span mean the next one; a past hour is another day's."""
    assert when_named(said, NOW) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("remind me every tuesday at 7 to water the plants", "Tue 07:00"),
        ("remind me every day at 8pm to take the pill", "daily 20:00"),
        ("remind me every morning", "daily 09:00"),
        ("remind me every 2 hours to stretch", "every 2h"),
        ("erinnere mich jeden Dienstag um 7", "Tue 07:00"),
        ("rappelle-moi tous les jours à 8", "daily 08:00"),
        ("recuérdame cada lunes a las 9", "Mon 09:00"),
        ("напомни мне каждый вторник в 8", "Tue 08:00"),
    ],
)
def test_a_repetition_repeats(said: str, expected: str) -> None:
    """The day, the part of the day or the interval behind the word for "every"."""
    assert when_named(said, NOW) == expected


@pytest.mark.parametrize(
    "said",
    [
        "remind me every friday at 24:00",
        "remind me every other week at 9",
        "remind me every month on the 3rd",
        "remind me weekly at 9",
        "remind me on tuesdays at 9",
        "remind me next week",
        "remind me on 2026-01-01 at 9",
        "remind me in Berlin to buy bread",
        "remind me to buy milk",
    ],
)
def test_other_times_are_none(said: str) -> None:
    """A repetition without a form is no single moment, a day that is over is not replaced, and a place is no time."""
    assert when_named(said, NOW) is None
