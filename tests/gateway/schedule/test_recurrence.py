"""Slots of a job: in its zone, each once, through both clock changes of a year."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ScheduleError
from gateway.schedule.recurrence import At, Cron, Every, Schedule, read_schedule, slots_due

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SPANS = st.integers(1, 400).map(lambda minutes: timedelta(minutes=minutes))


def read(text: str, now: datetime = NOW) -> Schedule:
    return read_schedule(text, BERLIN, now)


def local(*slots: datetime | None) -> list[str]:
    """Slots by the clock on the wall in Berlin."""
    return [f"{slot.astimezone(BERLIN):%m-%d %H:%M}" for slot in slots if slot]


def all_slots(schedule: Schedule, begin: datetime, end: datetime) -> list[datetime]:
    """Every slot after *begin* and until *end*."""
    found, slot = [], schedule.after(begin)
    while slot is not None and slot <= end:
        found.append(slot)
        slot = schedule.after(slot)
    return found


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("at 2026-03-02 09:30", "03-02 09:30"),
        ("at 2026-03-02T09:30 America/New_York", "03-02 15:30"),
        ("at 2026-03-02T09:30+00:00", "03-02 10:30"),
        ("in 1h 30m", "03-01 14:30"),
        ("in 90 min", "03-01 14:30"),
        ("every 2h", "03-01 15:00"),
        ("every 1d", "03-02 13:00"),
        ("0 9 * * MON-FRI", "03-02 09:00"),
        ("0 9 * * * America/New_York", "03-01 15:00"),
        ("@daily", "03-02 00:00"),
        ("daily 09:00", "03-02 09:00"),
        ("Sun 18:00", "03-01 18:00"),
        ("every Sunday at 18:00", "03-01 18:00"),
        ("every day at 7:05", "03-02 07:05"),
        ("Mon-Fri 17:30 America/New_York", "03-02 23:30"),
        ("tuesday,Thursday 8:00 UTC", "03-03 09:00"),
        ("weekends 10:00", "03-07 10:00"),
    ],
)
def test_a_schedule_is_read_in_the_owners_zone(text: str, first: str) -> None:
    """Unless it names another behind it."""
    assert local(read(text).after(NOW)) == [first]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("61 9 * * *", "minute"),
        ("0 25 * * *", "hour"),
        ("0 0 30 2 *", "day of the month"),
        ("0 0 * * XXX", "day of the week"),
        ("whenever", "such as"),
        ("Sun 25:00", "hour"),
        ("every Sunday at 18:00 Atlantis", "'Atlantis' is not a time zone"),
        ("* * * * * *", "such as"),
        ("0 9 * * * Europe/Atlantis", "Europe/Berlin"),
        ("0 9 * * * Berlin", "'Berlin' is not a time zone: write one such as \"Europe/Berlin\""),
        ("at 2026-12-24 09:00 Berlin", "'Berlin' is not a time zone"),
        ("at noon", "2026-12-24 09:00"),
        ("at 2026-02-30 09:00", "2026-12-24 09:00"),
        ("at 2026-02-01 09:00", "is in the past"),
        ("in a while", "1h 30m"),
        ("every 0m", "once a minute"),
        ("at 9999-12-31 23:59 UTC", "more than a hundred years ahead"),
        ("at 0001-01-01 00:00", "2026-12-24 09:00"),
        ("at 9999-12-31T23:59-12:00", "2026-12-24 09:00"),
        ("every 9999d", "more than a year"),
        ("", "such as"),
    ],
)
def test_what_cannot_be_read_names_the_field_and_shows_a_right_example(text: str, said: str) -> None:
    """A person mends it without a manual."""
    with pytest.raises(ScheduleError, match=said):
        read(text)


def test_a_zone_without_a_city_is_a_zone_too() -> None:
    """Such as UTC; a day of the week behind an expression is none."""
    assert read("0 9 * * * UTC").after(NOW) == read("0 9 * * * Etc/UTC").after(NOW)
    assert read("at 2026-12-24 09:00 UTC").after(NOW) == datetime(2026, 12, 24, 9, tzinfo=UTC)
    assert read("0 9 * * MON").after(NOW) is not None


def test_a_time_that_a_clock_change_skips_comes_at_the_next_minute_there_is() -> None:
    """Half past two does not exist on the last Sunday of March."""
    assert local(read("at 2026-03-29 02:30").after(NOW)) == ["03-29 03:00"]
    night = datetime(2026, 3, 28, 20, 0, tzinfo=UTC)
    assert local(*all_slots(read("30 2 * * *"), night, night + timedelta(days=2))) == ["03-29 03:00", "03-30 02:30"]


def test_a_time_that_a_clock_change_repeats_comes_once() -> None:
    """Half past two exists twice on the last Sunday of October; an interval goes by time that passes."""
    night = datetime(2026, 10, 24, 20, 0, tzinfo=UTC)
    assert local(*all_slots(read("30 2 * * *"), night, night + timedelta(days=1))) == ["10-25 02:30"]
    each_hour = Every(HOUR, night)
    assert len(all_slots(each_hour, night, night + timedelta(days=1))) == 24


def test_however_many_slots_passed_one_runs() -> None:
    """A gateway that was off for three days does not catch up in a storm, and says what it let go."""
    daily = Cron("0 9 * * *", BERLIN)
    monday = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
    found = slots_due(daily, monday, monday + timedelta(days=3, minutes=5), HOUR)
    assert (found.due, found.missed) == (monday + timedelta(days=3), 2)
    assert slots_due(daily, monday, monday + timedelta(days=3, hours=2), HOUR).due is None
    assert slots_due(daily, monday, monday + timedelta(hours=23), HOUR) == slots_due(daily, monday, monday, HOUR)
    assert slots_due(At(monday), monday - HOUR, monday + HOUR, HOUR).due == monday
    assert slots_due(At(monday), monday, monday + HOUR, HOUR).due is None


@given(SPANS, st.lists(st.integers(0, 5_000), min_size=1, max_size=40), SPANS)
def test_each_slot_runs_once_at_most_whenever_somebody_looks(
    span: timedelta, looks: list[int], grace: timedelta
) -> None:
    """Looking again and again, at any moments, gives growing slots that are each due; none comes twice."""
    schedule, last, runs, missed = Every(span, NOW), NOW, [], 0
    for minutes in sorted(looks):
        now = NOW + timedelta(minutes=minutes)
        found = slots_due(schedule, last, now, grace)
        missed += found.missed
        if found.due is not None:
            assert now - grace <= found.due <= now
            runs.append(found.due)
        last = max(last, now)
    assert runs == sorted(set(runs))
    assert len(runs) + missed == len(all_slots(schedule, NOW, last))


def test_a_year_of_sleep_is_counted_at_once() -> None:
    """Half a million minutes that nobody looked cost no loop."""
    found = slots_due(Every(timedelta(minutes=1), NOW), NOW, NOW + timedelta(days=365), HOUR)
    assert found.missed == 365 * 24 * 60 - 1


def test_a_slot_is_never_before_the_moment_that_is_asked_about() -> None:
    """Also when it is asked within the hour that a clock change repeats."""
    cron, moment = read("30 2 * * *"), datetime(2026, 10, 24, 23, 50, tzinfo=UTC)
    found = set[datetime]()
    for _ in range(24):
        slot = cron.after(moment)
        assert slot is not None
        assert slot > moment
        found.add(slot)
        moment += timedelta(minutes=10)
    assert local(*sorted(found)) == ["10-25 02:30", "10-26 02:30"]
