"""Operator requests about changes that wait for approval."""

from datetime import tzinfo

from msgspec import Struct

from gateway.agent.write_policy import ApprovalReason
from gateway.approvals.approvals import Approvals
from gateway.approvals.diff import difference, subject_of, words_of
from gateway.control.agents import AgentDirectory
from gateway.control.wire import ApprovalAnswer, ApprovalOrder, WaitingChange
from gateway.errors import StrandlineError
from gateway.stores.rows import PendingChange


class ApprovalOperator(Struct, frozen=True):
    """Executes the owner's decisions about waiting changes."""

    agents: AgentDirectory
    approvals: Approvals
    zone: tzinfo
    """The owner's."""

    async def answer(self, order: ApprovalOrder) -> ApprovalAnswer:
        """Execute *order*. Raises StrandlineError for a missing or unknown number, and the errors of deciding."""
        approvals, agent = self.approvals, self.agents.one_or_all(order.agent)
        if order.act == "list":
            return ApprovalAnswer(tuple(_change(change, self.zone) for change in await approvals.waiting(agent)))
        if order.number is None:
            raise StrandlineError("the number of a change is missing; strandline approvals list shows them")
        match order.act:
            case "show":
                change = await approvals.get(order.number, agent)
                words = words_of(change.proposal, approvals.job_schedule)
                diff = "" if words is not None else difference(change.proposal.before, change.proposal.after)
                return ApprovalAnswer((_change(change, self.zone, diff, words or ""),))
            case "approve":
                return ApprovalAnswer(outcome=await approvals.approve(order.number, agent))
            case "refuse":
                return ApprovalAnswer(outcome=await approvals.refuse(order.number, agent))


def _change(change: PendingChange, zone: tzinfo, diff: str = "", words: str = "") -> WaitingChange:
    asked = change.proposal
    return WaitingChange(
        number=change.id,
        agent=asked.agent,
        subject=subject_of(asked),
        reason=ApprovalReason(asked.reason).in_words,
        session=asked.session,
        message=asked.message,
        created_at=change.created_at.astimezone(zone),
        expires_at=change.expires_at.astimezone(zone),
        diff=diff,
        words=words,
    )
