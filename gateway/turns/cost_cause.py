"""Spending cause of a turn, and the notice that the day's budget is spent."""

from msgspec import structs

from adapters.channel import InboundMessage
from adapters.http import CHANNEL as HTTP
from gateway.admission.internal_channels import CLOCK
from gateway.admission.routing import Envelope
from gateway.agent.agent import Agent
from gateway.agent.budget import CostCause
from gateway.agent.models.paid import paid_for
from gateway.errors import BudgetError
from workspaces.access import SessionType

_OTHERS_ARE_TOLD = "I cannot answer any more today. Please ask again tomorrow."

_CAUSES = {
    SessionType.HEARTBEAT: CostCause.HEARTBEAT,
    SessionType.CRON: CostCause.CRON,
    SessionType.SUBAGENT: CostCause.SUBAGENT,
    SessionType.GUEST: CostCause.GUEST,
    SessionType.GROUP: CostCause.GROUP,
}
_OF_THE_OWNER = frozenset({SessionType.MAIN, SessionType.HEARTBEAT, SessionType.CRON, SessionType.SUBAGENT})
"""Sessions whose answers only the owner, or their agent, reads."""


def cause_of(message: InboundMessage, session_type: SessionType) -> CostCause:
    """Return the spending cause of the turn of *message*; a job that runs in the owner's chat is still a job."""
    if message.address.channel == CLOCK and session_type is SessionType.MAIN:
        return CostCause.CRON
    if message.address.channel == HTTP and session_type is SessionType.GUEST:
        return CostCause.TOKEN
    return _CAUSES.get(session_type, CostCause.CHAT)


def asked_for(agent: Agent, message: InboundMessage, envelope: Envelope) -> Agent:
    """Return *agent* with its model charged for the cause of the turn of *message*."""
    return structs.replace(agent, model=paid_for(agent.model, cause_of(message, envelope.access.session_type)))


def budget_notice(exc: BudgetError, envelope: Envelope) -> tuple[str, str]:
    """Return a key and a sentence: each session is notified once of each limit that stops it on a day.

    The remaining budget, and how to raise it, are shown to the owner alone.
    """
    said = str(exc) if envelope.access.session_type in _OF_THE_OWNER else _OTHERS_ARE_TOLD
    return f"budget:{envelope.key}:{exc.mark}", said
