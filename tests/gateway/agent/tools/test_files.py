"""File tools go as far as the turn's access, and keep what a turn may replace."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import ParamSpec, TypeVar

import pytest

from gateway.agent.entries import ResultEntry, ToolCall
from gateway.agent.tools.files import file_tools
from gateway.agent.tools.tool import RESULT_CAP, Toolbox
from gateway.agent.write_policy import ApprovalReason
from tests.fakes.approvals import FakeApprovalSink, guard
from tests.workspaces.turns import AGENT, CRON, GROUP, HEARTBEAT, MAIN, OWN, SUBAGENT
from workspaces.access import Access, Locality, read_by
from workspaces.errors import FileBusyError
from workspaces.file_slot import FileContent
from workspaces.workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")


async def run(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.to_thread(function, *args, **kwargs)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "workspace", AGENT)


class Turn:
    """The tools of one turn, called as a model calls them."""

    def __init__(self, workspace: Workspace, access: Access) -> None:
        self.box = Toolbox(file_tools(workspace, access, run, guard(access)), access)

    async def call(self, name: str, **arguments: object) -> ResultEntry:
        return await self.box.call(ToolCall("c1", name, json.dumps(arguments)))

    async def done(self, name: str, **arguments: object) -> str:
        result = await self.call(name, **arguments)
        assert not result.is_error, result.text
        return result.text

    async def refused(self, name: str, **arguments: object) -> str:
        result = await self.call(name, **arguments)
        assert result.is_error
        return result.text


READING = {"read_file"}
WRITING = {"write_file", "edit_file", "delete_file"}


@pytest.mark.parametrize(
    ("access", "names"),
    [
        (MAIN, READING | WRITING),
        (GROUP, READING | WRITING),
        (HEARTBEAT, READING | WRITING),
        (SUBAGENT, READING),
        (CRON, READING),
    ],
)
def test_who_may_not_write_has_no_tool_for_it(workspace: Workspace, access: Access, names: set[str]) -> None:
    """Subagents and plain jobs are not even offered to write."""
    assert {spec.name for spec in Turn(workspace, access).box.specs} == names


def test_the_tools_cost_little_of_a_request(workspace: Workspace) -> None:
    """Names, descriptions and schemas of all file tools are under 1,000 bytes."""
    specs = [(spec.name, spec.description, spec.parameters) for spec in Turn(workspace, MAIN).box.specs]
    assert len(json.dumps(specs)) < 1_000


async def test_a_file_is_written_read_edited_and_deleted(workspace: Workspace) -> None:
    """The life of a file, and a listing of where it is."""
    turn = Turn(workspace, MAIN)
    assert (
        await turn.done("write_file", path="plans/boat.md", content="one\ntwo\n") == "plans/boat.md written, 2 lines."
    )
    assert await turn.done("read_file", path="plans/boat.md") == "one\ntwo\n"
    assert await turn.done("edit_file", path="plans/boat.md", old="two", new="three") == "plans/boat.md edited."
    for lists in ("read_file", "list_files"):  # the second is not offered, and answers older workspaces' words
        assert await turn.done(lists, path="plans") == "boat.md (10 bytes)"
        assert "plans/" in (await turn.done(lists, path=".")).splitlines()
        assert "there is no such file" in await turn.refused(lists, path="nowhere")
    assert await turn.done("delete_file", path="plans/boat.md") == "plans/boat.md deleted."
    assert "plans/" not in (await turn.done("list_files")).splitlines()
    assert await turn.done("write_file", path="plans/boat.md", content="") == "plans/boat.md written, 0 lines."
    assert await turn.done("read_file", path="plans/boat.md") == "(the file is empty)"


async def test_a_file_that_changes_all_the_time_is_told_as_such(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there, so no listing is shown in its place; the next call may read it."""

    def busy(path: PurePosixPath) -> FileContent:
        raise FileBusyError(f"{path} is being changed all the time; try again")

    monkeypatch.setattr(workspace.folder, "read", busy)
    assert "USER.md is being changed all the time" in await Turn(workspace, MAIN).refused("read_file", path="USER.md")


async def test_only_what_the_turn_has_read_is_replaced_or_deleted(workspace: Workspace) -> None:
    """A file that exists has to be read first, in this very turn."""
    turn = Turn(workspace, MAIN)
    before = (workspace.folder.root / "USER.md").read_bytes()
    assert "read it" in await turn.refused("write_file", path="USER.md", content="mine")
    assert "read it first" in await turn.refused("delete_file", path="USER.md")
    await turn.done("read_file", path="USER.md")
    other = Turn(workspace, MAIN)
    assert "read it" in await other.refused("write_file", path="USER.md", content="mine")
    assert (workspace.folder.root / "USER.md").read_bytes() == before
    await turn.done("write_file", path="./USER.md", content="mine")
    await turn.done("write_file", path="USER.md", content="mine again")
    await turn.done("delete_file", path="USER.md")


async def test_the_owners_edit_during_a_turn_stays(workspace: Workspace) -> None:
    """What changed since the turn read it is shown and must be read again, by a second try too."""
    turn = Turn(workspace, MAIN)
    await turn.done("read_file", path="USER.md")
    theirs = "# Your owner\n\n- Likes sailing\n"
    (workspace.folder.root / "USER.md").write_text(theirs)
    for _ in range(2):
        assert "+- Likes sailing" in await turn.refused("write_file", path="USER.md", content="mine")
        assert "+- Likes sailing" in await turn.refused("edit_file", path="USER.md", old="Likes", new="Loves")
        assert "+- Likes sailing" in await turn.refused("delete_file", path="USER.md")
    assert (workspace.folder.root / "USER.md").read_text() == theirs
    await turn.done("read_file", path="USER.md")
    await turn.done("edit_file", path="USER.md", old="Likes", new="Loves")
    assert (workspace.folder.root / "USER.md").read_text() == theirs.replace("Likes", "Loves")


