"""The agents' jobs: limits on their number, and the slots that are due."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import blake2b
from importlib import import_module
from zoneinfo import ZoneInfo

from msgspec import Struct

from gateway.errors import ScheduleError
from gateway.runtime.clock import SKEW, Clock, is_ahead, pause
from gateway.schedule.recurrence import At, Schedule, Slots, read_schedule, slots_due
from gateway.schedule.settings import ScheduleSettings
from gateway.settings.zone import load_zone
from gateway.stores.jobs import Job, JobId, Jobs, JobSpec, Slot
from workspaces.lazy_pattern import lazy_pattern

READER = "gateway.schedule.named_time"
"""Reads times in words; its patterns take a tenth of a second to import."""
READER_AFTER_S = 5.0
"""Seconds after a start at which it is imported: what a start does itself comes first. Our choice."""
TOO_MANY = "limit.jobs"
"""Reason code: a job was requested, and not stored."""
AT_GRACE = timedelta(hours=24)
"""How late a job that runs once is still run (issue's number)."""


class Wish(Struct, frozen=True):
    """A requested job."""

    agent: str
    when: str
    what: str
    made_by: str
    zone: str | None = None
    """The owner's time zone if it is `None`."""
    in_main: bool = False
    private: bool = False


class DueJob(Struct, frozen=True):
    job: Job
    slot: Slot
    is_too_late: bool
    missed: int
    """How many slots before this one are skipped."""


async def load_reader(clock: Clock) -> None:
    """Import what reads times in words, soon after a start and on a thread: nobody's first order waits for that."""
    await pause(clock, READER_AFTER_S)
    await asyncio.to_thread(import_module, READER)


class JobSchedule:
    """The jobs of all agents. Changes raise ScheduleError for an invalid request, and StoreError."""

    def __init__(
        self,
        jobs: Jobs,
        settings: ScheduleSettings,
        now: Callable[[], datetime],
        count: Callable[[str], Awaitable[None]],
    ) -> None:
        """*now* returns the time in the owner's zone; *count* takes a reason code for the ledger."""
        self._jobs = jobs
        self.settings = settings
        self._now = now
        self._count = count
        self.changed = asyncio.Event()
        """Set whenever the next slot may have changed."""

    def check(self, wish: Wish) -> tuple[JobSpec, datetime]:
        """Return the job to be stored for *wish*, and its first slot."""
        now = self._now()
        zone = _zone(wish.zone) if wish.zone else self.zone
        if not wish.what.strip():
            raise ScheduleError('a job needs something to do, such as "check the oven"')
        when, schedule = _read(wish.when.strip(), zone, now)
        first = schedule.after(now.astimezone(UTC))
        if first is None:
            raise ScheduleError(f"{wish.when} never occurs")
        spec = JobSpec(
            wish.agent,
            when,
            str(zone),
            wish.what.strip(),
            now.astimezone(UTC),
            wish.in_main,
            wish.private,
            wish.made_by,
        )
        return spec, first

    async def add(self, wish: Wish, key: str | None = None) -> Job:
        """Add a job; with the same *key* again it is the same."""
        spec, first = self.check(wish)
        job = await self._jobs.add(spec, first, self.settings.jobs, key)
        if job is None:
            most = self.settings.jobs
            await self._count(TOO_MANY)
            raise ScheduleError(
                f"an agent may have {most} jobs (schedule.jobs), and {wish.agent} has reached that limit; remove one"
            )
        self.changed.set()
        return job

    async def all(self, agent: str | None = None) -> Sequence[Job]:
        """Return the jobs in the order of their numbers; of one agent if it is given."""
        return [job for job in await self._jobs.all() if agent in {None, job.spec.agent}]

    async def get(self, number: int, agent: str | None = None) -> Job:
        """Return the job with that number; another agent's counts as absent."""
        jobs: dict[int, Job] = {job.id: job for job in await self.all(agent)}
        if number not in jobs:
            raise ScheduleError(f"there is no job {number}; the jobs are: {', '.join(map(str, jobs)) or 'none'}")
        return jobs[number]

    async def remove(self, number: int, agent: str | None = None) -> Job:
        job = await self.get(number, agent)
        await self._jobs.remove(job.id)
        self.changed.set()
        return job

    async def enable(self, number: int, agent: str | None = None) -> Job:
        """Enable the job from now on, and return it."""
        job = await self.get(number, agent)
        first = schedule_of(job.spec).after(self._now().astimezone(UTC))
        if first is None:
            raise ScheduleError(f"job {number} has no future run: {job.spec.schedule} is in the past")
        await self._jobs.set_next(job.id, first)
        self.changed.set()
        return await self.get(number, agent)

    async def disable(self, job: JobId) -> None:
        await self._jobs.set_next(job, None)

    def due(self, job: Job) -> DueJob | None:
        """Return the due slot of *job* now; `None` if there is none."""
        return due(job, self.settings, self._now().astimezone(UTC))

    def is_held_up(self, job: Job) -> bool:
        """Return whether a clock that was ahead gave *job* its next slot."""
        return is_held_up(job, self._now().astimezone(UTC))

    def jitter(self, job: Job) -> timedelta:
        """Return how long after its slots *job* is run."""
        return jitter(job, self.settings.jitter_s)

    @property
    def zone(self) -> tzinfo:
        """The owner's time zone."""
        return self._now().tzinfo or UTC

    def wakes_at(self, job: Job) -> datetime | None:
        """Return the next time at which *job* is due."""
        if not job.is_enabled or job.next_slot is None:
            return None
        return job.next_slot + self.jitter(job)


def due(job: Job, settings: ScheduleSettings, now: datetime) -> DueJob | None:
    """Return the slot of *job* due at *now* (in UTC), with its next slot after that."""
    if not job.is_enabled or job.next_slot is None:
        return None
    moment = now - jitter(job, settings.jitter_s)
    if job.next_slot > moment:
        return None
    schedule = schedule_of(job.spec)
    grace = AT_GRACE if isinstance(schedule, At) else timedelta(minutes=settings.grace_minutes)
    found = _slots(schedule, job, moment, grace)
    taken = found.due or job.next_slot
    return DueJob(job, Slot(taken, job.next_slot, schedule.after(moment)), found.due is None, found.missed)


def is_held_up(job: Job, now: datetime) -> bool:
    """Return whether the next slot of *job* is later than any that its schedule gives at *now* (in UTC)."""
    if not job.is_enabled or not is_ahead(job.next_slot, now):
        return False
    first = schedule_of(job.spec).after(now + SKEW)
    return first is not None and is_ahead(job.next_slot, first)


def _slots(schedule: Schedule, job: Job, now: datetime, grace: timedelta) -> Slots:
    """Return the slots from the job's stored next one on, even if an earlier time zone database computed that."""
    assert job.next_slot is not None  # noqa: S101  # whoever calls has looked
    found = slots_due(schedule, job.next_slot - timedelta(microseconds=1), now, grace)
    if found.due is None and not found.missed:  # the zone's rules have changed since
        return Slots(job.next_slot if now - job.next_slot <= grace else None, 0)
    return found


def schedule_of(spec: JobSpec) -> Schedule:
    """Return the schedule of *spec*. Raises ScheduleError if its zone no longer exists."""
    return read_schedule(spec.schedule, _zone(spec.zone), spec.begun_at)


def shown_schedule(spec: JobSpec, zone: tzinfo) -> str:
    """Format the schedule of *spec* for a person: `in 20m` as its moment in *zone*, all else as written.

    A time of another zone than *zone*, the owner's, says so: the job was made before that one was set.
    """
    if not spec.schedule.lower().startswith("in "):
        is_plain = spec.zone in {str(zone), ""} or spec.zone in spec.schedule or spec.schedule.startswith("every ")
        return spec.schedule if is_plain else f"{spec.schedule} ({spec.zone})"
    schedule = read_schedule(spec.schedule, UTC, spec.begun_at)
    return f"at {schedule.moment.astimezone(zone):%Y-%m-%d %H:%M}" if isinstance(schedule, At) else spec.schedule


def jitter(job: Job, most_s: int) -> timedelta:
    """Return the delay of *job* after its slots, always the same; zero for a job that runs once."""
    if not most_s or isinstance(schedule_of(job.spec), At):
        return timedelta()
    number = int.from_bytes(blake2b(str(job.id).encode(), digest_size=8).digest())
    return timedelta(seconds=number % (most_s + 1))


_EXACT = lazy_pattern(
    r"(?<!\S)\*(?:/\d{1,2})?(?!\S)|\A\s*@|\A\s*at\s{1,3}\d{4}-\d|(?<!\d)(?:2[5-9]|[3-9]\d):\d\d|\d:[6-9]\d"
)
"""Cron expressions, dates, and times that no day has: an invalid one is refused, and not read as words."""


def _read(when: str, zone: tzinfo, now: datetime) -> tuple[str, Schedule]:
    """Return *when*, a schedule or a time in words, in the syntax of schedules, and what it means."""
    try:
        return when, read_schedule(when, zone, now.astimezone(UTC))
    except ScheduleError:
        from gateway.schedule.named_time import read_time  # its patterns take time at a start

        named = None if _EXACT.search(when) else read_time(when, now.astimezone(zone))
        if named is None:
            raise
    return named, read_schedule(named, zone, now.astimezone(UTC))


def _zone(name: str) -> ZoneInfo:
    zone = load_zone(name)
    if zone is None:
        raise ScheduleError(f'{name!r} is not a time zone: write one such as "Europe/Berlin"')
    return zone
