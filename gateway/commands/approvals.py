"""`/approve` and `/refuse`: the owner's decisions about changes of the agent's files."""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial

from gateway.agent.person_requests import REMINDER
from gateway.agent.write_policy import ApprovalReason
from gateway.approvals.approvals import Approvals
from gateway.approvals.diff import difference, subject_of
from gateway.approvals.job_changes import is_of_jobs, task_of
from gateway.commands.command import Command, CommandCall, Who
from gateway.commands.resources import CommandResources
from gateway.commands.wording import counted, quoted
from gateway.errors import ApprovalError, ToolError
from gateway.runtime.escape import visible
from gateway.stores.rows import PendingChange
from workspaces.access import AgentId, Locality
from workspaces.lazy_pattern import lazy_pattern

_NUMBER = lazy_pattern(r"#?([0-9]{1,15})", re.ASCII)

Decide = Callable[[int, AgentId | None], Awaitable[str]]


def approval_commands(parts: CommandResources) -> list[Command]:
    """Return `/approve` and `/refuse`; each concerns the changes of the addressed agent.

    A tool that waited is one that the owner's turns have; a file that waited goes out with the answer.
    """
    tools, approvals = parts.planner.tools, parts.planner.tools.approvals

    async def approve(call: CommandCall) -> str:
        ways = tools.ways_out(call.asked)
        return await _decide(call, approvals, "approve", partial(approvals.approve, ways=ways))

    async def refuse(call: CommandCall) -> str:
        return await _decide(call, approvals, "refuse", approvals.refuse)

    made = "approve a pending change of my files; without a number, list them if there are several"
    dropped = "refuse a pending change of my files"
    return [
        Command("approve", "[number]", made, Who.MAIN, False, approve),
        Command("refuse", "[number]", dropped, Who.MAIN, False, refuse),
    ]


async def _decide(call: CommandCall, approvals: Approvals, verb: str, decide: Decide) -> str:
    agent = call.access.agent
    if call.arguments and not _NUMBER.fullmatch(call.arguments):
        raise ToolError(f"Give the number of a change, as in `/{verb} 12`; `/{verb}` alone lists them.")
    if named := _NUMBER.fullmatch(call.arguments):
        number = int(named[1])
    else:
        waiting = await approvals.waiting(agent)
        if len(waiting) != 1:
            return "\n".join(_pending_lines(waiting, verb, may_tell=call.access.reader is Locality.HERE))
        number = waiting[0].id
    try:
        return f"{await decide(number, agent)}."
    except ApprovalError as exc:
        told = str(exc) if call.access.reader is Locality.HERE else str(exc).partition("\n")[0]  # without a difference
        raise ToolError(told) from exc


def _pending_lines(waiting: Sequence[PendingChange], verb: str, *, may_tell: bool) -> Iterator[str]:
    if not waiting:
        yield "No changes wait for you."
        return
    for change in waiting:
        about = _about(change) if may_tell else f" {ApprovalReason(change.proposal.reason).in_words}"
        subject = subject_of(change.proposal)
        what = f"`{subject}`" if subject == change.proposal.path else subject
        yield f"- **#{change.id}** {what}:{about}"
    yield f"\n`/{verb} {waiting[0].id}` decides about the first of them."


def _about(change: PendingChange) -> str:
    """Return the last line that *change* adds, or of a job's task, and how many more lines it changes.

    The reason for asking if it adds none.
    """
    proposal = change.proposal
    lines = [] if is_of_jobs(proposal) else difference(proposal.before, proposal.after).split("\n")
    added = [line[1:].strip() for line in lines if line.startswith("+")]
    if is_of_jobs(proposal):
        added = visible(task_of(proposal)).split("\n")
    more = max(len(added), sum(line.startswith("-") for line in lines)) - 1
    if not added:
        return f" {ApprovalReason(proposal.reason).in_words}"
    rest = f"\n  and {counted(more, 'more line')}; the message about #{change.id} shows all" if more > 0 else ""
    return f"\n  {quoted(added[-1].removeprefix(REMINDER).removeprefix('- '))}{rest}"
