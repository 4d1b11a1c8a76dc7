"""A note is written where the turn's own people read it, and the model is told where."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.agent.entries import ToolCall
from gateway.agent.tools.files import file_tools
from gateway.agent.tools.notes import note_tools
from gateway.agent.tools.tool import Toolbox
from tests.fakes.approvals import guard
from tests.gateway.agent.tools.test_files import run
from tests.workspaces.turns import AGENT, CRON, GROUP, MAIN, OWN, SUBAGENT
from workspaces.access import Access
from workspaces.workspace import Workspace


def now() -> datetime:
    return datetime(2026, 3, 1, 9, 5, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "workspace", AGENT)


@pytest.mark.parametrize(("access", "folder"), [(MAIN, "memory"), (GROUP, OWN)])
async def test_a_note_comes_with_its_receipt(workspace: Workspace, access: Access, folder: str) -> None:
    """The result is a citation of the line that was written."""
    box = Toolbox(note_tools(workspace, access, run, now, guard(access)), access)
    result = await box.call(ToolCall("c1", "add_note", json.dumps({"text": "The boat is called Ondine."})))
    assert (result.text, result.is_error) == (f"Noted in {folder}/2026-03-01.md#L3.", False)
    lines = (workspace.folder.root / folder / "2026-03-01.md").read_text().splitlines()
    assert lines[2] == "- 09:05 The boat is called Ondine."


async def test_a_note_that_stands_there_already_is_told_to_the_model(workspace: Workspace) -> None:
    """Nothing is written, and the act is that the day has it."""
    box = Toolbox(note_tools(workspace, MAIN, run, now, guard(MAIN)), MAIN)
    first, second = [
        await box.call(ToolCall(f"c{number}", "add_note", json.dumps({"text": "Fed the cat."}))) for number in (1, 2)
    ]
    assert first.text == "Noted in memory/2026-03-01.md#L3."
    assert second.text.startswith("Already in memory/2026-03-01.md#L3, so nothing was written.")
    assert [act.kind for result in (first, second) for act in result.acts] == ["noted", "kept"]
    assert (workspace.folder.root / "memory/2026-03-01.md").read_text().count("Fed the cat.") == 1


@pytest.mark.parametrize("text", ["ok thanks", "User said good night", "The user replied with: “haha, good one”", "👍"])
async def test_small_talk_is_no_note(workspace: Workspace, text: str) -> None:
    """The model is told so; nothing failed, and nothing was done."""
    box = Toolbox(note_tools(workspace, MAIN, run, now, guard(MAIN)), MAIN)
    result = await box.call(ToolCall("c1", "add_note", json.dumps({"text": text})))
    assert (result.text, result.is_error, result.acts) == (
        "That is small talk and tells nothing, so nothing was written.",
        False,
        (),
    )
    assert not (workspace.folder.root / "memory/2026-03-01.md").exists()


async def test_a_relative_day_gets_its_date(workspace: Workspace) -> None:
    """In the notes of the day and in MEMORY.md: "tomorrow" is another day when it is read."""
    box = Toolbox(note_tools(workspace, MAIN, run, now, guard(MAIN)), MAIN)
    await box.call(ToolCall("c1", "add_note", json.dumps({"text": "Ann comes tomorrow."})))
    await box.call(
        ToolCall("c2", "save_memory", json.dumps({"text": "Kommt morgen oder übermorgen", "category": "notes"}))
    )
    await box.call(ToolCall("c3", "update_memory", json.dumps({"old": "Kommt morgen", "new": "Kam gestern"})))
    root = workspace.folder.root
    assert "Ann comes tomorrow (2026-03-02)." in (root / "memory" / "2026-03-01.md").read_text()
    assert "- Kam gestern (2026-02-28) oder übermorgen (2026-03-03)\n" in (root / "MEMORY.md").read_text()


@pytest.mark.parametrize("access", [SUBAGENT, CRON])
def test_who_has_no_memory_has_no_notebook(workspace: Workspace, access: Access) -> None:
    """Subagents and plain jobs are not offered to take notes."""
    assert note_tools(workspace, access, run, now, guard(access)) == []


async def test_an_empty_note_is_told_to_the_model(workspace: Workspace) -> None:
    """The model learns what was wrong with its call."""
    box = Toolbox(note_tools(workspace, MAIN, run, now, guard(MAIN)), MAIN)
    result = await box.call(ToolCall("c1", "add_note", '{"text": " \\u0001 "}'))
    assert (result.text, result.is_error) == ("text: the note is empty", True)


async def test_a_lasting_fact_is_saved_corrected_and_deleted(workspace: Workspace) -> None:
    """Each result cites the line; what cannot be done is told in words, and the file stays."""
    box = Toolbox(note_tools(workspace, MAIN, run, now, guard(MAIN)), MAIN)

    async def said(name: str, **arguments: str) -> str:
        return (await box.call(ToolCall("c1", name, json.dumps(arguments)))).text

    assert await said("save_memory", text="Prefers tea.", category="preferences") == "Saved in MEMORY.md#L7."
    assert await said("update_memory", old="tea", new="coffee") == "Updated in MEMORY.md#L7."
    assert (await said("update_memory", old="tea", new="milk")).startswith("not found")
    assert "new: the note is empty" in await said("update_memory", old="coffee", new=" ")
    assert "category" in await said("save_memory", text="x", category="gossip")
    assert "- Prefers coffee.\n" in workspace.read("MEMORY.md", MAIN).whole
    assert await said("update_memory", old="Prefers coffee.") == "Deleted in MEMORY.md#L7."


def test_a_group_is_not_offered_the_long_term_memory(workspace: Workspace) -> None:
    """Its notes are all that it may write."""
    assert [each.spec.name for each in note_tools(workspace, GROUP, run, now, guard(GROUP))] == ["add_note"]


def test_making_the_tools_of_a_turn_evaluates_no_annotation(workspace: Workspace) -> None:
    """They are read once for each tool; to evaluate them at every turn took more than half a millisecond."""
    memory = note_tools(workspace, MAIN, run, now, guard(MAIN))
    every = [*memory, *file_tools(workspace, MAIN, run, guard(MAIN))]
    assert len(every) > 5
    assert all(isinstance(annotation, str) for each in every for annotation in each.run.__annotations__.values())
