"""Times in a person's sentence, in the syntax of schedules."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gateway.errors import ScheduleError
from gateway.schedule.named_time import ends_with_time, read_time, when_named, without_times
from gateway.schedule.recurrence import read_schedule

NOW = datetime(2026, 11, 24, 9, 10, tzinfo=ZoneInfo("Europe/Brussels"))
"""A Tuesday."""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("remind me tomorrow at 9:30 to call Ann", "at 2026-11-25 09:30"),
        ("remind me tonight to lock up", "at 2026-11-24 20:00"),
        ("remind me at 7 tonight", "at 2026-11-24 19:00"),
        ("remind me on Sunday at seven to put the bins out", "at 2026-11-29 07:00"),
        ("erinnere mich heute Abend um acht", "at 2026-11-24 20:00"),
        ("remind me at 07:00", "at 2026-11-25 07:00"),
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
        ("erinner mich morgen um halb neun an die Wäsche", "at 2026-11-25 08:30"),
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
        ("remind me on tuesdays at 9", "Tue 09:00"),
        ("remind me every Monday and Thursday at 18:00", "Mon,Thu 18:00"),
        ("remind me every weekday at 6pm", "weekdays 18:00"),
        ("remind me Monday to Friday at 6pm", "weekdays 18:00"),
        ("remind me on the first Sunday of each month at 10", "0 10 * * SUN#1"),
        ("remind me every last Sunday of the month at 10", "0 10 * * 0L"),
        ("remind me every month on the 3rd", "0 9 3 * *"),
        ("remind me every year on 3 May at 10", "0 10 3 5 *"),
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
        "remind me every month on the 31st",
        "remind me weekly at 9",
        "remind me in August",
        "remind me on Sunday at six to put the bins out",
        "remind me at 7",
        "remind me on 2026-01-01 at 9",
        "remind me in Berlin to buy bread",
        "remind me to buy milk",
    ],
)
def test_other_times_are_none(said: str) -> None:
    """A repetition without a form is no single moment, a day that is over is not replaced, and a place is no time."""
    assert when_named(said, NOW) is None


BERLIN = ZoneInfo("Europe/Berlin")
SAID = {
    "A": datetime(2026, 11, 24, 15, tzinfo=BERLIN),
    "M": datetime(2026, 11, 24, 8, tzinfo=BERLIN),
    "N": datetime(2026, 11, 25, 0, 30, tzinfo=BERLIN),
    "S": datetime(2027, 3, 27, 15, tzinfo=BERLIN),
    "O": datetime(2026, 10, 24, 15, tzinfo=BERLIN),
    "L": datetime(2028, 2, 28, 10, tzinfo=BERLIN),
    "J": datetime(2027, 1, 31, 10, tzinfo=BERLIN),
    "D": datetime(2026, 12, 31, 20, tzinfo=BERLIN),
    "U": datetime(2026, 11, 24, 15, tzinfo=ZoneInfo("America/New_York")),
}
"""Moments at which the orders of `spoken_times.txt` are said."""


def _spoken() -> list[tuple[str, str, str]]:
    lines = (Path(__file__).parent / "spoken_times.txt").read_text("utf-8").splitlines()
    rows = [tuple(each.split(" | ")) for each in lines if each and not each.startswith("#")]
    return [(now, order, expected) for now, order, expected in rows]


def _comes(order: str, now: datetime) -> str:
    """Return when a job of *order* comes: once, its first two times, or "ask"."""
    try:
        named = read_time(order, now)
    except ScheduleError:
        return "ask"
    if named is None:
        return "ask"
    schedule = read_schedule(named, now.tzinfo or UTC, now.astimezone(UTC))
    first = schedule.after(now.astimezone(UTC))
    times = [first, schedule.after(first) if first else None]
    return " + ".join(f"{each.astimezone(now.tzinfo):%Y-%m-%d %H:%M}" for each in times if each)


@pytest.mark.parametrize(("now", "order", "expected"), _spoken())
def test_a_spoken_time_is_the_one_that_a_person_means(now: str, order: str, expected: str) -> None:
    """A wrong day is worse than a question: what can mean two times is asked."""
    assert _comes(order, SAID[now]) == expected


@pytest.mark.parametrize(
    ("order", "question"),
    [
        ("remind me at 7", '"at 7" can mean Tue 2026-11-24 19:00 or Wed 2026-11-25 07:00: say which'),
        (
            "remind me next Friday at 10",
            '"next friday at 10" can mean Fri 2026-11-27 10:00 or Fri 2026-12-04 10:00: say which',
        ),
        (
            "remind me next Friday at 6",
            "can mean Fri 2026-11-27 06:00, Fri 2026-11-27 18:00, Fri 2026-12-04 06:00 or Fri 2026-12-04 18:00: say",
        ),
        ("remind me by Friday", '"by friday" can mean Thu 2026-11-26 09:00 or Fri 2026-11-27 09:00: say which'),
        ("remind me at the end of the week", "can mean Fri 2026-11-27 09:00 or Sun 2026-11-29 09:00: say which"),
        ("remind me next weekend at 10", "can mean Sat 2026-11-28 10:00 or Sat 2026-12-05 10:00: say which"),
        ("remind me every other Thursday", 'write "every Thursday at 19:00", "every first Monday of the month", or'),
        ("remind me before Friday", '"before friday" is a time that I may read wrongly'),
        ("remind me on Friday 5 December", "2026-12-05 is a Saturday"),
        ("remind me wensday at 9", '"wensday" may mean "wednesday"'),
        ("remind me on 2026-13-01 at 9", '"2026-13-01" is no time or date that I know'),
        ("remind me tomorrow at 9 and at 17:00", "names more than one time"),
        ("remind me yesterday at 9", "is a time that I may read wrongly"),
        ("remind me in 8000 years", "8,000 years is more than a hundred years ahead"),
    ],
)
def test_a_question_says_what_is_not_clear(order: str, question: str) -> None:
    """And how to say it."""
    with pytest.raises(ScheduleError) as asked:
        read_time(order, NOW)
    assert question in str(asked.value)


@pytest.mark.parametrize(
    ("zone", "order", "expected"),
    [
        ("Europe/Berlin", "remind me on 3/4 at 10", "2027-04-03 10:00"),
        ("America/Chicago", "remind me on 3/4 at 10", "2027-03-04 10:00"),
        ("America/Chicago", "recuérdame 3/4 a las 10", "ask"),
        ("Etc/UTC", "remind me on 3/4 at 10", "ask"),
        ("Etc/UTC", "remind me on 13/4 at 10", "2027-04-13 10:00"),
        ("Asia/Tokyo", "remind me on 3/4 at 10", "2027-03-04 10:00"),
    ],
)
def test_a_date_in_figures_follows_the_owners_country(zone: str, order: str, expected: str) -> None:
    """3/4 is in March where the month is written first; without a country it is asked."""
    assert _comes(order, datetime(2026, 11, 24, 15, tzinfo=ZoneInfo(zone))) == expected


def test_the_words_of_a_time_can_be_told_from_the_others() -> None:
    """For a job's subject, and for an order behind its time."""
    rest = without_times("remind me tomorrow at 9:30 to call Ann", NOW.date())
    assert " ".join(rest.split()) == "remind me to call Ann"
    assert ends_with_time("tomorrow at 9, ", NOW.date())
    assert ends_with_time("every other week", NOW.date())
    assert not ends_with_time("tomorrow we sail", NOW.date())


@pytest.mark.parametrize(
    "form",
    [
        "remind me on {day.day} {day:%B} at {day:%H:%M} to pay",
        "remind me on {day:%B} {day.day} at {day:%H:%M} to pay",
        "remind me on the {day.day}th of {day:%B} at {day:%H:%M} to pay",
        "remind me on {day:%A} {day.day} {day:%B} at {day:%H:%M}",
        "remind me in {ahead} days at {day:%H:%M} to pay",
        "erinnere mich am {day.day}.{day.month}. um {day:%H:%M} an die Miete",
        "{day.day}.{day.month}.{day.year} {day:%H:%M}",
        "{day:%Y-%m-%d %H:%M}",
    ],
)
def test_every_day_of_a_year_is_read(form: str) -> None:
    """At an hour that can mean one alone."""
    for ahead in range(1, 365):
        day = NOW.replace(hour=(ahead % 11) + 13, minute=ahead % 60) + timedelta(ahead)
        assert when_named(form.format(day=day, ahead=ahead), NOW) == f"at {day:%Y-%m-%d %H:%M}"
