"""Jobs made from requests, and their due slots."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gateway.errors import ScheduleError
from gateway.schedule.jobs import AT_GRACE, JobSchedule, Wish, due, is_held_up, jitter
from gateway.schedule.settings import ScheduleSettings
from gateway.stores.jobs import Job, JobId, JobSpec, Slot
from gateway.stores.sqlite.store import SqliteStore

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAILY = JobSpec("main", "0 9 * * *", "Europe/Berlin", "tea", NOON)


def job(spec: JobSpec, next_slot: datetime, number: int = 1) -> Job:
    return Job(JobId(number), spec, is_enabled=True, next_slot=next_slot)


@pytest.fixture
def job_schedule() -> JobSchedule:
    unused: SqliteStore | None = None
    return JobSchedule(unused, ScheduleSettings(), lambda: NOON.astimezone(BERLIN), unused)  # type: ignore[arg-type]


def test_a_wish_is_read_in_the_owners_zone_or_its_own(job_schedule: JobSchedule) -> None:
    """The errand keeps the words and what they were read as of, so that it is read the same ever after."""
    spec, first = job_schedule.check(Wish("main", " 0 9 * * * ", " tea ", "you"))
    assert spec == JobSpec("main", "0 9 * * *", "Europe/Berlin", "tea", NOON, made_by="you")
    assert first == datetime(2026, 3, 2, 8, tzinfo=UTC)
    _, first = job_schedule.check(Wish("main", "0 9 * * *", "tea", "you", zone="Asia/Tokyo"))
    assert first == datetime(2026, 3, 2, 0, tzinfo=UTC)


def test_a_time_in_words_is_stored_in_the_syntax_of_schedules(job_schedule: JobSchedule) -> None:
    """The words are read once, since "tomorrow" would mean another day later."""
    spec, first = job_schedule.check(Wish("main", "remind me tomorrow at 9 to make tea", "tea", "you"))
    assert (spec.schedule, first) == ("at 2026-03-02 09:00", datetime(2026, 3, 2, 8, tzinfo=UTC))
    spec, _ = job_schedule.check(Wish("main", "every tuesday at 7", "tea", "you"))
    assert spec.schedule == "Tue 07:00"


@pytest.mark.parametrize(
    "words", ["remind @Ben %s to call", "%s mail ann@example.org", "remind me %s to *really* call"]
)
def test_a_sign_of_schedules_within_a_sentence_is_none(job_schedule: JobSchedule, words: str) -> None:
    """People are called by @, addresses have one, and Markdown has stars: the time beside them is read."""
    spec, _ = job_schedule.check(Wish("main", words % "tomorrow at 9", "tea", "you"))
    assert spec.schedule == "at 2026-03-02 09:00"


@pytest.mark.parametrize("when", ["at 2026-02-01 09:00", "2026-13-40 09:00", "0 9 * * MON-XYZ", "*/0 9:00"])
def test_an_invalid_date_is_not_read_as_words(job_schedule: JobSchedule, when: str) -> None:
    """Its hour alone would be another time."""
    with pytest.raises(ScheduleError):
        job_schedule.check(Wish("main", when, "tea", "you"))


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (Wish("main", "whenever", "tea", "you"), "is not a schedule"),
        (Wish("main", "remind me to buy milk", "tea", "you"), "is not a schedule"),
        (Wish("main", "daily 25:00", "tea", "you"), "the hour in '0 25"),
        (Wish("main", "tomorrow at 7:61", "tea", "you"), "is not a schedule"),
        (Wish("main", "in 5m", "  ", "you"), "something to do"),
        (Wish("main", "in 5m", "tea", "you", zone="Mars/Base"), "not a time zone"),
        (Wish("main", "0 0 30 2 *", "tea", "you"), "day of the month|never occurs"),
    ],
)
def test_a_wish_that_cannot_be_kept_is_told_with_an_example(job_schedule: JobSchedule, wish: Wish, told: str) -> None:
    """Nothing is kept of it."""
    with pytest.raises(ScheduleError, match=told):
        job_schedule.check(wish)


def test_nothing_is_due_before_its_slot() -> None:
    """Nor is what is disabled, nor what has no time to come."""
    slot = datetime(2026, 3, 2, 8, tzinfo=UTC)
    assert due(job(DAILY, slot), ScheduleSettings(), slot - timedelta(seconds=1)) is None
    assert due(Job(JobId(1), DAILY, is_enabled=False, next_slot=slot), ScheduleSettings(), slot) is None
    found = due(job(DAILY, slot), ScheduleSettings(), slot)
    assert found is not None
    assert (found.slot, found.is_too_late, found.missed) == (Slot(slot, slot, slot + 24 * HOUR), False, 0)


@pytest.mark.parametrize(
    ("late", "runs", "missed"), [(HOUR, True, 0), (HOUR * 1.1, False, 1), (24 * HOUR, True, 1), (60 * HOUR, False, 3)]
)
def test_however_many_slots_passed_one_is_run_and_only_within_its_grace(
    late: timedelta, *, runs: bool, missed: int
) -> None:
    """The job moves on to its next time to come either way."""
    slot = datetime(2026, 3, 2, 8, tzinfo=UTC)
    found = due(job(DAILY, slot), ScheduleSettings(), slot + late)
    assert found is not None
    assert (not found.is_too_late, found.missed) == (runs, missed)
    assert found.slot.before == slot
    assert found.slot.after is not None
    assert found.slot.after > slot + late


@pytest.mark.parametrize(("late", "runs"), [(AT_GRACE, True), (AT_GRACE + HOUR, False)])
def test_what_comes_once_waits_a_day(late: timedelta, *, runs: bool) -> None:
    """And never comes again."""
    slot = datetime(2026, 3, 2, 8, tzinfo=UTC)
    found = due(
        job(JobSpec("main", "at 2026-03-02 09:00", "Europe/Berlin", "tea", NOON), slot), ScheduleSettings(), slot + late
    )
    assert found is not None
    assert (not found.is_too_late, found.slot.after) == (runs, None)


def test_jitter_is_each_jobs_own_and_always_the_same() -> None:
    """Within what is set; a reminder comes at its minute."""
    slot = datetime(2026, 3, 2, 8, tzinfo=UTC)
    jitters = [jitter(job(DAILY, slot, number), 600) for number in range(1, 40)]
    assert jitters == [jitter(job(DAILY, slot, number), 600) for number in range(1, 40)]
    assert len(set(jitters)) > 30
    assert max(jitters) <= timedelta(seconds=600)
    assert jitter(job(JobSpec("main", "in 5m", "UTC", "tea", NOON), slot), 600) == timedelta()
    late = jitter(job(DAILY, slot), 600)
    assert due(job(DAILY, slot), ScheduleSettings(jitter_s=600), slot + late - timedelta(seconds=1)) is None
    assert due(job(DAILY, slot), ScheduleSettings(jitter_s=600), slot + late) is not None


@pytest.mark.parametrize(("schedule", "period"), [("every 5m", HOUR / 12), ("0 9 * * *", 24 * HOUR)])
def test_a_slot_that_only_a_clock_ahead_could_give_holds_its_job_up(schedule: str, period: timedelta) -> None:
    """Minutes between two machines, an hour by a zone's new rules, and a reminder of a far day are no such thing."""
    spec = JobSpec("main", schedule, "Europe/Berlin", "tea", datetime(2026, 3, 1, 8, tzinfo=UTC))
    slot = datetime(2026, 3, 2, 8, tzinfo=UTC)
    assert not is_held_up(job(spec, slot), slot - period)
    assert not is_held_up(job(spec, slot + period), slot - timedelta(minutes=50))
    assert not is_held_up(job(spec, slot + HOUR), slot - period)
    assert is_held_up(job(spec, slot + period + 2 * HOUR), slot - HOUR)
    assert not is_held_up(Job(JobId(1), spec, is_enabled=False, next_slot=slot + 900 * HOUR), slot)
    once = JobSpec("main", "at 2027-03-02 09:00", "Europe/Berlin", "tea", NOON)
    assert not is_held_up(job(once, datetime(2027, 3, 2, 8, tzinfo=UTC)), NOON)


def test_the_reader_of_spoken_times_is_loaded_after_the_start() -> None:
    """A start does not pay for its patterns, and the first order does not wait for them."""
    code = """
import asyncio, sys
from gateway.app import app
from gateway.runtime.clock import SystemClock
from gateway.schedule import jobs
print(jobs.READER in sys.modules)
jobs.READER_AFTER_S = 0.01
asyncio.run(app.load_reader(SystemClock()))
print(jobs.READER in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
