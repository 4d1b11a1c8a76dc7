"""`/promises`: what the agent undertook to do, by the store and the journal alone: open, kept, silent and broken."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from itertools import groupby
from textwrap import shorten

from msgspec import Struct

from gateway.agent.authorship import own_words
from gateway.agent.entries import Entry, UserEntry
from gateway.agent.receipts import UNFULFILLED, unfulfilled
from gateway.agent.write_policy import ApprovalReason
from gateway.approvals.approvals import Approvals
from gateway.automation.job_requests import comes, subject
from gateway.automation.job_runner import JobRunner
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.fulfil import NAME, fulfilled_marks
from gateway.commands.resources import CommandResources
from gateway.commands.wording import quoted
from gateway.stores.jobs import FAILURES, Job, JobRun, RunState
from gateway.stores.rows import PendingChange
from gateway.transcripts.codec import Record
from workspaces.access import AgentId

SHOWN = 10
"""Most lines of each part; our choice."""
_BROKEN = FAILURES | {RunState.MISSED}
_IN_WORDS = {
    RunState.FAILED: "it failed",
    RunState.DEAD: "its message was refused by the platform",
    RunState.MISSED: "it was too late to run",
    RunState.SILENT: "it ran, and nothing was sent",
    RunState.RUNNING: "it is running",
    RunState.ANSWERED: "its message is on the way",
}


class Promises(Struct, frozen=True):
    """The promises, newest first in each part."""

    open: Sequence[str]
    kept: Sequence[str]
    silent: Sequence[str]
    broken: Sequence[str]

    @property
    def parts(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Return the parts with their names; runs that sent nothing are a part only where there are some."""
        silent = [("Silent", self.silent)] if self.silent else []
        return [("Open", self.open), ("Kept", self.kept), *silent, ("Broken", self.broken)]

    def __str__(self) -> str:
        """Return it as Markdown."""
        return "\n\n".join(f"**{name}**\n{_listed(lines)}" for name, lines in self.parts)


def promise_commands(parts: CommandResources) -> list[Command]:

    async def run(call: CommandCall) -> str:
        approvals, records = parts.planner.tools.approvals, call.transcript.records
        return str(await promises_of(call.access.agent, parts.job_runner, approvals, records))

    told = "list what I undertook to do: open, kept with the platform's message id, silent, broken"
    return [Command("promises", "", told, Who.MAIN, True, run, passes=True)]


async def promises_of(
    agent: AgentId, job_runner: JobRunner, approvals: Approvals, records: Iterable[Record]
) -> Promises:
    """Return the promises of *agent*; *records* are those of a conversation with its owner. Raises StoreError."""
    schedule = job_runner.job_schedule
    jobs = await schedule.all(agent)
    runs = [(job, each) for job in jobs for each in await job_runner.history(job.id, agent)]
    return promises(jobs, runs, await approvals.waiting(agent), records, schedule.zone)


def promises(
    jobs: Sequence[Job],
    runs: Iterable[tuple[Job, JobRun]],
    waiting: Sequence[PendingChange],
    records: Iterable[Record],
    zone: tzinfo,
) -> Promises:
    """Return the promises of an agent; *records* are those of the conversation that asks. Pure."""
    newest = sorted(runs, key=lambda each: each[1].slot, reverse=True)
    planned = [f"job {job.id}: {_text(job)}; {comes(job, zone)}" for job in jobs if job.next_slot and job.is_enabled]
    pending = [_run_line(job, run, zone) for job, run in newest if run.state in {RunState.RUNNING, RunState.ANSWERED}]
    asked = [f"#{each.id} waits for you: {ApprovalReason(each.proposal.reason).in_words}" for each in waiting]
    kept = [_run_line(job, run, zone) for job, run in newest if run.state is RunState.DELIVERED]
    silent = [_run_line(job, run, zone) for job, run in newest if run.state is RunState.SILENT]
    broken = [_run_line(job, run, zone) for job, run in newest if run.state in _BROKEN]
    return Promises([*pending, *planned, *asked], kept, silent, [*_left_undone(records), *broken])


def _run_line(job: Job, run: JobRun, zone: tzinfo) -> str:
    if run.state is RunState.DELIVERED:
        how = f"message {', '.join(run.messages)}" if run.messages else "delivered"
    else:
        how = _IN_WORDS[run.state]
    return f"{run.slot.astimezone(zone):%Y-%m-%d %H:%M}, job {job.id}: {_text(job)}; {how}"


def _left_undone(records: Iterable[Record]) -> Iterator[str]:
    """Yield the requests of a conversation that no turn fulfilled, newest first; of one that was repeated, the last."""
    whole, repeated = list(records), set[str]()
    done = fulfilled_marks(each.entry for each in whole)
    turns = [list(turn) for _, turn in groupby(whole, key=lambda each: each.turn_id)]
    for turn in reversed(turns):
        entries: list[Entry] = [each.entry for each in turn if isinstance(each.entry, Entry)]
        asked = next((each for each in entries if isinstance(each, UserEntry) and not each.is_ours), None)
        if asked is None or (words := own_words(asked).casefold()) in repeated:
            continue
        repeated.add(words)
        if (mark := asked.source.partition(".")[0]) in done:
            continue
        for each in unfulfilled(entries):
            yield f"{UNFULFILLED[each]} (`/{NAME} {mark}`):\n  {quoted(own_words(asked))}"


def _text(job: Job) -> str:
    return shorten(subject(job.spec), 80, placeholder=" …")


def _listed(lines: Sequence[str]) -> str:
    more = [f"- and {len(lines) - SHOWN:,} more"] if len(lines) > SHOWN else []
    return "\n".join([*(f"- {line}" for line in lines[:SHOWN]), *more]) or "none"
