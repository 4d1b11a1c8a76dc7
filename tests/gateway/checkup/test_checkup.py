"""The check-up of an agent's notes, and its owner's decisions."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.channel import Quote
from gateway.checkup.checkup import accept, checked_agent, read_checkup, refuse, run_checkup, undo
from gateway.checkup.proposals import FILE, CheckupRecord, forget_texts
from gateway.checkup.summary import summary_of
from gateway.errors import CheckupError
from tests.fakes.model import ScriptedModel, call, says
from tests.gateway.commands.house import MEMBER, OWNER, OWNER_IN_GROUP, STRANGER, House, open_house
from workspaces.access import Access, AgentId, SessionType, owner_access

NOTES = "# Memory\n\n## Notes\n\n- The cat is called Miso.\n- The spare key is with Ann.\n- the cat is called Miso\n"
CHAIN = f"{NOTES}- The port is 5432.\n- The port is 5433 now.\n"


async def check(house: House, access: Access | None = None) -> CheckupRecord:
    """Check the notes of *house*."""
    checked = checked_agent(house.agent, house.sessions, UTC)
    return await run_checkup(checked, access or house.access(), house.clock.now(), lambda _done, _total: None)


async def test_a_check_up_changes_nothing_and_an_accepted_proposal_one_line(tmp_path: Path) -> None:
    """It is undone to the letter, and can be accepted again."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", NOTES)
        before = house.files()
        record = await check(house)
        assert house.files() == before
        [proposal] = record.open
        assert (proposal.kind, proposal.before) == ("double", "- the cat is called Miso")
        checked = checked_agent(house.agent, house.sessions, UTC)
        await accept(checked, house.access(), [proposal.mark])
        assert house.text("MEMORY.md") == NOTES.replace("- the cat is called Miso\n", "")
        with pytest.raises(CheckupError, match="accepted already"):
            await accept(checked, house.access(), [proposal.mark])
        await undo(checked, house.access(), proposal.mark)
        assert house.text("MEMORY.md") == NOTES
        assert (await read_checkup(checked, house.access())).open == (proposal,)


async def test_two_presses_at_once_act_once(tmp_path: Path) -> None:
    """Of two acceptances, and of an acceptance and a refusal, one is carried out."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", CHAIN)
        checked, access = checked_agent(house.agent, house.sessions, UTC), house.access()
        double, outdated = sorted((await check(house)).open, key=lambda each: each.kind)
        both = accept(checked, access, [double.mark]), accept(checked, access, [double.mark])
        outcomes: Sequence[object] = await asyncio.gather(*both, return_exceptions=True)
        assert sorted(type(each) is CheckupError for each in outcomes) == [False, True]
        either = refuse(checked, access, [outdated.mark]), accept(checked, access, [outdated.mark])
        outcomes = await asyncio.gather(*either, return_exceptions=True)
        assert sorted(type(each) is CheckupError for each in outcomes) == [False, True]
        assert house.text("MEMORY.md").count("cat is called") == 1


async def test_what_was_refused_is_not_proposed_again_until_that_is_undone(tmp_path: Path) -> None:
    """Also after a purge, which leaves no text in the record."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", NOTES)
        checked, access = checked_agent(house.agent, house.sessions, UTC), house.access()
        [proposal] = (await check(house)).open
        await refuse(checked, access, [proposal.mark])
        assert (await check(house)).open == ()
        forget_texts(checked.root)
        assert "Miso" not in (checked.root / FILE).read_text("utf-8")
        assert (await check(house)).open == ()


