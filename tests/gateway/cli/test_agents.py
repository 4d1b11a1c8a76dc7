"""Agents are listed, shown, added and put away by commands; nothing of theirs is ever deleted."""

import asyncio
import io
import json
import stat
import sys
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from gateway.config import read_config
from tests.fakes.operator import FakeOperator
from tests.gateway.cli.terminal import Terminal

BINDING = '\n# the bot\n[[bindings]]\nagent = "work"\nchat = "-100"\n# the end\n'


def today() -> str:
    """Return the owner's day."""
    return str(datetime.now(ZoneInfo("Europe/Berlin")).date())


def bind(terminal: Terminal) -> None:
    """Let a chat lead to agent `work`, as its owner writes it."""
    with terminal.home.config_file.open("a") as file:
        file.write(BINDING)


def test_an_added_agent_has_a_table_a_workspace_and_a_terminal(at_home: Terminal) -> None:
    """The owner's comments stay, the file stays closed to others, and the next line to type is shown."""
    before = at_home.home.config_file.read_text("utf-8")
    added = at_home("agents", "add", "work")
    assert (added.status, added.err) == (0, "")
    assert f"strandline chat --agent work --home {at_home.home.path}" in added.out
    assert "running gateway" not in added.out
    assert stat.S_IMODE(at_home.home.config_file.stat().st_mode) == 0o600
    assert at_home.home.config_file.read_text("utf-8").startswith(before.rstrip("\n"))
    assert (at_home.home.agent("work").workspace / "AGENTS.md").is_file()
    assert at_home("chat", "--message", "hello", "--agent", "work").out == "You said: hello\n"


@pytest.mark.parametrize("name", ["", "Work", "../up", "a b", "-a", "ä", "x" * 65, "a.b", "a\nb"])
def test_a_name_that_is_none_touches_nothing(at_home: Terminal, name: str) -> None:
    """One line says what names are like; a duplicate and an unknown model are refused the same way."""
    before = at_home.home.config_file.read_text("utf-8")
    failed = at_home("agents", "add", "--", name) if name.startswith("-") else at_home("agents", "add", name)
    assert failed.status == 2
    for words, hint in ((["main"], "already exists"), (["work", "--model", "ofline"], "did you mean offline?")):
        failed = at_home("agents", "add", *words)
        assert (failed.status, hint in failed.err) == (2, True)
    assert at_home.home.config_file.read_text("utf-8") == before
    assert [folder.name for folder in at_home.home.agents.iterdir()] == ["main"]


def test_agents_are_listed(at_home: Terminal) -> None:
    """Model, workspace, what leads to them, and who takes the rest; also for machines."""
    at_home("agents", "add", "work")
    bind(at_home)
    assert at_home("agents", "list").out.splitlines() == [
        f"* main  offline  {at_home.home.agent('main').workspace}",
        f"  work  offline  {at_home.home.agent('work').workspace}",
        "        chat=-100 → work",
    ]
    work = json.loads(at_home("agents", "list", "--json").out)["agents"][1]
    assert (work["agent"], work["bindings"], work["is_default"]) == ("work", ["chat=-100 → work"], False)


def test_an_agent_is_shown_with_what_it_has(at_home: Terminal) -> None:
    """Files with sizes, sessions, memory, bindings, model; a wrong name gets the nearest."""
    at_home("agents", "add", "work")
    bind(at_home)
    at_home("chat", "--message", "one", "--agent", "work")
    sessions = at_home.home.agent("work").sessions
    sessions.mkdir()
    (sessions / "group:telegram.home.-100.jsonl").write_text("")
    (at_home.home.agent("work").workspace / "evil\x1b[2J.md").write_text("x")
    shown = at_home("agents", "show", "work").out
    for line in ("model     offline", "memory: 1 entry,", "session   group:telegram.home.-100", "chat=-100 → work"):
        assert line in shown
    assert "AGENTS.md (" in shown
    assert "\x1b" not in shown
    facts = json.loads(at_home("agents", "show", "work", "--json").out)
    assert {"path", "size"} == set(facts["files"][0])
    assert facts["memory"]["entries"] == 1
    failed = at_home("agents", "show", "wrok")
    assert (failed.status, "did you mean work?" in failed.err) == (2, True)


