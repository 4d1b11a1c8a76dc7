"""This file keeps the agents' jobs: it reads when they are due, bounds how many there are, and says what is due now."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import blake2b
from zoneinfo import ZoneInfo

from gateway.config.zone import load_zone
from gateway.errors import ScheduleError
from gateway.schedule.recurrence import At, Schedule, Slots, read_schedule, slots_due
from gateway.stores.jobs import Errand, Job, JobId, Jobs, Slot

TOO_MANY = "limit.jobs"
"""Reason code: a job was asked for, and not kept."""
AT_GRACE = timedelta(hours=24)
"""How late a job that comes once is still run (issue's number)."""


@dataclass(frozen=True, slots=True)
class Punctuality:
    """What the configuration says about times."""

    grace: timedelta = timedelta(hours=1)
    """How late a job that comes again is still run."""
    jitter_s: int = 0
    most: int = 50
    """Jobs of one agent that have a time to come."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A job that somebody wants."""

    agent: str
    when: str
    what: str
    made_by: str
    zone: str | None = None
    """The owner's unless it is given."""
    in_main: bool = False
    private: bool = False


@dataclass(frozen=True, slots=True)
class DueJob:
    """A job of which a slot has come."""

    job: Job
    slot: Slot
    is_too_late: bool
    missed: int
    """How many slots before this one are let go."""


class Timetable:
    """The jobs of our agents. What changes them raises ScheduleError for what cannot be done, and StoreError."""

    def __init__(self, jobs: Jobs, punctuality: Punctuality, now: Callable[[], datetime]) -> None:
        """*now* tells the time in the owner's zone."""
        self._jobs = jobs
        self.punctuality = punctuality
        self._now = now
        self.changed: Callable[[], None] = _nobody
        """Told whenever the next slot may be another one."""
        self.count: Callable[[str], Awaitable[None]] = _uncounted
        """Takes a reason code for the ledger."""

    def check(self, wish: Wish) -> tuple[Errand, datetime]:
        """Return what would be kept for *wish*, and its first slot."""
        now = self._now()
        zone = _zone(wish.zone) if wish.zone else self.zone
        if not wish.what.strip():
            raise ScheduleError('a job needs something to do, such as "check the oven"')
        schedule = read_schedule(wish.when, zone, now.astimezone(UTC))
        first = schedule.after(now.astimezone(UTC))
        if first is None:
            raise ScheduleError(f"{wish.when} never comes")
        errand = Errand(
            wish.agent,
            wish.when.strip(),
            str(zone),
            wish.what.strip(),
            now.astimezone(UTC),
            wish.in_main,
            wish.private,
            wish.made_by,
        )
        return errand, first

    async def add(self, wish: Wish, key: str | None = None) -> Job:
        """Keep a job; with the same *key* again it is the same."""
        errand, first = self.check(wish)
        job = await self._jobs.add(errand, first, self.punctuality.most, key)
        if job is None:
            most = self.punctuality.most
            await self.count(TOO_MANY)
            raise ScheduleError(f"an agent may have {most} jobs (schedule.jobs), and {wish.agent} has them; remove one")
        self.changed()
        return job

    async def all(self, agent: str | None = None) -> Sequence[Job]:
        """Return the jobs by their numbers; of one agent if it is given."""
        return [job for job in await self._jobs.all() if agent in {None, job.errand.agent}]

    async def get(self, number: int, agent: str | None = None) -> Job:
        """Return the job with that number; another agent's looks absent."""
        found = next((job for job in await self.all(agent) if job.id == number), None)
        if found is None:
            raise ScheduleError(f"there is no job {number}; the list has them")
        return found

    async def remove(self, number: int, agent: str | None = None) -> Job:
        """Forget the job, and return what it was."""
        job = await self.get(number, agent)
        await self._jobs.remove(job.id)
        self.changed()
        return job

    async def enable(self, number: int, agent: str | None = None) -> Job:
        """Let the job come again from now on, and return it."""
        job = await self.get(number, agent)
        first = schedule_of(job.errand).after(self._now().astimezone(UTC))
        if first is None:
            raise ScheduleError(f"job {number} has no time to come: {job.errand.schedule} is over")
        await self._jobs.set_next(job.id, first)
        self.changed()
        return await self.get(number, agent)

    async def disable(self, job: JobId) -> None:
        """Let the job come no more until it is enabled."""
        await self._jobs.set_next(job, None)

    def due(self, job: Job) -> DueJob | None:
        """Return what is due of *job* now; `None` if nothing is."""
        return due(job, self.punctuality, self._now().astimezone(UTC))

    def jitter(self, job: Job) -> timedelta:
        """Return how long after its slots *job* is run."""
        return jitter(job, self.punctuality.jitter_s)

    @property
    def zone(self) -> tzinfo:
        """The owner's."""
        return self._now().tzinfo or UTC

    def wakes_at(self, job: Job) -> datetime | None:
        """Return when *job* is due next."""
        if not job.is_enabled or job.next_slot is None:
            return None
        return job.next_slot + self.jitter(job)


def due(job: Job, punctuality: Punctuality, now: datetime) -> DueJob | None:
    """Return what of *job* is due at *now* (in UTC), with what its next slot is then."""
    if not job.is_enabled or job.next_slot is None:
        return None
    moment = now - jitter(job, punctuality.jitter_s)
    if job.next_slot > moment:
        return None
    schedule = schedule_of(job.errand)
    grace = AT_GRACE if isinstance(schedule, At) else punctuality.grace
    found = _slots(schedule, job, moment, grace)
    taken = found.due or job.next_slot
    return DueJob(job, Slot(taken, job.next_slot, schedule.after(moment)), found.due is None, found.missed)


def _slots(schedule: Schedule, job: Job, now: datetime, grace: timedelta) -> Slots:
    """Return the slots from the job's next on: what an earlier time zone database made of it counts as it was kept."""
    assert job.next_slot is not None  # noqa: S101  # whoever calls has looked
    found = slots_due(schedule, job.next_slot - timedelta(microseconds=1), now, grace)
    if found.due is None and not found.missed:  # the rules of the zone have changed since
        return Slots(job.next_slot if now - job.next_slot <= grace else None, 0)
    return found


def schedule_of(errand: Errand) -> Schedule:
    """Return when *errand* is due. Raises ScheduleError if its zone is gone."""
    return read_schedule(errand.schedule, _zone(errand.zone), errand.begun_at)


def shown_schedule(errand: Errand, zone: tzinfo) -> str:
    """Return when *errand* is due as a person reads it: `in 20m` as its moment in *zone*, all else as written."""
    if not errand.schedule.lower().startswith("in "):
        return errand.schedule
    schedule = read_schedule(errand.schedule, UTC, errand.begun_at)
    return f"at {schedule.moment.astimezone(zone):%Y-%m-%d %H:%M}" if isinstance(schedule, At) else errand.schedule


def jitter(job: Job, most_s: int) -> timedelta:
    """Return how long after its slots *job* is run, always the same; nothing for a job that comes once."""
    if not most_s or isinstance(schedule_of(job.errand), At):
        return timedelta()
    number = int.from_bytes(blake2b(str(job.id).encode(), digest_size=8).digest())
    return timedelta(seconds=number % (most_s + 1))


def _zone(name: str) -> ZoneInfo:
    zone = load_zone(name)
    if zone is None:
        raise ScheduleError(f'{name!r} is no time zone: write one such as "Europe/Berlin"')
    return zone


def _nobody() -> None:
    """Nobody waits."""


async def _uncounted(_: str) -> None:
    """Nobody counts."""
