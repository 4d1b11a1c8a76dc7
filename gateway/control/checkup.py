"""The operator's check-up of an agent's notes, and decisions about its proposals."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct, structs

from gateway.checkup.changes import preview, words_of
from gateway.checkup.checkup import (
    CheckedAgent,
    Progress,
    accept,
    checked_agent,
    read_checkup,
    refuse,
    run_checkup,
    undo,
)
from gateway.checkup.proposals import CheckupProposal, CheckupRecord
from gateway.checkup.summary import summary_of
from gateway.control.agents import AgentDirectory, terminal_access
from gateway.control.checkup_wire import CheckupAnswer, CheckupOrder, ShownProposal
from gateway.control.stream_wire import CheckOrder
from gateway.errors import CheckupError
from gateway.transcripts.store import Sessions
from workspaces.access import Access


class CheckupOperator(Struct, frozen=True):
    """Executes the owner's orders about check-ups. Everything raises StrandlineError for an unknown agent."""

    agents: AgentDirectory
    transcripts: Sessions
    now: Callable[[], datetime]
    """Time in the owner's zone."""

    async def check(self, order: CheckOrder, progress: Progress) -> str:
        """Check all notes, and return a description of the outcome. Raises CheckupError and WorkspaceError."""
        checked, access = self._named(order.agent)
        return summary_of(await run_checkup(checked, access, self.now(), progress))

    async def answer(self, order: CheckupOrder) -> CheckupAnswer:
        """Execute *order*. Raises CheckupError, and the errors of writing."""
        checked, access = self._named(order.agent)
        if order.act == "show":
            record = await read_checkup(checked, access)
            return structs.replace(
                _answer(record, record.open, ""),
                scores=record.scores,
                trend=record.trend,
                decided=tuple(map(_shown, record.decided)),
            )
        if not order.marks:
            raise CheckupError("name a proposal by its mark; strandline memory checkup shows them")
        done, outcome, left = await self._decide(order, checked, access)
        named = ", ".join(f"{each.mark} ({each.citation})" for each in done)
        lines = [f"{named}: {outcome}", *(f"left: {mark}: {why}" for mark, why in left.items())]
        return _answer(await read_checkup(checked, access), done, "\n".join(lines))

    async def _decide(
        self, order: CheckupOrder, checked: CheckedAgent, access: Access
    ) -> tuple[Sequence[CheckupProposal], str, Mapping[str, str]]:
        """Return the proposals that were decided, how, and why others were left, by mark."""
        if order.act == "accept":
            accepted = await accept(checked, access, order.marks, order.words, self.now())
            return accepted.done, "written" if order.words is not None else "accepted", accepted.left
        if order.act == "refuse":
            return await refuse(checked, access, order.marks), "refused; it is not proposed again", {}
        return await undo(checked, access, order.marks[0]), "undone; it waits for a decision again", {}

    def _named(self, name: str | None) -> tuple[CheckedAgent, Access]:
        agent = self.agents.named(name)
        return checked_agent(agent, self.transcripts, self.now().tzinfo or UTC), terminal_access(agent.id)


def _answer(record: CheckupRecord, proposals: Sequence[CheckupProposal], outcome: str) -> CheckupAnswer:
    return CheckupAnswer(
        record.at,
        record.entries,
        record.lasting,
        record.unknown,
        record.score,
        record.found,
        record.weak,
        tuple(map(_shown, proposals)),
        outcome,
    )


def _shown(proposal: CheckupProposal) -> ShownProposal:
    return ShownProposal(
        proposal.mark,
        proposal.kind,
        proposal.citation,
        proposal.reason,
        preview(proposal),
        proposal.state,
        words_of(proposal),
    )
