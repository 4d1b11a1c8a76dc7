"""The check-up of a home, by command: with a gateway and without one, and never a change without a decision."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway.app.note_checks import NoteChecks
from gateway.checkup.checkup import checked_agent, read_checkup
from gateway.control.checkup_wire import CheckupOrder
from gateway.control.stream_wire import CheckOrder
from gateway.errors import CheckupError
from tests.journeys.house import make_home, running
from workspaces.access import owner_access

NOTES = "# Memory\n\n## Notes\n\n- The cat is called Miso.\n- The spare key is with Ann.\n- the cat is called Miso\n"


async def test_the_operator_checks_and_decides(tmp_path: Path) -> None:
    """By the same orders that the command line sends; progress comes to its end."""
    home = make_home(tmp_path / "home")
    notes = home.agent("main").workspace / "MEMORY.md"
    notes.write_text(NOTES, "utf-8")
    async with running(home) as app:
        steps: list[tuple[int, int]] = []
        said = await app.operator.follow(CheckOrder(), lambda done, total: steps.append((done, total)))
        assert "1 of them should change: 1 double" in said
        assert steps[-1][0] == steps[-1][1]
        assert notes.read_text("utf-8") == NOTES
        [proposal] = (await app.operator.ask(CheckupOrder())).proposals
        with pytest.raises(CheckupError, match="name a proposal"):
            await app.operator.ask(CheckupOrder("accept"))
        done = await app.operator.ask(CheckupOrder("accept", (proposal.mark,), "The cat is called Mio."))
        assert "written" in done.outcome
        assert "- The cat is called Mio.\n" in notes.read_text("utf-8")
        assert (await app.operator.ask(CheckupOrder("undo", (proposal.mark,)))).proposals[0].state == "open"
        assert notes.read_text("utf-8") == NOTES
        assert "refused" in (await app.operator.ask(CheckupOrder("refuse", (proposal.mark,)))).outcome
        assert (await app.operator.ask(CheckupOrder())).proposals == ()


async def test_a_digest_comes_once_in_its_days_and_only_if_something_waits(tmp_path: Path) -> None:
    """In the owner's chat, with a button; it changes nothing. A clock that was ahead once keeps off none."""
    home = make_home(tmp_path / "home")
    (home.agent("main").workspace / "MEMORY.md").write_text(NOTES, "utf-8")
    now = datetime(2026, 3, 1, 9, tzinfo=UTC)
    times = [now]
    async with running(home) as app:
        parts = app.parts.resources
        [agent] = parts.agents.values()
        checked = checked_agent(agent, parts.sessions, UTC)
        checks = NoteChecks(
            7, [checked], lambda: times[-1], parts.home.clock, parts.home.owner_chats.of, parts.home.notices
        )
        await checks.check(checked)
        await checks.check(checked)
        rows = [row.outgoing for row in await parts.home.store.outbox.unfinished()]
        [notice] = [row for row in rows if row.text.startswith("Check-up of the notes of main.")]
        assert "1 double" in notice.text
        assert [button.command for button in notice.buttons] == ["/checkup next"]
        for times[-1] in (now + timedelta(days=400), now):
            await checks.check(checked)
        assert (await read_checkup(checked, owner_access(agent.id, "test"))).at == now
    assert (home.agent("main").workspace / "MEMORY.md").read_text("utf-8") == NOTES


async def test_a_batch_goes_on_past_a_mark_that_does_not_fit(tmp_path: Path) -> None:
    """The outcome names the accepted ones, and each other one with its reason."""
    home = make_home(tmp_path / "home")
    notes = home.agent("main").workspace / "MEMORY.md"
    notes.write_text(NOTES, "utf-8")
    async with running(home) as app:
        await app.operator.follow(CheckOrder())
        [proposal] = (await app.operator.ask(CheckupOrder())).proposals
        outcome = (await app.operator.ask(CheckupOrder("accept", ("1a2b3c4d", proposal.mark)))).outcome
    assert outcome.split("\n")[0] == f"{proposal.mark} ({proposal.citation}): accepted"
    assert outcome.split("\n")[1].startswith("left: 1a2b3c4d: there is no proposal 1a2b3c4d; check again")
    assert notes.read_text("utf-8") == NOTES.replace("- the cat is called Miso\n", "")
