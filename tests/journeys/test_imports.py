"""Somebody who has used another program for a year brings everything along."""

import asyncio
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.cli import main
from gateway.control.stream_wire import ChatOrder, IndexOrder
from gateway.control.wire import SearchOrder, SessionsOrder
from gateway.home import Home
from tests.fakes.disk import files_end_at
from tests.gateway.importers.exports import LIVED_IN, archive, chatgpt, openclaw
from tests.journeys.house import make_home, running
from workspaces.access import AgentId
from workspaces.history.history import History
from workspaces.workspace import Workspace

OLDER = Path(__file__).parents[1] / "homes/0.1.0/agents/main/workspace"


def run(home: Home, *words: str) -> int:
    return main.run(["import", *words, "--home", str(home.path)], {}, "strandline")


def everything(home: Home) -> dict[str, bytes]:
    """Return every file of the workspace and of the archive, by its path."""
    roots = home.agent("main").workspace, home.agent("main").archive
    return {str(file): file.read_bytes() for root in roots for file in sorted(root.rglob("*")) if file.is_file()}


async def test_what_was_told_to_another_program_is_found_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In any conversation, word for word, by the agent and by the owner; doing it twice adds nothing."""
    home = make_home(tmp_path / "home")
    talks = [
        chatgpt(0, [("The wifi at the cabin is trout-lake-77.", "Got it."), ("Thanks", "Sure.")]),
        chatgpt(1, [("What is a good rope for a mooring line?", "Nylon, since it stretches.")]),
    ]
    file = archive(tmp_path / "export.zip", talks)
    assert await asyncio.to_thread(run, home, "chatgpt", str(file), "--dry-run") == 0
    assert everything(home) == everything(make_home(tmp_path / "home"))
    assert await asyncio.to_thread(run, home, "chatgpt", str(file)) == 0
    before = everything(home)
    assert await asyncio.to_thread(run, home, "chatgpt", str(file)) == 0
    assert everything(home) == before
    out = capsys.readouterr().out
    assert "would get 0 notes and 2 conversations with 6 messages" in out
    assert "nothing new; 2 were here before" in out
    said: list[str] = []

    async def hear(text: str, _: bool) -> None:
        said.append(text)

    async with running(home) as app:
        await app.operator.follow(IndexOrder())
        found = await app.operator.ask(SearchOrder("cabin wifi"))
        exact = await app.operator.ask(SessionsOrder("search", query="trout-lake-77"))
        await app.operator.chat(ChatOrder("what is the wifi at the cabin?"), hear)
    assert "trout-lake-77" in found.hits[0].snippet
    assert [match.text for match in exact.matches] == ["10:00 Owner: The wifi at the cabin is trout-lake-77."]
    assert "trout-lake-77" in said[-1]


@pytest.mark.parametrize("source", LIVED_IN)
async def test_a_home_of_400_days_comes_along_and_can_be_taken_back_to_the_last_byte(
    tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each day is there once and found, a second import adds nothing, and the undo leaves what was there before."""
    home = make_home(tmp_path / "home")
    with home.config_file.open("a") as file:
        file.write('\n[memory.embeddings]\nprovider = "none"\n')
    before = everything(home)
    made = LIVED_IN[source](tmp_path, 400)
    assert await asyncio.to_thread(run, home, source, str(made)) == 0
    there = everything(home)
    everywhere = b"".join(there.values()).decode()
    assert [everywhere.count(f"the code is K-{day:04}.") for day in range(400)] == [1] * 400
    assert await asyncio.to_thread(run, home, source, str(made)) == 0
    assert everything(home) == there
    assert "nothing new" in capsys.readouterr().out
    async with running(home) as app:
        await app.operator.follow(IndexOrder())
        for day in (123, 250, 399):
            found = await app.operator.ask(SearchOrder(f"K-{day:04}"))
            said = await app.operator.ask(SessionsOrder("search", query=f"K-{day:04}"))
            shown = [hit.snippet for hit in found.hits] + [match.text for match in said.matches]
            assert any(f"the code is K-{day:04}." in text for text in shown), shown
    assert await asyncio.to_thread(run, home, "--undo", f"{source}-1") == 0
    assert everything(home) == before


