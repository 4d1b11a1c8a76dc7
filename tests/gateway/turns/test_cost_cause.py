"""What a turn asks its model for, and so whose limit it keeps."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.internal_channels import job_address
from gateway.agent.budget import CostCause
from gateway.turns.cost_cause import cause_of
from workspaces.access import AgentId, SessionType

SAID = InboundMessage(
    Address("telegram", "home", "7"), "1", Sender("7", "Ann"), ChatKind.DIRECT, "hello", True, datetime.now(UTC)
)
BY_API = replace(SAID, address=Address("http", "visitor", "main", "main"))
JOB = replace(SAID, address=job_address(AgentId("main"), "1", in_main=True))


@pytest.mark.parametrize(
    ("message", "kind", "cause"),
    [
        (SAID, SessionType.MAIN, CostCause.CHAT),
        (SAID, SessionType.GUEST, CostCause.GUEST),
        (SAID, SessionType.GROUP, CostCause.GROUP),
        (BY_API, SessionType.GUEST, CostCause.TOKEN),
        (BY_API, SessionType.MAIN, CostCause.CHAT),
        (JOB, SessionType.MAIN, CostCause.CRON),
        (SAID, SessionType.HEARTBEAT, CostCause.HEARTBEAT),
        (SAID, SessionType.SUBAGENT, CostCause.SUBAGENT),
    ],
)
def test_each_turn_is_paid_as_what_it_is(message: InboundMessage, kind: SessionType, cause: CostCause) -> None:
    """What others ask never counts as the owner's own."""
    assert cause_of(message, kind) is cause
