"""Operator requests about jobs."""

from collections.abc import Sequence
from datetime import tzinfo

from msgspec import Struct

from gateway.automation.job_requests import comes, job_lines, run_lines
from gateway.automation.job_runner import JobRunner
from gateway.control.agents import AgentDirectory
from gateway.control.cron_wire import CronAnswer, CronOrder, JobRow, JobsStatus, RunRow
from gateway.errors import StrandlineError
from gateway.schedule.jobs import Wish
from gateway.stores.jobs import Job


class JobOperator(Struct, frozen=True):
    """Lists and changes the agents' jobs."""

    agents: AgentDirectory
    job_runner: JobRunner

    async def answer(self, order: CronOrder) -> CronAnswer:
        """Execute *order*. Raises StrandlineError for a missing or unknown number, ScheduleError and StoreError."""
        agent, job_runner = self.agents.one_or_all(order.agent), self.job_runner
        job_schedule = job_runner.job_schedule
        if order.act == "list":
            return CronAnswer(self._rows(await job_schedule.all(agent)))
        if order.act == "add":
            wish = Wish(
                agent or self.agents.default, order.when, order.what, "you", order.zone, order.in_main, order.private
            )
            job = await job_schedule.add(wish)
            return CronAnswer(self._rows([job]), outcome=f"job {job.id} added; {comes(job, job_schedule.zone)}")
        if order.number is None:
            raise StrandlineError("the number of a job is missing; strandline cron list shows them")
        match order.act:
            case "run":
                return CronAnswer(outcome=await job_runner.run_now(order.number, agent))
            case "remove":
                return CronAnswer(outcome=f"job {(await job_schedule.remove(order.number, agent)).id} removed")
            case "enable":
                job = await job_schedule.enable(order.number, agent)
                return CronAnswer(outcome=f"job {job.id} is enabled again; {comes(job, job_schedule.zone)}")
            case "history":
                runs = await job_runner.history(order.number, agent)
                zone = job_schedule.zone
                lines = zip(runs, run_lines(runs, zone), strict=True)
                rows = (RunRow(run.slot.astimezone(zone), run.state, run.turn, line) for run, line in lines)
                return CronAnswer(runs=tuple(rows))

    def _rows(self, jobs: Sequence[Job]) -> tuple[JobRow, ...]:
        zone = self.job_runner.job_schedule.zone
        lines = job_lines(jobs, zone, self._remark)
        return tuple(_row(job, line, zone) for job, line in zip(jobs, lines, strict=True))

    def _remark(self, agent: str) -> str:
        configured = self.agents.configured
        if agent not in configured:
            return f"agent {agent} is not in config.toml, so it does not run"
        return f"agent {agent}" if len(configured) > 1 else ""


def jobs_status(jobs: Sequence[Job], zone: tzinfo) -> JobsStatus:
    """Return the state of *jobs*, which belong to one agent; times are in *zone*."""
    coming = [job for job in jobs if job.is_enabled and job.next_slot is not None]
    soonest = min((job.next_slot for job in coming if job.next_slot is not None), default=None)
    soonest = soonest and soonest.astimezone(zone)
    failing, stopped = sum(job.failures > 0 for job in coming), sum(not job.is_enabled for job in jobs)
    return JobsStatus(len(coming), soonest, failing, stopped)


def _row(job: Job, line: str, zone: tzinfo) -> JobRow:
    spec = job.spec
    soon, last = (at and at.astimezone(zone) for at in (job.next_slot, job.last_slot))
    return JobRow(
        job.id,
        spec.agent,
        spec.schedule,
        spec.zone,
        spec.prompt,
        spec.in_main,
        spec.private,
        spec.made_by,
        job.is_enabled,
        soon,
        last,
        job.failures,
        line,
    )