async def test_what_was_changed_since_an_import_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Own notes stay beside the imported ones, an older version's template gives way; an import is taken back once."""
    home = make_home(tmp_path / "home")
    mine = home.agent("main").workspace / "memory" / "2025-01-05.md"
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("- my own day\n")
    shutil.copy(OLDER / "SOUL.md", home.agent("main").workspace)
    before = everything(home)
    source = openclaw(tmp_path / "openclaw", 70)
    assert await asyncio.to_thread(run, home, "openclaw", str(source)) == 0
    assert mine.read_text() == "- my own day\n"
    assert "You are dry and brief." in (home.agent("main").workspace / "SOUL.md").read_text()
    assert "group's conversation" in capsys.readouterr().out
    changed = home.agent("main").workspace / "memory" / "2025-03-01.md"
    changed.write_text("- changed since\n")
    assert await asyncio.to_thread(run, home, "--undo", "openclaw-1") == 0
    assert "memory/2025-03-01.md" in capsys.readouterr().out
    assert everything(home) == before | {str(changed): b"- changed since\n"}
    assert await asyncio.to_thread(run, home, "--undo", "openclaw-1") == 1
    assert "there is no import openclaw-1" in capsys.readouterr().err


def vault(folder: Path, areas: int, notes: int) -> Path:
    """Write a folder of notes."""
    for area in range(areas):
        place = folder / f"area{area}"
        place.mkdir(parents=True)
        for number in range(notes):
            (place / f"note-{number}.md").write_text(f"# Note\n\nThe meter {area}-{number} reads {number * 7}.\n")
    return folder


def commits(home: Home, path: str) -> list[str]:
    """Return the messages of the commits that changed *path*."""
    command = ["git", "--git-dir", str(home.agent("main").history), "log", "--format=%B%x00", "--", path]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")[:-1]


@pytest.mark.parametrize("then", ["goes on", "starts", "undo"])
async def test_an_import_that_was_killed_is_continued_or_taken_back(tmp_path: Path, then: str) -> None:
    """Under one name, to the last byte; nothing counts as the owner's own words, even if the gateway starts next."""
    home = make_home(tmp_path / "home")
    source = vault(tmp_path / "vault", 4, 700)
    before = everything(home)
    words = ("import", "markdown", str(source), "--home", str(home.path))
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "gateway", *words)
    place = home.agent("main").workspace / "memory" / "imports" / "vault"
    of_the_second_part = place / "area1" / sorted(f"note-{number}.md" for number in range(700))[400]
    async with asyncio.timeout(60):
        while not of_the_second_part.exists():
            assert process.returncode is None
            await asyncio.sleep(0.001)
    process.kill()
    await process.wait()
    assert sum(1 for _ in place.rglob("*.md")) < 2_800
    if then == "starts":
        async with running(home) as app:
            await app.parts.resources.agents[AgentId("main")].history_writer.ready()
        messages = await asyncio.to_thread(commits, home, "memory/imports")
        assert len(messages) > 1
        assert all("Others: yes" in message for message in messages)
    if then == "goes on":
        assert await asyncio.to_thread(run, home, "markdown", str(source)) == 0
        assert sum(1 for _ in place.rglob("*.md")) == 2_800
        workspace = Workspace.open(home.agent("main").workspace, AgentId("main"))
        history = History.open(home.agent("main").history, workspace, lambda: datetime.now(UTC))
        assert not history.record_all("nothing is left to record", None)
    assert await asyncio.to_thread(run, home, "--undo", "markdown-1") == 0
    assert everything(home) == before


