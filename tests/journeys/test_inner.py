"""A turn that no person started, in a whole gateway."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.channel import Address, ChatKind, InboundMessage, OutboundMessage
from gateway.admission.internal_channels import NOBODY, heartbeat_address, job_address
from gateway.app.app import App
from tests.journeys.house import make_home, running
from workspaces.access import AgentId

MAIN = AgentId("main")
OWNER = Address("terminal", "main", "cli")


def asked(address: Address, text: str, slot: str = "2026-03-01T09:00Z") -> InboundMessage:
    return InboundMessage(address, slot, NOBODY, ChatKind.DIRECT, text, True, datetime.now(UTC), answers_to=OWNER)


async def answers(app: App, *messages: InboundMessage) -> list[str]:
    """What the owner's terminal shows once the agent has answered *messages*."""
    heard: list[str] = []

    async def listens(message: OutboundMessage) -> None:
        heard.append(message.body.text)

    with app.operator.conversation.terminals[MAIN].attach(listens):
        for message in messages:
            await app.parts.resources.home.entrance.enter(message)
        await app.parts.lanes.idle()
        rows = await app.parts.resources.home.store.outbox.unfinished()
        await asyncio.gather(*(app.parts.delivery.finished(row.id) for row in rows))
    return heard


async def test_a_slot_is_answered_once_where_the_owner_is(tmp_path: Path) -> None:
    """However often it is asked for; and it leaves the owner's own conversation and notes alone."""
    home = make_home(tmp_path / "home")
    async with running(home) as app:
        slot = asked(job_address(MAIN, "tea"), "remember that the tea is ready")
        assert len(await answers(app, slot, slot)) == 1
        assert not await app.parts.resources.home.entrance.enter(slot)
    names = {path.name for path in home.agent("main").sessions.glob("*.jsonl")}
    assert names == {"cron:tea.jsonl"}
    assert not list((home.agent("main").workspace / "memory").glob("20*.md"))


async def test_a_text_of_ours_is_no_command(tmp_path: Path) -> None:
    """A job that says `/new` ends no session."""
    async with running(make_home(tmp_path / "home")) as app:
        (said,) = await answers(app, asked(job_address(MAIN, "tea", in_main=True), "/whoami"))
        assert "telegram" not in said
        assert "There is no command" not in said


async def test_the_door_refuses_what_says_it_is_the_clock(tmp_path: Path) -> None:
    """Only the gateway's own entrance takes such a message, and no other."""
    async with running(make_home(tmp_path / "home")) as app:
        assert await app.parts.reception.receive(asked(heartbeat_address(MAIN), "hello")) == "no_policy"
        with pytest.raises(ValueError, match="not the gateway's own"):
            await app.parts.resources.home.entrance.enter(asked(OWNER, "hello"))
