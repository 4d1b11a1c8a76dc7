"""Comparison of what was written lately with the lasting notes."""

import asyncio
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path, PurePosixPath

import pytest

from adapters.channel import Quote
from gateway.app import note_checks
from gateway.app.note_checks import NoteChecks
from gateway.checkup.checkup import CheckedAgent, accept, checked_agent, read_checkup, undo
from gateway.checkup.fresh import compare_fresh
from gateway.checkup.proposals import CheckupProposal
from gateway.delivery.owner_notices import Notices
from gateway.errors import CheckupError
from tests.fakes.model import ScriptedModel, call, says
from tests.fakes.patience import PATIENCE_S
from tests.gateway.commands.house import MEMBER, OWNER, House, open_house
from workspaces.access import Access, AgentId

NOTES = "# Memory\n\n## Notes\n\n- The staging port is 5432.\n- Ann lives in Berlin.\n"
FORWARD = replace(OWNER, quote=Quote("Sam", "The staging port is 6666 now."))
MARKED = "- The staging port is 5432. (until "


async def compared(house: House) -> list[CheckupProposal]:
    return await compare_fresh(checked_agent(house.agent, house.sessions, UTC), house.access())


async def begin(house: House) -> None:
    """Let *house* have notes that were compared."""
    house.put("MEMORY.md", NOTES)
    assert await compared(house) == []
    house.clock.advance(timedelta(days=2).total_seconds())


async def test_the_owners_edit_is_compared_once(tmp_path: Path) -> None:
    """Accepted, the older line says until when it held; nothing is removed, and it can be undone."""
    async with open_house(tmp_path) as house:
        await begin(house)
        house.put("MEMORY.md", f"{NOTES}- The staging port is 5433 now.\n")
        [proposal] = await compared(house)
        assert (proposal.before, proposal.beside) == ("- The staging port is 5432.", "- The staging port is 5433 now.")
        assert await compared(house) == []
        checked = checked_agent(house.agent, house.sessions, UTC)
        await accept(checked, house.access(), [proposal.mark])
        assert MARKED in house.text("MEMORY.md")
        assert "now MEMORY.md#L7)\n" in house.text("MEMORY.md")
        await undo(checked, house.access(), proposal.mark)
        assert house.text("MEMORY.md") == f"{NOTES}- The staging port is 5433 now.\n"


async def test_a_note_of_the_day_and_the_words_of_a_conversation_are_compared(tmp_path: Path) -> None:
    """By the tool, and by the log of the day when the conversation ends."""
    async with open_house(tmp_path) as house:
        await begin(house)
        house.model = ScriptedModel(says("", call("add_note", text="The staging port is 5433 now.")), "Noted.")
        await house.says("the staging port changed to 5433")
        [proposal] = await compared(house)
        assert proposal.before == "- The staging port is 5432."
        house.model = ScriptedModel(*["Yes.", *["NO_REPLY"] * 4])
        await house.says("Ann lives in Hamburg now.")
        await house.says("/new")
        assert [each.before for each in await compared(house)] == ["- Ann lives in Berlin."]


async def test_others_words_and_what_was_decided_lead_to_no_question(tmp_path: Path) -> None:
    """A stranger's value never stands against the owner's, and a refusal is not asked about again."""
    async with open_house(tmp_path) as house:
        await begin(house)
        house.model = ScriptedModel(says("", call("add_note", text="The staging port is 6666 now.")), "Noted.")
        await house.answer(await house.take_in("", FORWARD))
        assert await compared(house) == []
        await house.says("/new")
        told = await house.says("/remember The staging port is 5433 now")
        await house.says((await house.buttons(told))["Both hold"])
        assert await compared(house) == []
        assert MARKED not in house.text("MEMORY.md")


async def test_later_keeps_the_question_for_the_list(tmp_path: Path) -> None:
    """It waits where the page and the command line show it; decided there, the chat's buttons act no more."""
    async with open_house(tmp_path) as house:
        await begin(house)
        told = await house.says("/remember The staging port is 5433 now")
        buttons = await house.buttons(told)
        assert [*buttons] == ["Replaces it", "Both hold", "Later", "Undo"]
        assert (await house.says(buttons["Later"])).startswith("Both stand")
        checked = checked_agent(house.agent, house.sessions, UTC)
        [proposal] = (await read_checkup(checked, house.access())).open
        await accept(checked, house.access(), [proposal.mark])
        assert "no older note" in await house.says(buttons["Replaces it"])
        assert house.text("MEMORY.md").count(MARKED) == 1