@pytest.mark.parametrize(
    ("areas", "notes", "limit", "said"),
    [
        (2, 20, 30, "strandline config set limits.workspace_files"),
        (1, 5_001, 20_000, "5,001 notes would lie in memory/imports/vault/area0, and a folder holds 5,000"),
    ],
)
def test_more_files_than_fit_are_one_line_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], areas: int, notes: int, limit: int, said: str
) -> None:
    """Before anything is written."""
    home = make_home(tmp_path / "home")
    with home.config_file.open("a") as file:
        file.write(f"\n[limits]\nworkspace_files = {limit}\n")
    before = everything(home)
    assert run(home, "markdown", str(vault(tmp_path / "vault", areas, notes))) == 1
    told = capsys.readouterr().err
    assert (said in told, told.count("\n")) == (True, 1)
    assert everything(home) == before


def test_the_name_of_an_import_is_never_used_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor that of the latest, once it was taken back; each other one can be taken back, and those are named."""
    home = make_home(tmp_path / "home")
    before = everything(home)
    for undone in ("markdown-1", "markdown-4", "markdown-5"):
        for number in (1, 2):
            assert run(home, "markdown", str(vault(tmp_path / f"{undone}-{number}", 1, 1))) == 0
        assert run(home, "--undo", undone) == 0
    assert run(home, "--undo", "markdown-1") == 1
    assert "can be taken back: markdown-2, markdown-3, markdown-6\n" in capsys.readouterr().err
    for number in (2, 3, 6):
        assert run(home, "--undo", f"markdown-{number}") == 0
    assert everything(home) == before


@pytest.mark.parametrize("then", ["goes on", "undo"])
def test_a_full_disk_is_one_sentence_and_leaves_no_half_conversation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], then: str
) -> None:
    """With the place, the reason and both ways out; nor does a conversation stay that a power cut left half written."""
    home = make_home(tmp_path / "home")
    before = everything(home)
    talks = [chatgpt(day, [("word " * (20_000 if day == 3 else 1), "Kept.")]) for day in range(6)]
    file = archive(tmp_path / "export.zip", talks)
    with files_end_at(50_000):
        assert run(home, "chatgpt", str(file)) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert f"strandline: {home.agent('main').archive}/main.20250104T" in told
    assert "cannot be written: File too large. Make room" in told
    assert told.endswith(
        "import the same again: it goes on, or take it back: strandline import --undo chatgpt-1 --agent main"
    )
    assert len(everything(home)) == len(before) + 3
    if then == "goes on":
        assert run(home, "chatgpt", str(file)) == 0
        assert len(everything(home)) == len(before) + 6
    half = next(home.agent("main").archive.glob("main.20250101T*"))
    half.rename(half.with_name(f".{half.name}.part"))
    assert run(home, "--undo", "chatgpt-1") == 0
    assert everything(home) == before


def test_a_disk_without_room_for_the_receipt_names_no_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is there that could be taken back, nor any leftover."""
    home = make_home(tmp_path / "home")
    source = vault(tmp_path / "vault", 1, 900)
    with files_end_at(50_000):
        assert run(home, "markdown", str(source)) == 1
    assert capsys.readouterr().err.endswith("import the same again: it goes on\n")
    assert not list((home.agent("main").root / "imports").iterdir())


def test_names_that_are_no_text_stop_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A note of an old disk is left out by its name, as is a conversation whose title is broken."""
    home = make_home(tmp_path / "home")
    source = vault(tmp_path / "vault", 1, 2)
    for name in (b"caf\xe9.md", b"caf\xe9.png"):
        Path(os.fsdecode(bytes(source) + b"/" + name)).write_text("x")
    assert run(home, "markdown", str(source)) == 0
    out = capsys.readouterr().out
    assert "2 notes and 0 conversations" in out
    assert "caf\\udce9.md' is not valid Unicode" in out
    assert "caf\\udce9.png: it is no note" in out
    talks = [chatgpt(0, [("Hello", "Hi")]), chatgpt(1, [("", "")]) | {"title": "\ud800"}]
    assert run(home, "chatgpt", str(archive(tmp_path / "export.zip", talks))) == 0
    assert "conversation 2 (\\ud800): it has no text" in capsys.readouterr().out
