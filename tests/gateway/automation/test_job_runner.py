"""Jobs run at their times: each slot once, despite restarts and clock changes."""

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from adapters.channel import Address, InboundMessage
from gateway.automation.job_runner import FAILURES, JobRunner, OwnerContact
from gateway.errors import ScheduleError
from gateway.schedule.jobs import JobSchedule, Wish, schedule_of
from gateway.schedule.settings import ScheduleSettings
from gateway.stores.jobs import Job, JobId, Jobs, JobSpec, RunState, Slot
from gateway.stores.rows import InboxRow, TurnCommit
from gateway.stores.sqlite.store import SqliteStore
from tests.fakes.clock import ManualClock
from workspaces.access import AgentId

MAIN = AgentId("main")
OWNER = Address("telegram", "home", "7")
BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = 3600.0


class Tower:
    """A ticker on a real store, and what it does to the rest of the gateway."""

    def __init__(self, store: SqliteStore, clock: ManualClock, settings: ScheduleSettings | None = None) -> None:
        self.store = store
        self.clock = clock
        self.owner: Address | None = OWNER
        self.handed_on: list[InboxRow] = []
        self.told: dict[str, tuple[str, Address | None]] = {}
        self.job_schedule = JobSchedule(
            store.jobs, settings or ScheduleSettings(), lambda: clock.now().astimezone(BERLIN), store.count
        )
        self.job_runner = self.restarted()

    def restarted(self) -> JobRunner:
        """Return the ticker of another start."""
        contact = OwnerContact(self._owner, self._tell)
        return JobRunner(self.job_schedule, self.store, {MAIN}, contact, self.clock, self.handed_on.append)

    async def add(self, when: str, what: str = "tea", *, in_main: bool = False, private: bool = False) -> Job:
        return await self.job_schedule.add(Wish("main", when, what, "you", None, in_main, private))

    async def after(self, seconds: float) -> list[InboxRow]:
        """Return what is taken in when so much time has passed."""
        before = len(self.handed_on)
        self.clock.advance(seconds)
        await self.job_runner.look()
        return self.handed_on[before:]

    async def answered(self, row: InboxRow, *, has_failed: bool = False) -> None:
        await self.store.commit_turn(TurnCommit(row.turn_id, [row.id], [], has_failed))

    async def reasons(self) -> dict[str, int]:
        return (await self.store.report()).reasons

    async def _owner(self, _: AgentId) -> Address | None:
        return self.owner

    async def _tell(self, key: str, said: str, to: Address | None) -> None:
        self.told.setdefault(key, (said, to))


@pytest.fixture
async def tower(tmp_path: Path) -> AsyncIterator[Tower]:
    clock = ManualClock(NOON)
    store = await SqliteStore.open(tmp_path / "state.db", clock=clock)
    yield Tower(store, clock)
    await store.close()


async def test_a_slot_is_a_message_to_the_agent_that_answers_the_owner(tower: Tower) -> None:
    """By its address it gets a session and an access of its own; its id is the slot."""
    job = await tower.add("every 2h", "look after the tea")
    assert await tower.after(HOUR) == []
    (row,) = await tower.after(HOUR)
    assert row.message.address == Address("clock", "main", f"cron:{job.id}")
    assert (row.message.id, row.message.text) == ("2026-03-01T14:00:00+00:00", "look after the tea")
    assert row.message.answers_to == OWNER
    assert await tower.after(HOUR) == []
    assert [run.state for run in await tower.store.jobs.history(job.id)] == [RunState.RUNNING]


async def test_a_private_job_and_one_in_main_say_so_by_their_address(tower: Tower) -> None:
    """What runs in the owner's conversation cannot pass as the owner's words."""
    await tower.add("in 5m", private=True)
    await tower.add("in 5m", in_main=True)
    private, in_main = await tower.after(300)
    assert private.message.address == Address("clock", "main", "cron:1", "private")
    assert in_main.message.address == Address("clock", "main", "main:2")
    assert in_main.message.text == "(Nobody wrote this now: job 2 is due, in 5m.)\n\ntea"


async def test_thirty_days_with_nothing_due_ask_nobody(tower: Tower) -> None:
    """Not one message, so not one call of a model."""
    await tower.add("at 2026-12-24 09:00")
    await tower.job_schedule.disable((await tower.add("every 5m")).id)
    for _ in range(30 * 24):
        assert await tower.after(HOUR) == []
    assert await tower.store.inbox.waiting() == []
    assert await tower.reasons() == {}


