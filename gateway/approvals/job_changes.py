"""Job change that waits for the owner, stored as the same kind of row as a file change."""

from contextlib import suppress
from datetime import tzinfo

from gateway.agent.person_requests import REMINDER
from gateway.agent.write_policy import ApprovalReason
from gateway.errors import ApprovalError, ScheduleError
from gateway.schedule.jobs import JobSchedule, Wish, schedule_of
from gateway.schedule.recurrence import At
from gateway.stores.jobs import Job, JobSpec
from gateway.stores.rows import Proposal
from workspaces.history import Origin

_PLACE = "/schedule"
"""Used in place of a file's path: no file of a workspace begins with a slash."""


def is_of_jobs(proposal: Proposal) -> bool:
    """Return whether *proposal* changes the jobs and not a file."""
    return proposal.path == _PLACE or proposal.path.startswith(f"{_PLACE}/")


def job_to_add(spec: JobSpec, zone: tzinfo, reason: ApprovalReason, origin: Origin) -> Proposal:
    """Return the proposal to add *spec*; *zone* is the owner's, in which a time is written."""
    return _proposal(spec.agent, _PLACE, (None, _format_spec(spec, zone)), reason, origin)


def job_to_remove(job: Job, zone: tzinfo, reason: ApprovalReason, origin: Origin) -> Proposal:
    return _proposal(job.spec.agent, f"{_PLACE}/{job.id}", (_format_spec(job.spec, zone), None), reason, origin)


def task_of(proposal: Proposal) -> str:
    """Return the task of the job that *proposal* adds or removes."""
    return _fields(proposal)[2]


def job_words(proposal: Proposal, job_schedule: JobSchedule) -> str:
    """Return the job that *proposal* adds or removes, in plain words: its times, its memory and its task."""
    when, memory, what = _fields(proposal)
    words = [f"When: {when}", f"Reads your private notes: {memory}"]
    if proposal.after is None:
        words[0] += "; it would not come any more"
    else:
        with suppress(ScheduleError):
            _, first = job_schedule.check(Wish(proposal.agent, when, what, ""))
            day = f"{first.astimezone(job_schedule.zone):%A, %d %B %Y, %H:%M}"
            words[0] = f"When: once, on {day}" if when.startswith("at ") else f"{words[0]}; first on {day}"
    task = what.removeprefix(REMINDER)
    words.append(f"Reminds you of: {task}" if task != what else f"Tells the agent to do: {what}")
    return "\n".join(words)


async def make(job_schedule: JobSchedule, proposal: Proposal, number: int) -> str:
    """Carry out *proposal*, approved as *number*; repeated calls do it once. Return a description of the change.

    Raises ApprovalError when its time is over or there is no room for it.
    """
    try:
        if proposal.after is None:
            job = int(proposal.path.rpartition("/")[2])
            if any(each.id == job for each in await job_schedule.all(proposal.agent)):
                await job_schedule.remove(job, proposal.agent)
            return f"job {job} removed, as approved in #{number}"
        when, memory, what = _fields(proposal)
        wish = Wish(proposal.agent, when, what, f"approved as #{number}", private=memory == "yes")
        added = await job_schedule.add(wish, key=f"change:{number}")
    except ScheduleError as exc:
        raise ApprovalError(f"change #{number} cannot be applied: {exc}; refuse it, and ask again") from exc
    return f"job {added.id} scheduled, as approved in #{number}"


def _fields(proposal: Proposal) -> tuple[str, str, str]:
    """Return the schedule, whether it reads private memory, and the task, as `_format_spec` wrote them."""
    text = proposal.after if proposal.after is not None else proposal.before or ""
    when, memory, what = (line.partition(": ")[2] for line in text.split("\n", 2))
    return when, memory, what


def _proposal(
    agent: str, path: str, texts: tuple[str | None, str | None], reason: ApprovalReason, origin: Origin
) -> Proposal:
    return Proposal(agent, path, *texts, reason, origin.session, origin.message, origin.turn)


def _format_spec(spec: JobSpec, zone: tzinfo) -> str:
    """Format *spec* for the owner and for `make`; one that runs once is written with its time."""
    schedule = schedule_of(spec)
    when = f"at {schedule.moment.astimezone(zone):%Y-%m-%d %H:%M}" if isinstance(schedule, At) else spec.schedule
    return f"when: {when}\nwith private memory: {'yes' if spec.private else 'no'}\nwhat: {spec.prompt}"
