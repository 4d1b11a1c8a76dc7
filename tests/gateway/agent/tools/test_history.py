"""A model reads and restores earlier versions of its files, as far as its turn sees them."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from gateway.agent.entries import ResultEntry, ToolCall
from gateway.agent.tools.history import WritingTurn, history_tools
from gateway.agent.tools.tool import Toolbox
from tests.fakes.approvals import guard
from tests.workspaces.history.home import Home
from tests.workspaces.turns import CRON, GROUP, GUEST, HEARTBEAT, MAIN, OWN, PRIVATE_CRON, SUBAGENT
from workspaces.access import Access, Locality, read_by
from workspaces.errors import HistoryUnusableError
from workspaces.history import History, LineOrigins, LogQuery, Origin

P = ParamSpec("P")
T = TypeVar("T")

NOW = Origin("main", "m-7", "t-7")
READING = {"git_log", "git_show", "git_diff"}


async def at_once(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return function(*args, **kwargs)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def history(home: Home) -> History:
    """A history of a private file and of a group's notes, two versions each."""
    history = home.open()
    for number in ("one", "two"):
        history.record([home.put("MEMORY.md", f"secret {number}\n")], None, Origin("main", f"m-{number}"))
        history.record([home.put(f"{OWN}/2026-03-01.md", f"{number}\n")], None, Origin("group", f"g-{number}"))
    return history


async def ask(home: Home, history: History, access: Access, name: str, **arguments: object) -> ResultEntry:
    origins = LineOrigins()
    with suppress(HistoryUnusableError):
        history.trace(origins)
    writer = WritingTurn(home.workspace, NOW, guard(access), origins.held_house)
    box = Toolbox(history_tools(history, access, at_once, writer), access)
    return await box.call(ToolCall("c1", name, json.dumps(arguments)))


async def said(home: Home, history: History, access: Access, name: str, **arguments: object) -> str:
    result = await ask(home, history, access, name, **arguments)
    assert not result.is_error, result.text
    return result.text


@pytest.mark.parametrize(
    ("access", "names"),
    [
        (MAIN, READING | {"git_restore", "git_bundle"}),
        (HEARTBEAT, READING | {"git_restore", "git_bundle"}),
        (PRIVATE_CRON, READING | {"git_restore", "git_bundle"}),
        (GROUP, READING | {"git_restore"}),
        (GUEST, READING | {"git_restore"}),
        (SUBAGENT, set()),
        (CRON, set()),
    ],
)
def test_each_turn_has_the_tools_it_may_use(home: Home, history: History, access: Access, names: set[str]) -> None:
    """Reading for whoever sees some history, restoring for writers, the export for who sees everything."""
    writer = WritingTurn(home.workspace, NOW, guard(access))
    assert {tool.spec.name for tool in history_tools(history, access, at_once, writer)} == names


async def test_the_log_is_one_line_a_change(home: Home, history: History) -> None:
    """A line has the revision, the time and what was done; filters narrow it; an empty log says so."""
    lines = (await said(home, history, MAIN, "git_log")).splitlines()
    newest = history.view(MAIN).log(LogQuery())[0]
    assert lines[0] == f"{newest.id[:10]} {newest.at:%Y-%m-%d %H:%M} log: add daily log 2026-03-01"
    assert len(lines) == 5
    assert (await said(home, history, MAIN, "git_log", path="./MEMORY.md")).count("\n") == 1
    assert (await said(home, history, MAIN, "git_log", path=".")).splitlines() == lines
    assert (await said(home, history, MAIN, "git_log", topic="memory", limit=1)).endswith("memory: update MEMORY.md")
    assert (await said(home, history, MAIN, "git_log", before=lines[1].split()[0])).splitlines() == lines[2:]
    assert await said(home, history, MAIN, "git_log", path="never.md") == "(no changes)"


async def test_a_change_is_shown_with_its_source(home: Home, history: History) -> None:
    """The lines that changed, and the message and session that they came from."""
    revision = (await said(home, history, MAIN, "git_log", path="MEMORY.md")).split()[0]
    text = await said(home, history, MAIN, "git_show", revision=revision)
    assert "\nfrom session main, message m-two\n--- a/MEMORY.md\n+++ b/MEMORY.md\n" in text
    assert text.endswith("-secret one\n+secret two\n")
    assert text == await said(home, history, MAIN, "git_log", revision=revision)
    assert (await said(home, history, MAIN, "git_show", revision=revision, path="notes")).endswith("(no differences)")


async def test_two_revisions_are_compared(home: Home, history: History) -> None:
    """Without a second revision the newest is meant."""
    first = (await said(home, history, MAIN, "git_log")).splitlines()[-2].split()[0]
    text = await said(home, history, MAIN, "git_diff", older=first, path="MEMORY.md")
    assert text.endswith("-secret one\n+secret two\n")
    assert await said(home, history, MAIN, "git_diff", older=first, newer=first) == "(no differences)"
    assert await said(home, history, MAIN, "git_log", revision=first, until=first) == "(no differences)"