async def test_what_comes_late_is_run_once_and_says_so(tower: Tower) -> None:
    """Of all that passed, the latest; what was left out is counted and told."""
    await tower.add("every 10m")
    (row,) = await tower.after(HOUR + 420)
    assert row.message.id == "2026-03-01T13:00:00+00:00"
    assert row.message.text == (
        "(It was due 2026-03-01 14:00 and comes late. Earlier times that were left out: 5.)\n\ntea"
    )
    assert await tower.reasons() == {"schedule_missed": 5}


async def test_a_reminder_that_is_too_late_is_told_instead_of_run(tower: Tower) -> None:
    """Nothing that somebody waits for disappears without a word; a job that comes again just waits for its next."""
    job, daily = await tower.add("in 5m", "call Ann"), await tower.add("0 14 * * *")
    assert await tower.after(26.5 * HOUR) == []
    said, to = tower.told[f"schedule_missed:{job.id}:2026-03-01T12:05:00+00:00"]
    assert (said.endswith("too late now: call Ann"), to) == (True, OWNER)
    assert [run.state for run in await tower.store.jobs.history(job.id)] == [RunState.MISSED]
    assert [each.next_slot for each in await tower.job_schedule.all()] == [None, datetime(2026, 3, 3, 13, tzinfo=UTC)]
    assert [run.state for run in await tower.store.jobs.history(daily.id)] == [RunState.MISSED]
    assert await tower.after(HOUR) == []


async def test_a_repeated_reminder_that_is_too_late_is_told_too(tower: Tower) -> None:
    """Its owner relies on each one: an evening without power is no reason to say nothing of the pills."""
    job = await tower.add("0 14 * * *", "Remind your owner: fill the pill box")
    assert await tower.after(26.5 * HOUR) == []
    said, to = tower.told[f"schedule_missed:{job.id}:2026-03-01T13:00:00+00:00"]
    assert (said.endswith("too late now: fill the pill box"), to) == (True, OWNER)


async def test_without_a_way_to_the_owner_nothing_is_run(tower: Tower) -> None:
    """It is counted each time and told once, where there is always somebody."""
    await tower.add("every 1h")
    tower.owner = None
    assert [await tower.after(HOUR) for _ in range(3)] == [[], [], []]
    assert await tower.reasons() == {"no_route": 3}
    assert [to for _, to in tower.told.values()] == [None]
    with pytest.raises(ScheduleError, match="no direct chat"):
        await tower.job_runner.run_now(1)


async def test_a_job_that_fails_again_and_again_is_stopped_with_one_notice(tower: Tower) -> None:
    """Enabled again it begins anew; a success between two failures forgives them."""
    job = await tower.add("every 1h")
    for number in range(1, 2 * FAILURES):
        (row,) = await tower.after(HOUR)
        await tower.answered(row, has_failed=number != FAILURES - 1)
    assert await tower.after(HOUR) == []
    ((said, to),) = tower.told.values()
    assert (said, to) == (
        "Job 1 (every 1h) failed 5 times in a row, so I stopped it. `/cron enable 1` starts it again.",
        OWNER,
    )
    assert await tower.reasons() == {"schedule_stopped": 1}
    assert await tower.after(HOUR) == []
    assert (await tower.job_schedule.enable(job.id)).failures == 0
    assert len(await tower.after(HOUR)) == 1


async def test_a_stored_job_at_the_end_of_the_calendar_is_stopped_with_a_notice(tower: Tower) -> None:
    """An hour after its time is no date at all; the gateway goes on, and so do the other jobs."""
    last = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    await tower.store.jobs.add(JobSpec("main", "at 9999-12-31T23:59+00:00", "UTC", "doom", NOON), last, 10)
    await tower.add("in 20m")
    assert [row.message.text for row in await tower.after(20 * 60)] == ["tea"]
    assert not (await tower.job_schedule.get(1)).is_enabled
    said = next(said for said, _ in tower.told.values())
    assert said.startswith("Job 1 (at 9999-12-31T23:59+00:00 (UTC)) cannot be read any more: ")
    assert "is more than a hundred years ahead, so I stopped it." in said


async def test_a_job_may_be_run_now(tower: Tower) -> None:
    """Beside its schedule, which stays as it is; once at one moment."""
    job = await tower.add("every 1h")
    assert await tower.job_runner.run_now(job.id) == "job 1 runs now; its answer arrives on telegram"
    with pytest.raises(ScheduleError, match="just run"):
        await tower.job_runner.run_now(job.id)
    with pytest.raises(ScheduleError, match="there is no job 1"):
        await tower.job_runner.run_now(job.id, AgentId("other"))
    assert [row.message.id for row in tower.handed_on] == ["run 2026-03-01T12:00:00+00:00"]
    assert len(await tower.after(HOUR)) == 1


