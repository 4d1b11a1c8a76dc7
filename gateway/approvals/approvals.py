"""Changes that need the owner's approval: announced once, then made with the owner's authority, or dropped."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from msgspec import Struct

from adapters.channel import Address, Button
from gateway.agent.agent import Agent
from gateway.agent.decisions import decision
from gateway.agent.write_guard import ProjectedFile
from gateway.agent.write_policy import ApprovalReason
from gateway.approvals.diff import code_block, difference, notice_of, subject_of, words_of
from gateway.approvals.job_changes import is_of_jobs, make
from gateway.approvals.outgoing_acts import WaysOut, carry_out, is_outgoing, name_of
from gateway.errors import ApprovalError, ToolError
from gateway.schedule.jobs import JobSchedule
from gateway.stores.ports import Store
from gateway.stores.rows import ChangeId, ChangeState, OutboxRow, Outgoing, PendingChange, Proposal
from workspaces.access import AgentId, Grant, owner_access
from workspaces.errors import EditError
from workspaces.history import Origin
from workspaces.house import has_tag
from workspaces.revert import with_added_items
from workspaces.workspace import Workspace

MOST_WAITING = 20
"""Most changes of one agent that wait at the same time: more than an owner reads, and each one is a message.

Our choice.
"""
TOO_MANY = "limit.approvals"
"""Reason code: a change was requested, and not stored."""
_WITHHELD = "(withheld here, as some files are marked house: the page and `strandline approvals show` have it)"
_MEMORY = frozenset({"MEMORY.md", "memory.md"})
OWNER = "owner"
"""The name recorded for the only possible approver."""


class Approvals:
    """The changes of all agents' files that wait for the owner.

    Decisions are made one at a time, and by the file's text: a change is made from the text that the owner was shown,
    or not at all, and after a crash between the file and the store the decision can be repeated.
    """

    def __init__(
        self,
        agents: Mapping[AgentId, Agent],
        store: Store,
        expiry: Callable[[], datetime],
        wake: Callable[[Sequence[OutboxRow]], None],
        job_schedule: JobSchedule,
        may_carry: Callable[[Address], bool] = lambda _: True,
    ) -> None:
        """*expiry* gives the moment until which a new change waits; *wake* is called with queued notices.

        *job_schedule* holds the agents' jobs; changes of these may need approval too. *may_carry*
        tells whether a chat may be shown text marked `house`.
        """
        self._agents = agents
        self._store = store
        self._expiry = expiry
        self._wake = wake
        self._one_at_a_time = asyncio.Lock()
        self._may_carry = may_carry
        self.job_schedule = job_schedule

    async def waiting(self, agent: AgentId | None = None) -> Sequence[PendingChange]:
        """Return the changes that wait for a decision, oldest first; of one agent if it is given."""
        waiting = await self._store.changes.waiting()
        return [change for change in waiting if agent in {None, change.proposal.agent}]

    async def get(self, number: int, agent: AgentId | None = None) -> PendingChange:
        """Return the change that waits as *number*. Raises ApprovalError, also for another agent's change."""
        change = await self._store.changes.get(ChangeId(number))
        if change is None or agent not in {None, change.proposal.agent}:
            raise ApprovalError(f"there is no change #{number}")
        if change.state is not ChangeState.WAITING:
            how = "has expired" if change.state is ChangeState.EXPIRED else f"was {change.state} already"
            subject, path = subject_of(change.proposal), change.proposal.path
            named = f"change #{number} of {path}" if subject == path else f"#{number}, {subject},"
            raise ApprovalError(f"{named} {how}")
        return change

    async def approve(self, number: int, agent: AgentId | None = None, ways: WaysOut | None = None) -> str:
        """Make the change, and return a description of it; *ways* carry out what goes out.

        Raises ApprovalError when it no longer waits, or, with the difference, when the file has changed since: the
        change then goes on waiting. WorkspaceError when the file cannot be written.
        """
        async with self._one_at_a_time:
            change = await self.get(number, agent)
            proposal = change.proposal
            home = self._agents.get(AgentId(proposal.agent))
            if home is None:
                raise ApprovalError(f"change #{number} belongs to agent {proposal.agent!r}, which is not configured")
            if is_outgoing(proposal):
                if ways is None:
                    raise ApprovalError(f"#{number} calls {name_of(proposal)}: approve it in your chat with the agent")
                await self._store.changes.decide(change.id, ChangeState.APPROVED)  # nothing goes out twice
                return await carry_out(proposal, number, ways)
            done = await self._make(home, proposal, number)
            await self._store.changes.decide(change.id, ChangeState.APPROVED)
        return done

    async def _make(self, home: Agent, proposal: Proposal, number: int) -> str:
        if is_of_jobs(proposal):
            return await make(self.job_schedule, proposal, number)
        await _apply(home, proposal, number)
        return f"{proposal.path} {'deleted' if proposal.after is None else 'written'}, as approved in #{number}"

    async def refuse(self, number: int, agent: AgentId | None = None) -> str:
        """Drop the change, and return a description of it. Raises ApprovalError when it no longer waits."""
        async with self._one_at_a_time:
            change = await self.get(number, agent)
            await self._store.changes.decide(change.id, ChangeState.REFUSED)
        what = "the schedule" if is_of_jobs(change.proposal) else change.proposal.path
        stays = "nothing goes out" if is_outgoing(change.proposal) else f"{what} stays as it is"
        return f"#{number} refused; {stays}"

    async def decisions(self, agent: AgentId, numbers: Iterable[int]) -> str:
        """Return lines for the model of *agent* on those changes with these *numbers* that no longer wait."""
        changes = [(number, await self._store.changes.get(ChangeId(number))) for number in numbers]
        return "".join(decision(number, outcome) for number, each in changes if (outcome := _outcome(each, agent)))

    def approval_sink(self, agent: AgentId, origin: Origin, owner: Address) -> "TurnApprovalSink":
        """Return the sink for changes of the turn of *origin*; *owner* is notified once for each change."""
        return TurnApprovalSink(self, agent, origin, owner)

    async def propose(self, proposal: Proposal, owner: Address) -> ChangeId:
        """Store *proposal*, notify the owner, and return its number.

        Raises ToolError when too many wait, and WorkspaceError for a text that is never stored.
        """
        if proposal.after is not None and not is_of_jobs(proposal) and not is_outgoing(proposal):
            self._agents[AgentId(proposal.agent)].workspace.check(PurePosixPath(proposal.path), proposal.after)
        waiting = await self.waiting(AgentId(proposal.agent))
        same = next((change for change in waiting if change.proposal.change == proposal.change), None)
        if same is not None:
            return same.id
        if len(waiting) >= MOST_WAITING:
            await self._store.count(TOO_MANY)
            raise ToolError(f"{MOST_WAITING} changes already wait for your owner; this one was not kept")
        shown, expires_at = await self._shown(proposal, owner), self._expiry()

        def notice(number: ChangeId) -> Outgoing:
            return Outgoing(owner, notice_of(number, proposal, shown, expires_at), buttons=decisions(number))

        change, row = await self._store.changes.propose(proposal, expires_at, notice)
        await self._store.count(f"approval_asked.{proposal.reason}")
        self._wake([row])
        return change.id

    async def request(self, change: PendingChange, to: Address) -> Outgoing:
        """Return the request for a decision about *change*, as it is shown at *to*."""
        shown = await self._shown(change.proposal, to)
        return Outgoing(
            to, notice_of(change.id, change.proposal, shown, change.expires_at), buttons=decisions(change.id)
        )

    async def _shown(self, proposal: Proposal, to: Address) -> str:
        """Return what *proposal* does, as far as the chat at *to* may carry it."""
        home, shown = self._agents[AgentId(proposal.agent)], words_of(proposal, self.job_schedule)
        if shown is None:
            shown = await home.run(difference, proposal.before, proposal.after)
        if not self._may_carry(to) and (has_tag(shown) or await home.run(home.workspace.holds_house)):
            return _WITHHELD
        return shown