async def test_a_part_says_which_lines_it_is(workspace: Workspace) -> None:
    """A part names its lines and where to go on; the last one does not."""
    turn = Turn(workspace, MAIN)
    await turn.done("write_file", path="a.md", content="".join(f"line {number}\n" for number in range(1, 11)))
    part = await turn.done("read_file", path="a.md", first_line=3, lines=2)
    assert part == "line 3\nline 4\n\n[lines 3-4 of 10; go on with first_line=5]"
    assert (await turn.done("read_file", path="a.md", first_line=10)).endswith("[lines 10-10 of 10]")
    assert await turn.refused("read_file", path="a.md", first_line=0)


async def test_a_citation_gives_its_lines(workspace: Workspace) -> None:
    """As a search names them; arguments beside it hold, and who asks for too much is told how much there is."""
    workspace.write("a.md", "one\ntwo\nthree\n", MAIN, None)
    turn = Turn(workspace, MAIN)
    assert (await turn.done("read_file", path="a.md#L2-L3")).startswith("two\nthree\n")
    assert (await turn.done("read_file", path="a.md#L2")).startswith("two\n\n[lines 2-2 of 3")
    assert (await turn.done("read_file", path="a.md#L2", first_line=1)).startswith("one\n")
    assert await turn.refused("read_file", path="a.md#L7-L9") == "a.md has only 3 lines"
    assert await turn.refused("read_file", path="a.md", first_line=4) == "a.md has only 3 lines"
    assert "leave out @2026-03-01" in await turn.refused("read_file", path="a.md#L2-L2@2026-03-01")


async def test_a_long_file_is_read_to_its_end_in_parts(workspace: Workspace) -> None:
    """Following each part's hint gives every line once, and no part is cut by the cap on results."""
    lines = [f"- entry {number} " + "x" * (number % 90) for number in range(1, 1_501)]
    turn = Turn(workspace, MAIN)
    await turn.done("write_file", path="a.md", content="\n".join(lines) + "\n")
    seen: list[str] = []
    while len(seen) < len(lines):
        part = await turn.done("read_file", path="a.md", first_line=len(seen) + 1)
        assert len(part) <= RESULT_CAP
        text, _, hint = part.rpartition("\n[lines ")
        seen.extend(text.splitlines())
        assert (f"go on with first_line={len(seen) + 1}" in hint) is (len(seen) < len(lines))
    assert seen == lines


async def test_a_line_too_long_for_a_result_says_so(workspace: Workspace) -> None:
    """A file of one endless line is not cut in silence."""
    turn = Turn(workspace, MAIN)
    await turn.done("write_file", path="a.md", content="x" * 50_000 + "\nend")
    part = await turn.done("read_file", path="a.md")
    assert part.endswith("[lines 1-1 of 2; line 1 is too long to show whole; go on with first_line=2]")
    assert len(part) <= RESULT_CAP


async def test_a_group_reaches_its_own_notes_and_nothing_private(workspace: Workspace) -> None:
    """Every tool, asked for what is private or absent, answers in the same words."""
    turn = Turn(workspace, GROUP)
    await turn.done("write_file", path=f"{OWN}/plan.md", content="ours")
    answers = set[str]()
    for path in ("MEMORY.md", "absent.md"):
        for name, more in (
            ("read_file", {}),
            ("list_files", {}),
            ("write_file", {"content": "x"}),
            ("edit_file", {"old": "#", "new": "x"}),
        ):
            answers.add((await turn.refused(name, path=path, **more)).replace(path, "PATH"))
    assert len(answers) == 1
    assert (await turn.refused("delete_file", path="MEMORY.md")).replace("MEMORY", "absent") == await turn.refused(
        "delete_file", path="absent.md"
    )


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a\0b", ".git/config", "\ud800"])
async def test_a_path_outside_is_refused_by_every_tool(workspace: Workspace, path: str) -> None:
    """No tool takes a path that leads out, and each says why."""
    turn = Turn(workspace, MAIN)
    for name, more in (
        ("read_file", {}),
        ("list_files", {}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"old": "a", "new": "b"}),
        ("delete_file", {}),
    ):
        assert await turn.refused(name, path=path, **more)


async def test_an_agent_takes_the_mark_house_from_no_line_unasked(workspace: Workspace) -> None:
    """Not blindly, nor by writing the file anew: its owner is asked; in a chat with others it is refused."""
    here = read_by(MAIN, Locality.HERE)
    workspace.write("plan.md", "- the code is 7 #house\n- tea\n", here, None)
    turn, sink = Turn(workspace, here), FakeApprovalSink()
    turn.box = Toolbox(file_tools(workspace, here, run, guard(here, (), sink)), here)
    assert "mark `house`" in await turn.done("edit_file", path="plan.md", old=" #house", new="")
    assert [(each.after, each.reason) for each in sink.waiting] == [
        ("- the code is 7\n- tea\n", ApprovalReason.UNMARKED)
    ]
    assert workspace.read("plan.md", here).whole == "- the code is 7 #house\n- tea\n"
    await turn.done("edit_file", path="plan.md", old="tea", new="milk")
    group = read_by(GROUP, Locality.HERE)
    place = f"{OWN}/notes.md"
    workspace.write(place, "- the code is 7 #house\n", group, None)
    assert "only the owner" in await Turn(workspace, group).refused("edit_file", path=place, old=" #house", new="")
