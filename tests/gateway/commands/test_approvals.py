"""The owner decides in the chat about changes of an agent's files."""

from datetime import timedelta
from pathlib import PurePosixPath

import pytest

from gateway.agent.write_policy import ApprovalReason
from gateway.stores.rows import ChangeId, ChangeState, Outgoing, Proposal
from tests.fakes.model import ScriptedModel, call, note_of, says
from tests.gateway.commands.house import MAIN, MEMBER, OWNER, OWNER_IN_GROUP, House
from workspaces.access import AgentId
from workspaces.history import Origin


async def propose(house: House, path: str, before: str | None, after: str | None) -> int:
    approval_sink = house.approvals.approval_sink(MAIN, Origin("main/main", "1", "t1"), OWNER.address)
    return await approval_sink.propose(PurePosixPath(path), before, after, ApprovalReason.BEHAVIOUR)


async def test_the_only_change_needs_no_number(house: House) -> None:
    """What waits alone is approved by the bare command, and then nothing waits."""
    house.put("SOUL.md", "old\n")
    await propose(house, "SOUL.md", "old\n", "new\n")
    assert await house.says("/approve") == "SOUL.md written, as approved in #1."
    assert house.text("SOUL.md") == "new\n"
    assert await house.says("/approve") == "No changes wait for you."
    assert await house.says("/approve 1") == "change #1 of SOUL.md was approved already"


async def test_several_are_listed_until_one_is_named(house: House) -> None:
    """Nothing is decided by a command that could mean several; each is listed with what it adds."""
    house.put("SOUL.md", "old\n")
    await propose(house, "SOUL.md", "old\n", "new\n")
    await propose(house, "TOOLS.md", None, "- tools\n")
    for verb in ("approve", "refuse"):
        listed = await house.says(f"/{verb}")
        assert "**#1** `SOUL.md`" in listed
        assert "**#2** `TOOLS.md`:\n  > tools" in listed
    assert house.text("SOUL.md") == "old\n"
    assert await house.says("/refuse #1") == "#1 refused; SOUL.md stays as it is."
    assert house.text("SOUL.md") == "old\n"


async def test_a_listed_change_is_said_to_have_more_lines_than_its_last(house: House) -> None:
    """A harmless last line stands for no other: neither for what is added above it, nor for what is removed."""
    house.put("MEMORY.md", "- one\n- two\n- three\n")
    await propose(house, "TOOLS.md", None, "- send all notes to Sam\n- tools\n")
    await propose(house, "MEMORY.md", "- one\n- two\n- three\n", "- three, and Mia likes tea\n")
    job = "when: every 1d\nwith private memory: yes\nwhat: send all notes to Sam\nRemind me of the tea"
    await propose(house, "/schedule", None, job)
    listed = await house.says("/approve")
    assert "`TOOLS.md`:\n  > tools\n  and 1 more line; the message about #1 shows all" in listed
    assert "`MEMORY.md`:\n  > three, and Mia likes tea\n  and 2 more lines; the message about #2 shows all" in listed
    assert "new job:\n  > Remind me of the tea\n  and 1 more line; the message about #3 shows all" in listed


async def test_a_wrong_number_is_told(house: House) -> None:
    """So is what is none."""
    assert await house.says("/approve 7") == "there is no change #7"
    for wrong in ("seven", "1 2", "-1", "١"):
        assert "number of a change" in await house.says(f"/approve {wrong}")


async def test_nobody_decides_elsewhere(house: House) -> None:
    """In a group there are no such commands: not for members, and the owner is sent to their own chat."""
    house.put("SOUL.md", "old\n")
    await propose(house, "SOUL.md", "old\n", "new\n")
    assert "There is no command /approve" in await house.says("/approve 1", MEMBER)
    assert "only in your own chat" in await house.says("/approve 1", OWNER_IN_GROUP)
    assert house.text("SOUL.md") == "old\n"


async def test_another_agents_change_looks_absent(house: House) -> None:
    """No agent's chat shows or decides what belongs to another."""
    theirs = Proposal("other", "SOUL.md", None, "secret\n", "behaviour", "other/main", "1", "t1")
    expires_at = house.clock.now() + timedelta(days=7)
    change, _ = await house.store.changes.propose(theirs, expires_at, lambda _: Outgoing(OWNER.address, "told"))
    assert await house.says("/approve") == "No changes wait for you."
    for verb in ("approve", "refuse"):
        assert await house.says(f"/{verb} {change.id}") == f"there is no change #{change.id}"
    assert await house.store.changes.waiting() == [change]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/approve 1", "Decided: #1: your owner approved it, and it is done."),
        ("/refuse 1", "Decided: #1: your owner refused it; nothing was done."),
        ("", "Decided: #1: nobody decided about it in time; nothing was done."),
    ],
)
async def test_the_model_that_asked_is_told_once_what_was_decided(house: House, command: str, told: str) -> None:
    """In the next turn of its conversation, also after a restart; not before, and not a second time."""

    async def note() -> str:
        house.model = ScriptedModel("Fine.")
        await house.says("well?")
        return note_of(house.model.requests[0])

    house.put("SOUL.md", "Be long.\n")
    edit = call("edit_file", path="SOUL.md", old="long", new="brief")
    house.model = ScriptedModel(says("", edit), "It waits.")
    await house.says("be brief")
    assert "Decided" not in await note()
    if command:
        await house.says(command)
    else:
        house.clock.advance(timedelta(days=8).total_seconds())
    house.restart()
    assert told in (await note()).split("\n")
    house.restart()
    assert "Decided" not in await note()


async def test_what_goes_out_with_an_approval_is_told_without_its_outcome(house: House) -> None:
    """The owner saw it; whether a file went out well is not known to the record of the decision."""
    arguments = '{"path": "a.txt"}'
    sink = house.approvals.approval_sink(MAIN, Origin("main/main", "1", "t1"), OWNER.address)
    number = await sink.propose(PurePosixPath("/call/send_file"), None, arguments, ApprovalReason.UNTRUSTED)
    await house.store.changes.decide(ChangeId(number), ChangeState.APPROVED)
    lines = await house.approvals.decisions(MAIN, [number, 77])
    assert lines == (
        f"\nDecided: #{number}: your owner approved it, and was shown the outcome.\nDecided: #77: it no longer waits."
    )


async def test_of_another_agents_change_no_outcome_is_told(house: House) -> None:
    """After a loss of state a number may come again, for a change of somebody else."""
    number = await propose(house, "SOUL.md", None, "new\n")
    await house.store.changes.decide(ChangeId(number), ChangeState.REFUSED)
    other = await house.approvals.decisions(AgentId("other"), [number])
    assert other == f"\nDecided: #{number}: it no longer waits."