async def test_a_file_is_restored_in_the_name_of_the_turn(home: Home, history: History) -> None:
    """The file is as it was, the commit names the turn, and doing it twice changes nothing."""
    first = (await said(home, history, MAIN, "git_log", path="MEMORY.md")).splitlines()[-1].split()[0]
    answer = await said(home, history, MAIN, "git_restore", revision=first, path="MEMORY.md")
    assert answer == f"MEMORY.md is again as it was at {first}, 1 lines."
    assert home.texts()["MEMORY.md"] == b"secret one\n"
    (commit,) = history.view(MAIN).log(LogQuery(limit=1))
    assert (commit.subject, commit.origin) == (f"file: restore MEMORY.md from {first[:7]}", NOW)
    assert "nothing was written" in await said(home, history, MAIN, "git_restore", revision=first, path="MEMORY.md")


async def test_the_export_is_named(home: Home, history: History) -> None:
    """The model learns the name and the folder, not where on the machine they are."""
    answer = await said(home, history, MAIN, "git_bundle")
    (bundle,) = (home.root / "bundles").iterdir()
    assert bundle.name in answer
    assert str(home.root) not in answer


async def test_a_marked_line_that_is_gone_is_not_shown_elsewhere(home: Home, history: History) -> None:
    """Neither the mark nor the line is in any file now; a group has its own notes all the same, before and after."""
    for text in ("the code is 7 #house\n", "tea\n"):
        history.record([home.put("MEMORY.md", text)], None, Origin("main", "m-9"))
        log = await said(home, history, GROUP, "git_log")
        assert "daily log" in log
        assert "+two" in await said(home, history, GROUP, "git_show", revision=log.split()[0])
    newest = history.view(MAIN).log(LogQuery(limit=1))[0].id
    for name, given in (("git_log", {}), ("git_show", {"revision": newest}), ("git_bundle", {})):
        refused = await ask(home, history, MAIN, name, **given)
        assert (refused.is_error, "code" in refused.text) == (True, False)
    here = await ask(home, history, read_by(MAIN, Locality.HERE), "git_show", revision=newest)
    assert "-the code is 7" in here.text


async def test_a_group_gets_nothing_of_what_is_private(home: Home, history: History) -> None:
    """Its log is that of its own notes; private revisions and paths are refused like absent ones, restore included."""
    log = await said(home, history, GROUP, "git_log")
    assert [line.split(maxsplit=3)[3] for line in log.splitlines()] == ["log: add daily log 2026-03-01"] * 2
    own = log.split()[0]
    shown = await said(home, history, GROUP, "git_show", revision=own)
    assert shown.endswith("-one\n+two\n")
    assert "session" not in shown
    before = home.texts()
    for revision in [commit.id for commit in history.view(MAIN).log(LogQuery())]:
        for name, argument in [("git_show", "revision"), ("git_diff", "older"), ("git_log", "before")]:
            refused = await ask(home, history, GROUP, name, **{argument: revision})
            absent = await ask(home, history, GROUP, name, **{argument: "f" * 40})
            assert refused.is_error
            assert refused.text == absent.text.replace("f" * 40, revision)
        assert (await ask(home, history, GROUP, "git_restore", revision=revision, path="MEMORY.md")).is_error
    for path in ("MEMORY.md", "never.md"):
        refused = await ask(home, history, GROUP, "git_restore", revision=own, path=path)
        assert refused.text == f"{path}: there is no such file, or this conversation may not read it"
        assert await said(home, history, GROUP, "git_log", path=path) == "(no changes)"
    assert (await ask(home, history, GROUP, "git_bundle")).is_error
    assert home.texts() == before


async def test_a_group_is_not_told_what_is_wrong_with_the_history(home: Home, history: History) -> None:
    """Git's own words name files, ids and folders: the owner reads them, a group reads that it does not work."""
    for loose in (home.git_dir / "objects").glob("??/*"):
        loose.unlink()
    for name, arguments in [("git_log", {}), ("git_show", {"revision": "f" * 10}), ("git_diff", {"older": "f" * 10})]:
        result = await ask(home, history, GROUP, name, **arguments)
        assert (result.text, result.is_error) == ("the history cannot be read now", True)
    assert str(home.git_dir) in (await ask(home, history, MAIN, "git_log")).text


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a\\b", ""])
async def test_a_path_that_leads_out_is_refused(home: Home, history: History, path: str) -> None:
    """Every tool that takes a path takes only ones of the workspace."""
    revision = (await said(home, history, MAIN, "git_log")).split()[0]
    for name, arguments in [
        ("git_log", {}),
        ("git_show", {"revision": revision}),
        ("git_diff", {"older": revision}),
        ("git_restore", {"revision": revision}),
    ]:
        assert (await ask(home, history, MAIN, name, path=path, **arguments)).is_error
