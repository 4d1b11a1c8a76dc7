"""The two channels without a platform: their routes, and their closure to anybody else."""

from datetime import UTC, datetime

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, Sender
from gateway.admission.internal_channels import (
    NOBODY,
    chat_of,
    heartbeat_address,
    is_inner,
    job_address,
    kind_of,
    result_address,
    task_address,
)
from gateway.admission.policy import Admitted, RefusalReason, Refused, admit
from gateway.admission.routing import SessionKey, is_unasked, route, session_of
from gateway.app.channels import routes_of
from gateway.config import Config
from workspaces.access import PRIVATE, AgentId, SessionType, rights

MAIN = AgentId("main")
GUEST = "guest:telegram.home.9"
ROUTES = routes_of(Config.model_validate({"agents": {"main": {}, "other": {}}}))
CASES = [
    (heartbeat_address(MAIN), SessionType.HEARTBEAT, "heartbeat", 0),
    (job_address(MAIN, "tea"), SessionType.CRON, "cron:tea", 0),
    (job_address(MAIN, "tea", private=True), SessionType.CRON, "cron:tea", 0),
    (job_address(MAIN, "tea", in_main=True), SessionType.MAIN, "main", 0),
    (task_address(MAIN, "a1"), SessionType.SUBAGENT, "subagent:a1", 1),
    (result_address(MAIN, "main"), SessionType.MAIN, "main", 0),
    (result_address(MAIN, GUEST), SessionType.GUEST, GUEST, 0),
]


def said(address: Address, text: str = "do it") -> InboundMessage:
    """What the gateway itself asks of an agent."""
    return InboundMessage(address, "2026-03-01T09:00Z", NOBODY, ChatKind.DIRECT, text, True, datetime.now(UTC))


@pytest.mark.parametrize(("address", "session_type", "name", "depth"), CASES)
def test_an_inner_address_leads_to_one_session_with_its_own_access(
    address: Address, session_type: SessionType, name: str, depth: int
) -> None:
    """Type, session and what it may see hang on the address alone; the session is found back from the access."""
    envelope = route(said(address, "/new and show me MEMORY.md"), ROUTES)
    assert envelope.key == SessionKey(MAIN, name) == session_of(envelope.access)
    assert (envelope.access.session_type, envelope.access.depth) == (session_type, depth)
    assert is_unasked(envelope.key) == (session_type in {SessionType.HEARTBEAT, SessionType.CRON, SessionType.SUBAGENT})


def test_only_a_private_job_sees_private_memory() -> None:
    """Any other job and every helper see no memory at all."""
    plain, private, task = (
        rights(route(said(address), ROUTES).access)
        for address in (job_address(MAIN, "tea"), job_address(MAIN, "tea", private=True), task_address(MAIN, "a1"))
    )
    assert not plain.private
    assert private.private
    assert (task.private, task.memory_tools, task.writes) == (False, False, False)


def test_a_result_for_a_guest_keeps_the_guests_scope() -> None:
    """What a helper found goes into the conversation that asked, with what that may see."""
    access = route(said(result_address(MAIN, GUEST)), ROUTES).access
    assert access.scope == "shared:telegram.home.9"
    assert route(said(result_address(MAIN, "main")), ROUTES).access.scope == PRIVATE


@pytest.mark.parametrize("chat", [Address("telegram", "home", "9"), Address("telegram", "a.b", 'x"y', "5"), None])
def test_a_result_knows_where_its_parent_speaks(chat: Address | None) -> None:
    """Whatever the names of chats hold; the session is the same for all of its chats."""
    address = result_address(MAIN, "main", chat)
    assert chat_of(address) == chat
    assert route(said(address), ROUTES).key == SessionKey(MAIN, "main")


def test_no_sender_of_the_clock_is_the_owner() -> None:
    """No command that is the owner's can be given by a text of ours."""
    assert not ROUTES.policy.is_owner("clock", NOBODY)
    assert is_inner(said(heartbeat_address(MAIN)))


def test_an_agent_that_is_gone_gets_nothing_any_more() -> None:
    """What was queued for it falls away."""
    assert admit(said(heartbeat_address(MAIN)), ROUTES.policy) == Admitted()
    assert admit(said(heartbeat_address(AgentId("gone"))), ROUTES.policy) == Refused(RefusalReason.NO_POLICY)


@pytest.mark.parametrize("chat", ["", "nonsense", "result:", "result:nonsense"])
def test_a_chat_that_none_of_ours_has_is_refused_loudly(chat: str) -> None:
    """It would be a defect."""
    with pytest.raises(ValueError, match="SessionType"):
        kind_of(Address("helper", "main", chat))


def test_a_platform_cannot_speak_as_the_clock() -> None:
    """An account of a platform has its own channel's name, whatever it is called."""
    message = InboundMessage(
        Address("telegram", "clock", "heartbeat"),
        "1",
        Sender("9", "Eve"),
        ChatKind.DIRECT,
        "hi",
        True,
        datetime.now(UTC),
    )
    assert not is_inner(message)
    assert isinstance(admit(message, ROUTES.policy), Refused)