async def test_another_gateways_agents_and_a_cap_of_none_are_left_alone(tower: Tower) -> None:
    """Who has the agent runs its jobs; with `jobs = 0` nothing is run."""
    await tower.job_schedule.add(Wish("other", "every 1h", "tea", "you"))
    await tower.add("every 1h")
    assert [row.message.address.account for row in await tower.after(HOUR)] == ["main"]
    closed = Tower(tower.store, tower.clock, ScheduleSettings(jobs=0))
    assert await closed.after(HOUR) == []
    with pytest.raises(ScheduleError, match=r"schedule\.jobs"):
        await closed.add("every 1h")


class KilledError(Exception):
    """The process is gone."""


class Dying:
    """Jobs whose store is killed now and then: before a slot is taken, or right after."""

    def __init__(self, jobs: Jobs, chance: random.Random) -> None:
        self._jobs = jobs
        self._chance = chance
        self.all = jobs.all

    async def take(self, job: JobId, slot: Slot, message: InboundMessage | None) -> InboxRow | None:
        fate = self._chance.random()
        if fate < 0.3:
            raise KilledError
        row = await self._jobs.take(job, slot, message)
        if fate > 0.7:
            raise KilledError
        return row


RESTARTS = 10_000
SCHEDULES = (
    "30 2 * * *",
    "0 9 * * MON-FRI",
    "every 7h",
    "0 */3 * * *",
    "30 1 * * * America/New_York",
    "at 2026-05-01 10:00",
)


async def test_over_ten_thousand_restarts_each_slot_is_taken_in_exactly_once(tower: Tower) -> None:
    """Through both clock changes of two zones, killed before and after a slot is taken, nothing twice and nothing lost.

    The judge counts, apart from the ticker, which slots there are; the clock moves up to 100 minutes between two
    starts, and not at all after a kill.
    """
    tower = Tower(tower.store, tower.clock, ScheduleSettings(grace_minutes=180))
    chance = random.Random(7)
    jobs = [await tower.add(when) for when in SCHEDULES]
    tower.store.jobs, kills = Dying(tower.store.jobs, chance), 0  # type: ignore[assignment]
    for _ in range(RESTARTS):
        job_runner = tower.restarted()
        try:
            await job_runner.look()
        except KilledError:
            kills += 1
        else:
            tower.clock.advance(chance.uniform(1, 6000))
    await drained(tower)
    assert tower.clock.now() > datetime(2026, 10, 27, tzinfo=UTC)
    assert kills > 100
    taken = [(row.message.address.chat, row.message.id) for row in await tower.store.inbox.waiting()]
    assert len(taken) == len(set(taken))
    expected = {(f"cron:{job.id}", slot.isoformat()) for job in jobs for slot in slots(job, tower.clock.now())}
    assert set(taken) == expected
    assert (await tower.reasons(), tower.told) == ({}, {})


async def drained(tower: Tower) -> None:
    while True:
        try:
            await tower.restarted().look()
        except KilledError:
            continue
        return


def slots(job: Job, until: datetime) -> list[datetime]:
    """Return the job's slots up to *until*, by its schedule alone."""
    found, schedule = [], schedule_of(job.spec)
    slot = schedule.after(job.spec.begun_at)
    while slot is not None and slot <= until:
        found.append(slot)
        slot = schedule.after(slot)
    return found


async def test_a_slot_that_a_clock_change_skips_or_repeats_is_run_once(tower: Tower) -> None:
    """Half past two on the two nights: once each, at the next minute there is, and at the first of the two."""
    await tower.add("30 2 * * *")
    tower.clock.advance((datetime(2026, 3, 28, 12, tzinfo=UTC) - NOON).total_seconds())
    await tower.job_runner.look()
    (row,) = [row for _ in range(30) for row in await tower.after(HOUR / 2)]
    spring = datetime.fromisoformat(row.message.id)
    assert spring.astimezone(BERLIN) == datetime(2026, 3, 29, 3, tzinfo=BERLIN)
    tower.clock.advance(timedelta(days=210).total_seconds())
    tower.clock.advance((datetime(2026, 10, 24, 12, tzinfo=UTC) - tower.clock.now()).total_seconds())
    await tower.job_runner.look()
    (row,) = [row for _ in range(30) for row in await tower.after(HOUR / 2)]
    assert datetime.fromisoformat(row.message.id) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
