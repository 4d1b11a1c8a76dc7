"""Job changes that a turn requests for its agent; those that it may not make by itself wait for the owner."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta, tzinfo

from msgspec import Struct

from adapters.channel import Address
from gateway.admission.internal_channels import is_inner
from gateway.agent.authorship import own_words
from gateway.agent.dictation import stems
from gateway.agent.entries import UserEntry
from gateway.agent.person_requests import REMINDER, Request, request_in
from gateway.agent.tools.tool import ActedResult, done
from gateway.agent.write_guard import WriteGuard
from gateway.agent.write_policy import ApprovalReason
from gateway.approvals.approvals import Approvals
from gateway.approvals.job_changes import job_to_add, job_to_remove
from gateway.errors import ScheduleError, ToolError
from gateway.schedule.jobs import JobSchedule, Wish, schedule_of, shown_schedule
from gateway.schedule.recurrence import At
from gateway.sessions.turn_request import TurnRequest
from gateway.stores.jobs import Job, JobRun, JobSpec
from gateway.stores.rows import Proposal

_ORDER_WORDS = stems("cancel delete remove stop reminder job every at in")
"""Words of an order to cancel, and of schedules, that name no job. In other languages they name none either."""


class TurnJobRequests(Struct, frozen=True):
    """Implements the tools' `Book` for one turn: the jobs of its agent, as it may change them."""

    approvals: Approvals
    asked: TurnRequest
    guard: WriteGuard

    @property
    def job_schedule(self) -> JobSchedule:
        return self.approvals.job_schedule

    async def add(self, when: str, what: str, *, private: bool) -> ActedResult:
        told = self.guard.marked(f"{REMINDER}{what}" if self._is_reminder(what) else what)
        wish = Wish(self.asked.agent.id, when, told, f"turn {self.asked.row.turn_id}", private=private)
        try:
            spec, _ = self.job_schedule.check(wish)
            if (reason := self._reason()) and not self._is_owners_own(when, what):
                dictated = await self._in_owners_words(spec)
                if dictated is None:
                    proposal = job_to_add(spec, self.job_schedule.zone, reason, self.asked.origin)
                    return await self._wait(proposal, reason)
                wish = dictated
            job = await self.job_schedule.add(wish)
        except ScheduleError as exc:
            raise ToolError(f"{exc}; nothing was scheduled") from exc
        planned = comes(job, self.job_schedule.zone)
        return done(f"Scheduled as job {job.id}; {planned}.", "scheduled", f"{job.id}, {planned}")

    async def listed(self) -> str:
        jobs = await self.job_schedule.all(self.asked.agent.id)
        return "\n".join(job_lines(jobs, self.job_schedule.zone)) or "No jobs are scheduled."

    async def move(self, number: int, when: str, what: str, *, private: bool) -> ActedResult:
        if not when:
            raise ToolError("a job is moved to a time: give when, too; nothing was changed")
        try:
            spec = (await self.job_schedule.get(number, self.asked.agent.id)).spec
        except ScheduleError as exc:
            raise ToolError(f"{exc}; nothing was changed") from exc
        new = await self.add(when, what or spec.prompt, private=private or spec.private)
        if any(act.kind == "waits" for act in new.acts):
            return ActedResult(f"{new.said} Job {number} stays until you cancel it after the approval.", new.acts)
        old = await self.cancel(number)
        return ActedResult(f"{new.said} {old.said}", (*new.acts, *old.acts))

    async def cancel(self, number: int) -> ActedResult:
        try:
            job = await self.job_schedule.get(number, self.asked.agent.id)
            if (reason := self._reason()) and not await self._is_named(job):
                proposal = job_to_remove(job, self.job_schedule.zone, reason, self.asked.origin)
                return await self._wait(proposal, reason)
            await self.job_schedule.remove(job.id, self.asked.agent.id)
        except ScheduleError as exc:
            raise ToolError(f"{exc}; nothing was changed") from exc
        return done(f"Job {number} has been removed.", "cancelled", number)

    def _reason(self) -> ApprovalReason | None:
        return self.guard.reason_for_job(is_asked=not is_inner(self.asked.row.message))

    def _is_reminder(self, what: str) -> bool:
        """Return whether a person asked in this turn to be reminded: then no model may keep silent about the job."""
        return not what.startswith(REMINDER) and any(self._orders(Request.REMIND))

    def _orders(self, request: Request) -> list[str]:
        """Return the messages of people in this turn, in their own words, that order an act of that kind."""
        said = self.asked.transcript.entries_of(self.asked.row.turn_id)
        people = (own_words(each) for each in said if isinstance(each, UserEntry) and not each.is_ours)
        return [each for each in people if request_in(each) is request]

    async def _in_owners_words(self, wanted: JobSpec) -> Wish | None:
        """Return the reminder that the owner orders in this turn, word for word, if its times are those of *wanted*.

        An order makes one job: the model may not repeat it for another subject.
        """
        if wanted.private:
            return None
        made = {(each.spec.made_by, each.spec.prompt) for each in await self.job_schedule.all(wanted.agent)}
        for said in self._orders(Request.REMIND):
            wish = Wish(wanted.agent, said, self.guard.marked(f"{REMINDER}{said}"), wanted.made_by)
            with suppress(ScheduleError):
                spec, _ = self.job_schedule.check(wish)
                if (spec.made_by, spec.prompt) not in made and _come_together(spec, wanted):
                    return wish
        return None

    async def _is_named(self, job: Job) -> bool:
        """Return whether the owner orders in this turn to cancel something, and names *job* and no other."""
        jobs = [each for each in await self.job_schedule.all(self.asked.agent.id) if each.is_enabled]
        return any(
            [each.id for each in jobs if _names(said, each)] == [job.id] for said in self._orders(Request.CANCEL)
        )

    def _is_owners_own(self, when: str, what: str) -> bool:
        """Return whether the job is word for word the message that began the turn: others can have changed nothing."""
        said = self.asked.row.message.text.strip()
        return bool(said) and (when, what) == (said, f"{REMINDER}{said}") and not is_inner(self.asked.row.message)

    async def _wait(self, proposal: Proposal, reason: ApprovalReason) -> ActedResult:
        number = await self.approvals.propose(proposal, self._owner())
        said = (
            f"Nothing is changed yet: this waits for your owner's approval as #{number}, because {reason.in_words}. "
            "They have been notified; continue without it."
        )
        return done(said, "waits", f"#{number}")

    def _owner(self) -> Address:
        message = self.asked.row.message
        return message.answer_address


