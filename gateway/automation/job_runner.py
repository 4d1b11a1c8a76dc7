"""Runs jobs at their times: starts each slot once, and notifies the owner of jobs that cannot run."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Never

import structlog
from msgspec import Struct

from adapters.channel import Address, ChatKind, InboundMessage
from gateway.admission.internal_channels import CLOCK, NOBODY, job_address
from gateway.agent.models.offline_quotes import as_reminder
from gateway.agent.person_requests import REMINDER
from gateway.automation.job_requests import subject
from gateway.errors import ScheduleError, StoreError
from gateway.runtime.clock import Clock
from gateway.schedule.jobs import DueJob, JobSchedule, schedule_of, shown_schedule
from gateway.schedule.recurrence import At
from gateway.stores.jobs import Job, JobRun
from gateway.stores.ports import Store
from gateway.stores.rows import InboxRow, OutboxRow
from workspaces.access import AgentId

log = structlog.get_logger()

LOOK_EVERY_S = 60.0
"""Longest interval between looks: the machine may have slept, or another gateway's command may have changed a job."""
FAILURES = 5
"""Consecutive failures until a job is disabled (the requirements' number)."""
LATE_AFTER = timedelta(minutes=5)
"""From this delay on a run says that it is late; our choice."""
NO_ROUTE = "no_route"
MISSED = "schedule_missed"
STOPPED = "schedule_stopped"
UNREADABLE = "schedule_unreadable"
"""Reason codes that are counted here."""


class OwnerContact(Struct, frozen=True):
    owner: Callable[[AgentId], Awaitable[Address | None]]
    """Returns the owner's direct chat."""
    tell: Callable[[str, str, Address | None], Awaitable[None]]
    """Notifies the owner once for each key, at that address, or at the terminal without one."""


class JobRunner:
    """Starts due slots; despite restarts, each is run once, or skipped and counted."""

    def __init__(
        self,
        job_schedule: JobSchedule,
        store: Store,
        agents: Collection[AgentId],
        ways: OwnerContact,
        clock: Clock,
        took_in: Callable[[InboxRow], None] | None = None,
    ) -> None:
        """*took_in* passes a stored message to its lane; without it the message is left for a running gateway."""
        self.job_schedule = job_schedule
        self._took_in = took_in
        self._store = store
        self._agents = agents
        self._ways = ways
        self._clock = clock
        self._woken = job_schedule.changed

    def hand_on(self, row: InboxRow) -> None:
        """Pass a stored message to its lane, if there are lanes."""
        if self._took_in is not None:
            self._took_in(row)

    async def work(self) -> Never:
        """Run due jobs until cancelled."""
        while True:
            self._woken.clear()
            try:
                await self.look()
                pause_s = await self._pause_s()
            except StoreError as exc:
                log.warning("jobs not looked at", detail=str(exc))
                pause_s = LOOK_EVERY_S
            await self._clock.wait(self._woken, pause_s)

    async def look(self) -> None:
        """Start every due slot. Raises StoreError."""
        if not self.job_schedule.settings.jobs:
            return
        for job in await self._ours():
            try:
                await self._see_to(job)
            except ScheduleError as exc:
                await self._stop(job, f"cannot be read any more: {exc}", reason=UNREADABLE)

    async def run_now(self, number: int, agent: AgentId | None = None) -> str:
        """Run the job beside its schedule, and return a description. Raises ScheduleError and StoreError."""
        job = await self.job_schedule.get(number, agent)
        owner = await self._ways.owner(AgentId(job.spec.agent))
        if owner is None:
            raise ScheduleError(
                "no direct chat with you is known on the account of owner.deliver; write to that bot once"
            )
        now = self._clock.now()
        row = await self._store.jobs.run(job.id, now, _message(job, f"run {now.isoformat()}", _prompt(job), owner, now))
        if row is None:
            raise ScheduleError(f"job {number} has just run")
        self.hand_on(row)
        when = "once the gateway runs" if self._took_in is None else "now"
        return f"job {number} runs {when}; its answer arrives on {owner.channel}"

    async def history(self, number: int, agent: AgentId | None = None) -> Sequence[JobRun]:
        """Return the outcomes of the job's latest slots, the newest first. Raises ScheduleError and StoreError."""
        job = await self.job_schedule.get(number, agent)
        return await self._store.jobs.history(job.id)

    def settled(self, row: InboxRow, _: Sequence[OutboxRow]) -> None:
        """Look again soon: the turn of *row* is over, and may have been a job's."""
        if row.message.address.channel == CLOCK:
            self._woken.set()

    async def _see_to(self, job: Job) -> None:
        if job.is_enabled and job.failures >= FAILURES:
            await self._stop(job, f"failed {job.failures} times in a row", reason=STOPPED)
        elif self.job_schedule.is_held_up(job):
            await self._resume(job)
        elif (found := self.job_schedule.due(job)) is not None:
            await self._take(found)

    async def _take(self, due: DueJob) -> None:
        job, owner = due.job, await self._ways.owner(AgentId(due.job.spec.agent))
        if owner is None or due.is_too_late:
            await self._skip_slot(due, owner)
            return
        if due.missed:
            await self._store.count(MISSED, due.missed)
        now = self._clock.now()
        text = _prompt(job, self._lateness(due, now))
        message = _message(job, due.slot.at.isoformat(), text, owner, now)
        row = await self._store.jobs.take(job.id, due.slot, message)
        if row is not None:
            log.info("job runs", job=job.id, agent=job.spec.agent, slot=due.slot.at.isoformat())
            self.hand_on(row)

    async def _skip_slot(self, due: DueJob, owner: Address | None) -> None:
        """Record a skipped slot; any notice goes out first, so that a crash between the two hides nothing."""
        job = due.job
        if owner is None:
            told = (
                f"Job {job.id} of agent {job.spec.agent} was not run: no direct chat with you is known on the account "
                "of `owner.deliver`. Write to that bot once."
            )
            await self._ways.tell(f"{NO_ROUTE}:{job.spec.agent}", told, None)
        elif _is_due_to_owner(job):
            when = self._local_time(due.slot.at)
            told = f"Job {job.id} was due {when}, while I was not running; it is too late now: {subject(job.spec)}"
            await self._ways.tell(f"{MISSED}:{job.id}:{due.slot.at.isoformat()}", told, owner)
        if owner is None:
            await self._store.count(NO_ROUTE)
        else:
            await self._store.count(MISSED, max(1, due.missed))
        await self._store.jobs.take(job.id, due.slot, None)
        log.warning("job not run", job=job.id, agent=job.spec.agent, slot=due.slot.at.isoformat())

    async def _resume(self, job: Job) -> None:
        """Give *job* its next slot anew after a clock was ahead; the owner is told once a day, for all jobs."""
        agent, owner = job.spec.agent, await self._ways.owner(AgentId(job.spec.agent))
        now = self._clock.now()
        told = (
            f"My clock was ahead for a while, so jobs of agent {agent} waited for later dates, such as "
            f"{self._local_time(job.next_slot or now)}, and were not run. From now on they run by their schedules "
            "again; `/cron` shows their next times."
        )
        await self._ways.tell(f"{MISSED}:clock:{agent}:{now.date()}", told, owner)
        await self._store.count(MISSED)
        await self.job_schedule.enable(job.id)
        log.warning("job waited for a clock that was ahead", job=job.id, agent=agent, slot=str(job.next_slot))

    async def _stop(self, job: Job, why: str, *, reason: str) -> None:
        if not job.is_enabled:
            return
        when = shown_schedule(job.spec, self.job_schedule.zone)
        told = f"Job {job.id} ({when}) {why}, so I stopped it. `/cron enable {job.id}` starts it again."
        owner = await self._ways.owner(AgentId(job.spec.agent))
        await self._ways.tell(f"{reason}:{job.id}:{job.last_slot}", told, owner)
        await self._store.count(reason)
        await self.job_schedule.disable(job.id)
        log.warning("job stopped", job=job.id, agent=job.spec.agent, why=reason)

    async def _ours(self) -> list[Job]:
        return [job for job in await self.job_schedule.all() if job.spec.agent in self._agents]

    async def _pause_s(self) -> float:
        if not self.job_schedule.settings.jobs:
            return LOOK_EVERY_S
        times = [at for job in await self._ours() if job.is_enabled and (at := self.job_schedule.wakes_at(job))]
        until = (min(times) - self._clock.now()).total_seconds() if times else LOOK_EVERY_S
        return min(LOOK_EVERY_S, max(until, 0.0))

    def _lateness(self, due: DueJob, now: datetime) -> str:
        late = now - self.job_schedule.jitter(due.job) - due.slot.at > LATE_AFTER
        parts = [f"It was due {self._local_time(due.slot.at)} and comes late."] if late else []
        if due.missed:
            parts.append(f"Earlier times that were left out: {due.missed}.")
        return f"({' '.join(parts)})\n\n" if parts else ""

    def _local_time(self, moment: datetime) -> str:
        return f"{moment.astimezone(self.job_schedule.zone):%Y-%m-%d %H:%M}"