def test_a_removed_agent_is_put_away_and_can_come_back(at_home: Terminal) -> None:
    """Config entry and bindings go, comments stay, every file is kept; the words that are printed bring it back."""
    before = at_home.home.config_file.read_text("utf-8")
    at_home("agents", "add", "work")
    bind(at_home)
    note = at_home.home.agent("work").workspace / "memory.md"
    note.write_text("kept")
    removed = at_home("agents", "remove", "work", "--yes")
    assert (removed.status, removed.err) == (0, "")
    assert "bindings removed with it: 1." in removed.out
    assert "Its jobs stay listed and do not run" in removed.out
    away = at_home.home.removed / f"work-{today()}"
    assert (away / "workspace" / "memory.md").read_text() == "kept"
    text = at_home.home.config_file.read_text("utf-8")
    assert list(read_config(at_home.home.config_file).agents) == ["main"]
    assert "# the bot\n# the end\n" in text
    assert text.startswith(before.rstrip("\n"))
    assert at_home("agents", "show", "work").status == 2
    away.rename(at_home.home.agent("work").root)
    taken = (at_home.home.agent("work").root / "removed.toml").read_text()
    at_home.home.config_file.write_text(text + taken)
    assert "chat=-100 → work" in at_home("agents", "list").out
    assert at_home("agents", "remove", "work", "-y").status == 0
    assert (at_home.home.removed / f"work-{today()}").is_dir()


def test_two_agents_of_one_name_are_put_away_side_by_side(at_home: Terminal) -> None:
    """The second overwrites nothing."""
    for _ in range(2):
        at_home("agents", "add", "work")
        assert at_home("agents", "remove", "work", "--yes").status == 0
    assert {folder.name for folder in at_home.home.removed.iterdir()} == {
        f"work-{today()}",
        f"work-{today()}-2",
    }


def test_a_removal_is_asked_about_and_no_gateway_is_left_without_an_agent(
    at_home: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No is an answer; the last agent stays; unknown ones are named."""
    at_home("agents", "add", "work")
    before = at_home.home.config_file.read_text("utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    assert at_home("agents", "remove", "work").status == 1
    assert at_home.home.config_file.read_text("utf-8") == before
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert at_home("agents", "remove", "work").status == 0
    for name, hint in (("main", "the only agent"), ("mian", "did you mean main?"), ("../agents", "known here: main")):
        failed = at_home("agents", "remove", name, "--yes")
        assert (failed.status, hint in failed.err) == (2, True), failed.err


def test_the_default_may_go_and_its_successor_is_named(at_home: Terminal) -> None:
    """A workspace elsewhere stays there."""
    elsewhere = at_home.home.path / "elsewhere"
    at_home.home.config_file.write_text(f'[agents.main]\nworkspace = "{elsewhere}"\n[agents.work]\n')
    told = at_home("agents", "remove", "main", "--yes").out
    assert "now go to agent work" in told
    assert f"Its workspace {elsewhere} stays where it is." in told


def test_without_a_home_nothing_is_made(terminal: Terminal) -> None:
    """The line says how to make one."""
    for words in (["list"], ["show", "main"], ["add", "work"], ["remove", "main", "--yes"]):
        failed = terminal("agents", *words)
        assert (failed.status, "init" in failed.err) == (1, True)
    assert not terminal.home.path.exists()


# --- beside a running gateway


async def test_a_running_gateway_is_left_alone(at_home: Terminal, running: FakeOperator) -> None:
    """What is added waits for its next start; what is removed keeps its folder until it has stopped."""
    await asyncio.to_thread(at_home, "agents", "add", "work")
    added = await asyncio.to_thread(at_home, "agents", "add", "late")
    assert "after its next start" in added.out
    shown = await asyncio.to_thread(at_home, "agents", "show", "late")
    assert "available after the gateway restarts" in shown.out
    removed = await asyncio.to_thread(at_home, "agents", "remove", "work", "--yes")
    assert removed.status == 0
    assert f"strandline agents remove work --home {at_home.home.path}" in removed.out
    assert at_home.home.agent("work").workspace.is_dir()
    assert "work" not in read_config(at_home.home.config_file).agents
    assert not at_home.home.removed.exists()


def test_what_a_running_gateway_kept_is_put_away_afterwards(at_home: Terminal) -> None:
    """The same command again finds the folder of an agent that the configuration does not know."""
    at_home("agents", "add", "work")
    folder = at_home.home.agent("work").root
    text = at_home.home.config_file.read_text("utf-8")
    at_home.home.config_file.write_text(text.replace("[agents.work]", ""))
    assert at_home("agents", "remove", "work", "--yes").status == 0
    assert not folder.exists()
    assert (at_home.home.removed / f"work-{today()}" / "workspace").is_dir()