def decisions(number: int) -> tuple[Button, ...]:
    """Return the buttons below a request for a decision: a press sends the command in the name of that person."""
    return Button("Approve", f"/approve {number}"), Button("Refuse", f"/refuse {number}")


def _outcome(change: PendingChange | None, agent: AgentId) -> str:
    """Return what a model of *agent* is told of *change*; empty while it waits."""
    if change is None or change.proposal.agent != agent:
        return "it no longer waits."
    match change.state:
        case ChangeState.WAITING:
            return ""
        case ChangeState.APPROVED:
            outgoing = is_outgoing(change.proposal)
            return f"your owner approved it, and {'was shown the outcome' if outgoing else 'it is done'}."
        case ChangeState.REFUSED:
            return "your owner refused it; nothing was done."
        case ChangeState.EXPIRED:
            return "nobody decided about it in time; nothing was done."


class TurnApprovalSink(Struct, frozen=True):
    """Implements the guard's `ApprovalSink` for one turn."""

    approvals: Approvals
    agent: AgentId
    origin: Origin
    owner: Address

    async def standing(self, path: PurePosixPath, present: str | None) -> ProjectedFile:
        """Return the file after every waiting change that follows from its present text, in order."""
        text, number = present, None
        for change in await self.approvals.waiting(self.agent):
            if change.proposal.path == str(path) and change.proposal.before == text:
                text, number = change.proposal.after, change.id
        return ProjectedFile(text, number)

    async def propose(self, path: PurePosixPath, before: str | None, after: str | None, reason: ApprovalReason) -> int:
        """Store the change, notify the owner once, and return its number."""
        origin = self.origin
        asked = origin.session, origin.message, origin.turn, origin.mark, origin.chat
        proposal = Proposal(self.agent, str(path), before, after, reason, *asked)
        return await self.approvals.propose(proposal, self.owner)


