"""`/cron`: the agent's scheduled jobs."""

import re
from datetime import datetime

from gateway.agent.models.offline_intents import content_words
from gateway.agent.person_requests import REMINDER
from gateway.automation.job_requests import comes, listed_jobs, run_lines
from gateway.automation.job_runner import JobRunner
from gateway.commands.command import Command, CommandCall, Who, marked
from gateway.commands.resources import CommandResources
from gateway.errors import ScheduleError, ToolError
from gateway.schedule.jobs import Wish
from workspaces.access import AgentId
from workspaces.lazy_pattern import lazy_pattern

_USAGE = (
    "Use `/cron`, `/cron add WHEN: WHAT`, or `/cron run`, `remove`, `enable` or `history` with a number, such as "
    "`/cron add every 2h: look after the oven` or `/cron remove 3`."
)
_ADDED = lazy_pattern(r"(?P<when>(?:[^:]|:(?=\d\d\b))+):(?!\d\d\b)\s*(?P<what>.+)", re.DOTALL)
"""A colon between two digits belongs to a time."""


def cron_commands(parts: CommandResources) -> list[Command]:

    async def run(call: CommandCall) -> str:
        act, _, rest = call.arguments.partition(" ")
        try:
            return await _run_action(parts.job_runner, call, act.lower() or "list", rest.strip())
        except ScheduleError as exc:
            raise ToolError(f"{exc}.") from exc

    told = "list, add, run or remove scheduled jobs"
    return [Command("cron", "[add, run, remove, enable or history] [what]", told, Who.MAIN, False, run)]


async def _run_action(job_runner: JobRunner, call: CommandCall, act: str, rest: str) -> str:
    agent, job_schedule = call.access.agent, job_runner.job_schedule
    if act == "list":
        jobs = await job_schedule.all(agent)
        return listed_jobs(jobs, job_schedule.zone) or "No jobs are scheduled."
    if act == "add":
        when, what = _read(rest, call.now)
        job = await job_schedule.add(Wish(agent, when, marked(what, call), "you, by /cron"), f"{call.turn_id}")
        return f"Scheduled as job {job.id}; {comes(job, job_schedule.zone)}."
    if act not in {"run", "remove", "enable", "history"} or not rest.isdecimal():
        raise ToolError(_USAGE)
    return await _act_on(job_runner, act, int(rest), agent)


def _read(rest: str, now: datetime) -> tuple[str, str]:
    """Return the time and the prompt of the job that *rest* asks for. Raises ToolError, and ScheduleError to ask."""
    from gateway.schedule.named_time import read_time, without_times  # its patterns take time at a start

    when, what = when_and_what(rest)
    if when == rest and (not content_words(without_times(rest, now.date())) or read_time(rest, now) is None):
        raise ToolError(_USAGE)
    return when, what


def when_and_what(added: str) -> tuple[str, str]:
    """Return the time and the prompt of a job that `/cron add` is given.

    Without a colon between them it is a reminder, whose words name the time: "tomorrow 17:00 pick up Mia".
    """
    found = _ADDED.fullmatch(added)
    return (found["when"].strip(), found["what"]) if found else (added, f"{REMINDER}{added}")


def added_by(text: str) -> str:
    """Return what the message *text* gives to `/cron add`; empty for any other message."""
    match text.split(maxsplit=2):
        case [name, act, added] if name.partition("@")[0].lower() == "/cron" and act.lower() == "add":
            return added
        case _:
            return ""


async def _act_on(job_runner: JobRunner, act: str, number: int, agent: AgentId) -> str:
    job_schedule = job_runner.job_schedule
    match act:
        case "run":
            return await job_runner.run_now(number, agent)
        case "remove":
            return f"Job {(await job_schedule.remove(number, agent)).id} has been removed."
        case "enable":
            job = await job_schedule.enable(number, agent)
            return f"Job {number} is enabled again; {comes(job, job_schedule.zone)}."
        case _:
            runs = await job_runner.history(number, agent)
            return "\n".join(f"- {line}" for line in run_lines(runs, job_schedule.zone)) or "No runs yet."