def _come_together(one: JobSpec, other: JobSpec) -> bool:
    """Return whether two jobs that are made now come at the same times, to the minute."""
    if one.schedule == other.schedule:
        return True
    moments = [each.moment for each in map(schedule_of, (one, other)) if isinstance(each, At)]
    return len(moments) == 2 and abs(moments[0] - moments[1]) < timedelta(minutes=1)


def _names(said: str, job: Job) -> bool:
    """Return whether *said* holds a word of the subject or the time of *job*."""
    return bool((stems(said) - _ORDER_WORDS) & stems(f"{job.spec.schedule} {subject(job.spec)}"))


def job_lines(jobs: Sequence[Job], zone: tzinfo, whose: Callable[[str], str] = lambda _: "") -> Iterator[str]:
    """Yield a line for each job, times in *zone*; *whose* returns the remark about a job's agent."""
    for job in jobs:
        spec = job.spec
        about = [remark for remark in (whose(spec.agent),) if remark]
        about += [each for each, holds in (("in main", spec.in_main), ("private", spec.private)) if holds]
        about += [f"{job.failures} failures in a row"] if job.failures else []
        aside = f" ({', '.join(about)})" if about else ""
        yield f"{job.id}. {shown_schedule(spec, zone)}{aside}: {subject(spec)}; {comes(job, zone)}"


def listed_jobs(jobs: Sequence[Job], zone: tzinfo) -> str:
    """Return *jobs* as a list in Markdown; empty without one. "- 1. …" would be a list in a list there."""
    return "\n".join(f"- job {line.replace('. ', ': ', 1)}" for line in job_lines(jobs, zone))


def subject(spec: JobSpec) -> str:
    """Return the subject of a job in one line; a reminder in the owner's own words."""
    return " ".join(spec.prompt.removeprefix(REMINDER).split())


def run_lines(runs: Sequence[JobRun], zone: tzinfo) -> Iterator[str]:
    """Yield a line for each run, times in *zone*."""
    for run in runs:
        yield f"{run.slot.astimezone(zone):%Y-%m-%d %H:%M} {run.state}{f' (turn {run.turn})' if run.turn else ''}"


def comes(job: Job, zone: tzinfo) -> str:
    """Return the next time of *job* as text, with its day of the week: by that a wrong day is noticed."""
    if job.next_slot is not None:
        return f"next {job.next_slot.astimezone(zone):%a %Y-%m-%d %H:%M}"
    return "done" if job.is_enabled else "stopped"