async def _apply(home: Agent, proposal: Proposal, number: int) -> None:
    """Change the file, and record it in the history as requested by the turn and approved by the owner."""
    origin = Origin(proposal.session, proposal.message, proposal.turn, OWNER, proposal.mark, chat=proposal.chat)
    with home.changing(f"change-{number}", origin) as run:
        await run(_make, home.workspace, proposal, number)
    await home.history_writer.record([PurePosixPath(proposal.path)], origin)


def _make(workspace: Workspace, proposal: Proposal, number: int) -> None:
    """Write, or delete, the file of *proposal* with the owner's authority, on the workspace's thread."""
    access = owner_access(workspace.agent, OWNER, frozenset({Grant.APPROVED}))
    now = workspace.present(proposal.path, access)
    text = now.whole if now is not None else None
    after = proposal.after if text in {proposal.before, proposal.after} else _added(proposal, text, number)
    if text == after:
        return  # a crash occurred between the file and the store, or the owner made the same change
    if after is not None:
        workspace.write(proposal.path, after, access, now)
    elif now is not None:
        workspace.delete(proposal.path, access, now)


def _added(proposal: Proposal, text: str | None, number: int) -> str:
    """Return *text*, the long-term memory as it is now, with the items that *proposal* adds to it.

    Raises ApprovalError for any other change, with the difference: it was shown for another text.
    """
    try:
        if proposal.path in _MEMORY and text and proposal.before and proposal.after:
            return with_added_items(proposal.before, proposal.after, text)
    except EditError:
        pass
    raise ApprovalError(_stale(proposal, text, number))


def _stale(proposal: Proposal, text: str | None, number: int) -> str:
    return (
        f"{proposal.path} has changed since change #{number} was proposed, so nothing was written and it still waits: "
        "approve the changes before it, or undo the newer edit, or refuse it.\n\n"
        f"{code_block(difference(proposal.before, text))}"
    )