async def test_the_question_comes_once_a_day_and_a_changed_line_is_refused(tmp_path: Path) -> None:
    """With three answers; the second press acts no more, and a line that changed is shown as it is now."""
    async with open_house(tmp_path) as house:
        await begin(house)
        checked = checked_agent(house.agent, house.sessions, UTC)
        woken: list[object] = []
        notices = Notices(house.store, OWNER.address, woken.extend)

        async def owner(_: AgentId) -> object:
            return OWNER.address

        checks = NoteChecks(0, [checked], house.clock.now, house.clock, owner, notices)  # type: ignore[arg-type]
        house.put("MEMORY.md", f"{NOTES}- The staging port is 5433 now.\n")
        await checks.compare(checked)
        house.put("MEMORY.md", f"{NOTES}- The staging port is 5433 now.\n- Ann lives in Hamburg now.\n")
        await checks.compare(checked)
        [notice] = [row.outgoing for row in await house.store.outbox.unfinished() if row.is_notice]
        assert "5433 now" in notice.text
        answers = {each.label: each.command for each in notice.buttons}
        assert [*answers] == ["Replaces it", "Both hold", "Later"]
        assert "It waits" in await house.says(answers["Later"])
        house.put("MEMORY.md", house.text("MEMORY.md").replace("port is 5432.", "port is 5432, I think."))
        assert "+- The staging port is 5432, I think." in await house.says(answers["Replaces it"])
        house.put("MEMORY.md", house.text("MEMORY.md").replace(", I think", ""))
        assert "Corrected in" in await house.says(answers["Replaces it"])
        assert "was accepted already" in await house.says(answers["Both hold"])


async def test_nothing_of_a_resting_agent_is_read(tmp_path: Path) -> None:
    """A commit, also that of the owner's edit, wakes the comparison: a thousand agents at rest cost nothing."""
    async with open_house(tmp_path) as house:
        await begin(house)
        checked = checked_agent(house.agent, house.sessions, UTC)

        async def owner(_: AgentId) -> object:
            return OWNER.address

        notices = Notices(house.store, OWNER.address, lambda _: None)
        checks = NoteChecks(0, [checked], house.clock.now, house.clock, owner, notices)  # type: ignore[arg-type]
        heads: dict[AgentId, str] = {}
        await checks.compare_changed(heads, checked)
        house.put("MEMORY.md", f"{NOTES}- The staging port is 5433 now.\n")
        await checks.compare_changed(heads, checked)
        assert [row for row in await house.store.outbox.unfinished() if row.is_notice] == []
        await house.agent.history_writer.catch_up()
        await checks.compare_changed(heads, checked)
        assert [row.is_notice for row in await house.store.outbox.unfinished()] == [True]


async def test_a_defect_costs_a_check_and_not_the_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other agents' notes are checked all the same."""
    seen: list[CheckedAgent] = []

    async def broken(checked: CheckedAgent, _: Access) -> list[CheckupProposal]:
        seen.append(checked)
        raise OverflowError("date value out of range")

    monkeypatch.setattr(note_checks, "compare_fresh", broken)
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", NOTES)
        await house.agent.history_writer.catch_up()
        checked = checked_agent(house.agent, house.sessions, UTC)

        async def owner(_: AgentId) -> object:
            return OWNER.address

        notices = Notices(house.store, OWNER.address, lambda _: None)
        checks = NoteChecks(0, [checked] * 2, house.clock.now, house.clock, owner, notices)  # type: ignore[arg-type]
        work = asyncio.ensure_future(next(checks.work()))
        async with asyncio.timeout(PATIENCE_S):
            while len(seen) < 2 and not work.done():  # noqa: ASYNC110  # no event
                await asyncio.sleep(0.01)
        assert not work.done()
        work.cancel()


async def test_nobody_but_the_owner_compares(tmp_path: Path) -> None:
    """As for the check-up."""
    async with open_house(tmp_path) as house:
        await begin(house)
        with pytest.raises(CheckupError, match="only the owner"):
            await compare_fresh(checked_agent(house.agent, house.sessions, UTC), house.access(MEMBER))
        assert house.history_writer.origins.others_in(house.text(str(PurePosixPath("MEMORY.md")))) == []
