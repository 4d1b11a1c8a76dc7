"""`/fulfil`: does what a message asked for and no answer did; the button below such an answer sends it.

Nothing is kept between the button and its press: the mark names a message of this conversation, by its source.
"""

from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from functools import partial

from msgspec import structs

from gateway.agent.authorship import own_words
from gateway.agent.entries import Entry, Mark, ReplyEntry, ResultEntry, UserEntry
from gateway.agent.models.offline_intents import content_words, read_intent
from gateway.agent.person_requests import REMINDER, Request, request_in
from gateway.automation.job_requests import comes, listed_jobs
from gateway.automation.job_runner import JobRunner
from gateway.commands.command import Command, CommandCall, Who, marked
from gateway.commands.cron import added_by, when_and_what
from gateway.commands.forget import forget_commands
from gateway.commands.remember import remember_commands
from gateway.commands.resources import CommandResources
from gateway.errors import ScheduleError, ToolError
from gateway.schedule.jobs import Wish, schedule_of
from gateway.schedule.recurrence import At
from gateway.stores.jobs import Job, JobSpec
from workspaces.house import tagged
from workspaces.lazy_pattern import lazy_pattern

NAME = "fulfil"
LABELS = {
    Request.REMEMBER: "Save it",
    Request.REMIND: "Schedule it",
    Request.FORGET: "Forget it",
    Request.CANCEL: "Show jobs",
}
"""The button of each request; a file can only be sent by a model, as only it can find out which one."""
MARK = lazy_pattern(r"[0-9a-f]{16}")
_ARGUMENTS = lazy_pattern(rf"({MARK.pattern})(?: (\d{{4}}-\d\d-\d\d \d\d:\d\d))?")
"""A message, and the moment for a reminder whose time can mean two."""
_NO_TIME = "I find no time in that message. `/cron add WHEN: WHAT` schedules it, such as `/cron add in 2h: call back`."
_ELSEWHERE = "Jobs can only be changed in your own chat with me, where nobody else reads."


def fulfil_commands(parts: CommandResources) -> list[Command]:

    async def run(call: CommandCall) -> str:
        mark, moment = _read(call.arguments)
        asked, with_mark = _asked(mark, call)
        earlier = (record.entry for record in call.transcript.records if record.turn_id != call.turn_id)
        if mark in fulfilled_marks(earlier):
            return "That was already done."
        if moment and (added := added_by(asked)):
            when, what = when_and_what(added)
            return await _remind(parts.job_runner, call, (when, with_mark(what)), moment)
        match request_in(asked):
            case Request.REMEMBER:
                return await _by(remember_commands(parts), call, with_mark(read_intent([asked]).note))
            case Request.FORGET:
                return await _by(forget_commands(parts), call, read_intent([asked]).forgets)
            case Request.REMIND:
                return await _remind(parts.job_runner, call, (asked, with_mark(f"{REMINDER}{asked}")), moment)
            case Request.CANCEL:
                return await _list(parts.job_runner, call)
            case _:
                raise ToolError("I cannot do that by myself; ask me again, in other words.")

    told = "do what a message of yours asked for and my answer did not; its button sends this"
    return [Command(NAME, "<mark> [moment]", told, Who.CHAT, False, run)]


def _read(arguments: str) -> tuple[str, str]:
    """Return the mark and the moment, which may be empty. Raises ToolError."""
    found = _ARGUMENTS.fullmatch(arguments)
    if found is None:
        raise ToolError("Press the button below an answer that says what was not done.")
    return found[1], found[2] or ""


def _asked(mark: str, call: CommandCall) -> tuple[str, Callable[[str], str]]:
    """Return the words of the message that *mark* names, and what adds the mark `house` to them if it carries that.

    Raises ToolError if this conversation has it no more.
    """
    said = (each.entry for each in reversed(call.transcript.records) if isinstance(each.entry, UserEntry))
    found = next((each for each in said if each.source.startswith(f"{mark}.") and not each.is_ours), None)
    if found is None:
        raise ToolError("That message is not part of this conversation any more; please send it again.")
    return own_words(found), tagged if found.is_house else partial(marked, call=call)


def fulfilled_marks(entries: Iterable[Entry | Mark]) -> set[str]:
    """Return the marks of the messages for which this command succeeded, by its results in the journal."""
    calls: dict[str, str] = {}
    done = set()
    for entry in entries:
        if isinstance(entry, ReplyEntry):
            calls |= {each.id: each.arguments for each in entry.calls if each.name == f"/{NAME}"}
        elif isinstance(entry, ResultEntry) and entry.call_id in calls and not entry.is_error:
            done |= set(MARK.findall(calls[entry.call_id]))
    return done


async def _by(commands: list[Command], call: CommandCall, words: str) -> str:
    [command] = commands
    return await command.run(structs.replace(call, arguments=words))


async def _remind(job_runner: JobRunner, call: CommandCall, job_asked: tuple[str, str], moment: str) -> str:
    from gateway.schedule.named_time import read_time  # its patterns take time at a start

    if not call.asker.may_run(Who.MAIN):
        raise ToolError(_ELSEWHERE)
    schedule = job_runner.job_schedule
    asked, what = job_asked
    wish = Wish(call.access.agent, f"at {moment}" if moment else asked, what, "you, by a button")
    try:
        if not moment and read_time(asked, call.now) is None:
            raise ToolError(_NO_TIME)
        wanted, first = schedule.check(wish)
        for job in await schedule.all(call.access.agent):
            if _is_at(job, wanted, first) and _is_about(job, what.removeprefix(REMINDER), call.now.date()):
                return f"Already job {job.id}; {comes(job, schedule.zone)}."
        job = await schedule.add(wish, f"{call.turn_id}")
    except ScheduleError as exc:
        raise ToolError(f"{exc}; nothing was scheduled.") from exc
    return f"Scheduled as job {job.id}; {comes(job, schedule.zone)}."


def _is_at(job: Job, wanted: JobSpec, first: datetime) -> bool:
    """Return whether *job* comes at the times of *wanted*, to the minute."""
    if not job.is_enabled or job.next_slot is None or abs(job.next_slot - first) >= timedelta(minutes=1):
        return False
    return job.spec.schedule == wanted.schedule or all(isinstance(schedule_of(e), At) for e in (job.spec, wanted))


def _is_about(job: Job, asked: str, today: date) -> bool:
    """Return whether *job* is about what was *asked*: they differ in the order's verb and in words for times."""
    from gateway.schedule.named_time import without_times

    words, others = (content_words(without_times(each, today)) for each in (asked, job.spec.prompt))
    return set(words).symmetric_difference(others) <= {*words[:1], *content_words(REMINDER)}


async def _list(job_runner: JobRunner, call: CommandCall) -> str:
    if not call.asker.may_run(Who.MAIN):
        raise ToolError(_ELSEWHERE)
    schedule = job_runner.job_schedule
    jobs = listed_jobs(await schedule.all(call.access.agent), schedule.zone)
    return f"{jobs}\n\n`/cron remove` and the number removes one." if jobs else "No jobs are scheduled."
