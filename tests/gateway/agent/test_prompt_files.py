"""What the files of a prompt are after hooks have had their say, on a real workspace."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from gateway.agent.agent import Agent
from gateway.agent.prompt import Prompt
from gateway.agent.prompt_files import final_prompt, project_context, turn_context
from gateway.errors import HookError
from gateway.hooks import AGENT_BOOTSTRAP, BEFORE_AGENT_START, AgentStart, Bootstrap, Handler, Hook, Hooks
from gateway.runtime.threads import Threads
from tests.fakes.model import ScriptedModel
from tests.fakes.recording import history_writer_of
from tests.workspaces.turns import AGENT, GROUP, GUEST, MAIN, SUBAGENT
from workspaces.access import Access
from workspaces.bootstrap import OTHERS_HIDDEN, BootstrapFile
from workspaces.memory.client import WorkerClient, WorkerSettings
from workspaces.memory.search import MemoryIndex
from workspaces.memory.source_index import MemoryClock
from workspaces.prompt_limits import Limits
from workspaces.workspace import Workspace

TODAY = date(2026, 3, 1)
SECRET = "heron-four-one"
FILES = {"AGENTS.md": "the rules", "TOOLS.md": "the tools", "MEMORY.md": SECRET, "memory/2026-03-01.md": SECRET}


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    for name, text in FILES.items():
        (tmp_path / "workspace" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "workspace" / name).write_text(text)
    threads, workspace = Threads("test"), Workspace.open(tmp_path / "workspace", AGENT)
    index = MemoryIndex(
        AGENT, tmp_path / "index", [], WorkerClient(WorkerSettings()), threads, MemoryClock(lambda: 0.0, lambda: TODAY)
    )
    history_writer = history_writer_of(workspace, tmp_path, threads, lambda: datetime.now(UTC))
    yield Agent(AGENT, workspace, index, ScriptedModel(), threads, history_writer)
    threads.close()
    workspace.folder.close()


async def shown(agent: Agent, access: Access, *handlers: Handler[Bootstrap]) -> dict[str, str]:
    hooks = Hooks([Hook(AGENT_BOOTSTRAP.name, "test", handler) for handler in handlers])
    return {file.name: file.text for file in await project_context(agent, access, TODAY, Limits(), hooks)}


def adding(*files: BootstrapFile) -> Handler[Bootstrap]:
    return lambda event: replace(event, files=(*event.files, *files))


async def test_a_hook_adds_replaces_and_removes_files_of_the_owners_prompt(agent: Agent) -> None:
    """A text of its own, a file of the workspace under its own name; without a hook nothing changes."""
    folder = agent.workspace.folder.root
    (folder / "team.md").write_text("the team")

    def changes(event: Bootstrap) -> Bootstrap:
        team = event.read("team.md")
        assert team is not None
        kept = [file for file in event.files if file.name not in {"AGENTS.md", "TOOLS.md"}]
        return replace(event, files=(BootstrapFile("AGENTS.md", "other rules"), team, *kept))

    assert await shown(agent, MAIN) == FILES
    changed = await shown(agent, MAIN, changes)
    assert changed == {
        "AGENTS.md": "other rules",
        "team.md": "the team",
        **{k: FILES[k] for k in ("MEMORY.md", "memory/2026-03-01.md")},
    }


async def test_a_hooks_own_text_may_stand_for_a_file_that_a_group_sees(agent: Agent) -> None:
    """That is what the hook is for; a name that the group does not see stays out, and so does a reader for it."""
    assert (await shown(agent, GROUP, lambda event: replace(event, files=(BootstrapFile("AGENTS.md", "mine"),)))) == {
        "AGENTS.md": "mine"
    }
    added = adding(*(BootstrapFile(name, "x") for name in ("MEMORY.md", "USER.md", "memory/2026-03-02.md", "team.md")))
    assert await shown(agent, GROUP, added) == {name: FILES[name] for name in ("AGENTS.md", "TOOLS.md")}
    read: list[object] = []

    def reads(event: Bootstrap) -> None:
        paths = ("MEMORY.md", "memory.md", "./MEMORY.md", "memory/2026-03-01.md", "../workspace/MEMORY.md", "none", "")
        read.extend(event.read(path) for path in paths)

    await shown(agent, GROUP, reads)
    assert read == [None] * 7


async def test_a_hook_puts_text_before_the_system_prompt_or_replaces_it(agent: Agent) -> None:
    """It gets a reader that reads what the turn may; one that fails ends the turn before a model is asked."""

    def prepends(event: AgentStart) -> AgentStart:
        rules = event.read("AGENTS.md")
        return replace(event, prompt=f"{rules.text if rules else ''}\n{event.prompt}")

    def fails(_: AgentStart) -> None:
        raise KeyError("x")

    assert await prompted(agent, MAIN) == "You are an agent."
    assert await prompted(agent, GROUP, prepends) == "the rules\nYou are an agent."
    with pytest.raises(HookError):
        await prompted(agent, MAIN, fails)


@pytest.mark.parametrize("access", [GROUP, GUEST, SUBAGENT])
async def test_the_reader_of_a_prompts_hook_is_bound_to_the_turns_access(agent: Agent, access: Access) -> None:
    """No path, no spelling and no link reads what the turn may not."""
    (agent.workspace.folder.root / "OPEN.md").symlink_to("MEMORY.md")

    def reads(event: AgentStart) -> AgentStart:
        found = [event.read(path) for path in ("MEMORY.md", "./MEMORY.md", "memory/2026-03-01.md", "OPEN.md")]
        return replace(event, prompt=event.prompt + "".join(file.text for file in found if file))

    assert await prompted(agent, access, reads) == "You are an agent."
    assert SECRET in await prompted(agent, MAIN, reads)


async def prompted(agent: Agent, access: Access, *handlers: Handler[AgentStart]) -> str:
    hooks = Hooks([Hook(BEFORE_AGENT_START.name, "test", handler) for handler in handlers])
    return (await final_prompt(agent, access, Prompt("You are an agent.", ""), hooks)).stable


# --- hooks that would bring a private file in


def _renamed(folder: Path) -> None:
    (folder / "MEMORY.md").rename(folder / "AGENTS.md")


def _linked(folder: Path) -> None:
    (folder / "AGENTS.md").unlink()
    (folder / "AGENTS.md").symlink_to("MEMORY.md")


def _hard_linked(folder: Path) -> None:
    (folder / "AGENTS.md").unlink()
    os.link(folder / "MEMORY.md", folder / "AGENTS.md")


def _swapped(folder: Path) -> None:
    (folder / "AGENTS.md").rename(folder / "spare.md")
    (folder / "MEMORY.md").rename(folder / "AGENTS.md")
    (folder / "spare.md").rename(folder / "MEMORY.md")


def _day_renamed(folder: Path) -> None:
    (folder / "memory" / "2026-03-01.md").rename(folder / "TOOLS.md")


@pytest.mark.parametrize("access", [GROUP, GUEST, SUBAGENT])
@pytest.mark.parametrize("change", [_renamed, _linked, _hard_linked, _swapped, _day_renamed])
async def test_no_change_on_disk_brings_a_private_file_in(
    agent: Agent, access: Access, change: Callable[[Path], None]
) -> None:
    """A private file stays private through a rename, a link or a swap that a hook makes before it reads."""

    def sneaks(event: Bootstrap) -> Bootstrap:
        change(agent.workspace.folder.root)
        names = ("AGENTS.md", "TOOLS.md")
        read = [file for name in names if (file := event.read(name)) is not None]
        return replace(event, files=tuple(read))

    assert SECRET not in str(await shown(agent, access, sneaks))


async def test_what_a_hook_kept_from_the_owners_turn_is_known_again_in_a_group(agent: Agent) -> None:
    """Under any name that a group sees: the file on disk decides, not what it is called."""
    kept: list[BootstrapFile] = []

    def keeps(event: Bootstrap) -> None:
        kept.extend(file for file in event.files if file.text == SECRET)

    await shown(agent, MAIN, keeps)
    assert len(kept) == 2
    stolen = [replace(file, name=name) for file, name in zip(kept, ("AGENTS.md", "TOOLS.md"), strict=True)]
    assert await shown(agent, GROUP, lambda event: replace(event, files=tuple(stolen))) == {}


async def test_what_became_private_while_a_hook_ran_stays_out_too(agent: Agent) -> None:
    """A file that somebody moves among the private ones after it was read is judged by where it stands now."""
    folder = agent.workspace.folder.root

    def moves(_: Bootstrap) -> None:
        (folder / "TOOLS.md").rename(folder / "memory" / "plan.md")

    assert await shown(agent, GROUP, moves) == {"AGENTS.md": FILES["AGENTS.md"]}


@pytest.mark.parametrize(
    ("text", "handlers", "is_left_out"),
    [
        ("- the key is with Ann", [], True),
        (f"- the key is with Ann\n{OTHERS_HIDDEN}; memory_get has them: memory/2026-02-28.md#L2-L2]", [], False),
        ("- the key is with Ann", [lambda event: event], False),
    ],
)
async def test_yesterdays_file_is_left_out_where_the_notes_tell_the_same(
    agent: Agent, text: str, handlers: list[Handler[Bootstrap]], *, is_left_out: bool
) -> None:
    """A notice of hidden lines stands in the file alone, and a hook may have put other text there."""
    name = f"memory/{TODAY - timedelta(days=1)}.md"
    (agent.workspace.folder.root / name).write_text(text)
    hooks = Hooks([Hook(AGENT_BOOTSTRAP.name, "test", handler) for handler in handlers])
    context = await turn_context(agent, MAIN, TODAY, Limits(), hooks, lambda: f"\n{name}:\n- the key is with Ann")
    assert (name not in [file.name for file in context.files]) is is_left_out