async def test_a_proposal_that_does_not_fit_any_more_stops_no_other(tmp_path: Path) -> None:
    """It is left, as one that is not known; each with its reason."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", CHAIN)
        checked, access = checked_agent(house.agent, house.sessions, UTC), house.access()
        double, outdated = sorted((await check(house)).open, key=lambda each: each.kind)
        changed = CHAIN.replace("5433 now", "5434 now")
        house.put("MEMORY.md", changed)
        accepted = await accept(checked, access, [outdated.mark, "00000000", double.mark])
        assert [each.mark for each in accepted.done] == [double.mark]
        assert [*accepted.left] == ["00000000", outdated.mark]
        assert "It said: - The port is 5433 now" in accepted.left[outdated.mark]
        assert "there is no proposal" in accepted.left["00000000"]
        assert house.text("MEMORY.md") == changed.replace("- the cat is called Miso\n", "")
        assert [each.mark for each in (await read_checkup(checked, access)).open] == [outdated.mark]


async def test_where_no_proposal_fits_nothing_is_written(tmp_path: Path) -> None:
    """The reasons of all are told."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", CHAIN)
        checked, access = checked_agent(house.agent, house.sessions, UTC), house.access()
        marks = [each.mark for each in (await check(house)).open]
        changed = CHAIN.replace("5433 now", "5434 now").replace("- The cat", "- Our cat")
        house.put("MEMORY.md", changed)
        with pytest.raises(CheckupError, match=r"(?s)It said: - The port is 5433 now.*It said: - The cat is"):
            await accept(checked, access, marks)
        assert house.text("MEMORY.md") == changed


def test_the_summary_counts_faults_and_what_is_worth_keeping_apart() -> None:
    """The kinds add up to the number before them."""
    now, found = datetime(2026, 3, 1, tzinfo=UTC), {"double": 1, "outdated": 2, "promotion": 5, "stale": 0}
    assert summary_of(CheckupRecord(now, 12, 4, score=0.5, found=found)) == (
        "12 notes checked, 4 of them in MEMORY.md (quality 0.50 of 1); 3 of them should change: 1 double, 2 outdated, "
        "and 5 are worth keeping in MEMORY.md."
    )
    assert summary_of(CheckupRecord(now, 1, found={"promotion": 1})) == (
        "1 note checked; nothing is wrong, and 1 is worth keeping in MEMORY.md."
    )


async def test_nobody_but_the_owner_has_part_in_it(tmp_path: Path) -> None:
    """No group, guest, job, heartbeat or subagent, and no other agent's owner: nothing is read, decided or undone."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", NOTES)
        await check(house)
        checked = checked_agent(house.agent, house.sessions, UTC)
        own = owner_access(house.agent.id, "test")
        others = [house.access(message) for message in (MEMBER, OWNER_IN_GROUP, STRANGER)]
        kinds = [Access(own.agent, kind, own.scope, "x", 0, frozenset()) for kind in SessionType if kind != "main"]
        for access in (*others, *kinds, owner_access(AgentId("other"), "test")):
            for asked in (
                run_checkup(checked, access, house.clock.now(), lambda _done, _total: None),
                read_checkup(checked, access),
                accept(checked, access, ["1a2b3c4d"]),
                refuse(checked, access, ["1a2b3c4d"]),
                undo(checked, access, "1a2b3c4d"),
            ):
                with pytest.raises(CheckupError, match="only the owner"):
                    await asked


async def test_a_damaged_record_is_none(tmp_path: Path) -> None:
    """The next check-up makes it anew."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", NOTES)
        checked = checked_agent(house.agent, house.sessions, UTC)
        (checked.root / FILE).write_text("{", "utf-8")
        assert await read_checkup(checked, house.access()) == CheckupRecord()
        assert len((await check(house)).open) == 1
        assert (checked.root / FILE).stat().st_mode & 0o777 == 0o600


async def test_no_words_of_others_come_into_a_proposal(tmp_path: Path) -> None:
    """What was noted of forwards replaces nothing of the owner's, and is no preference of theirs."""
    async with open_house(tmp_path) as house:
        house.put("MEMORY.md", "# Memory\n\n## Notes\n\n- The port is 5432.\n")
        await house.history_writer.catch_up()
        for text in (
            "The port is 5433 now.",
            "I prefer Sam's bank for all payments.",
            "I prefer Sam's bank for all payments.",
        ):
            house.clock.advance(86_400)
            house.model = ScriptedModel(says("", call("add_note", text=text)), "Noted.")
            await house.answer(await house.take_in("", replace(OWNER, quote=Quote("Sam", text))))
        assert (await check(house)).open == ()
        house.put("MEMORY.md", f"{house.text('MEMORY.md')}- The port is 5434 now.\n")
        assert [each.before for each in (await check(house)).open] == ["- The port is 5432."]