def _prompt(job: Job, before: str = "") -> str:
    """Return the prompt of *job*; in the owner's own conversation it must not pass as the owner's words."""
    return f"{_head(job) if job.spec.in_main else ''}{before}{job.spec.prompt}"


def _head(job: Job) -> str:
    return f"(Nobody wrote this now: job {job.id} is due, {job.spec.schedule}.)\n\n"


def is_reminder(message: InboundMessage) -> bool:
    """Return whether a job made of its owner's own words sent *message*."""
    return message.address.channel == CLOCK and REMINDER in message.text


async def reminder_of(job_schedule: JobSchedule, message: InboundMessage) -> str:
    """Return the own words of the job that sent *message*, if it runs once or was made of its owner's words.

    Empty for any other. Raises StoreError.
    """
    number = message.address.chat.rpartition(":")[2]
    if message.address.channel != CLOCK or not number.isdecimal():
        return ""
    try:
        job = await job_schedule.get(int(number), message.address.account)
        is_due_to_owner = _is_due_to_owner(job)
    except ScheduleError:  # removed since
        return ""
    if not is_due_to_owner:
        return ""
    late = message.text.removeprefix(_head(job)).removesuffix(job.spec.prompt).strip()
    return "\n\n".join(filter(None, (as_reminder(job.spec.prompt), late)))


def _is_due_to_owner(job: Job) -> bool:
    """Return whether the owner waits for each run of *job*: it runs once, or it is a reminder. Raises ScheduleError."""
    return isinstance(schedule_of(job.spec), At) or job.spec.prompt.startswith(REMINDER)


async def reminders_of(job_schedule: JobSchedule, agent: AgentId) -> list[str]:
    """Return the reminders that the jobs of *agent* send in their own words. Raises StoreError."""
    return [as_reminder(job.spec.prompt) for job in await job_schedule.all(agent)]


def _message(job: Job, name: str, text: str, owner: Address, now: datetime) -> InboundMessage:
    spec = job.spec
    address = job_address(AgentId(spec.agent), str(job.id), in_main=spec.in_main, private=spec.private)
    return InboundMessage(
        address, name, NOBODY, ChatKind.DIRECT, text, is_for_us=True, sent_at=now.astimezone(UTC), answers_to=owner
    )
