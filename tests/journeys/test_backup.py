"""A gateway that is backed up while it runs goes on, on an empty machine, where it was."""

import asyncio
import shutil
from pathlib import Path

from bench.made_notes import daily_notes, questions
from gateway.app.app import App
from gateway.backup.restoring import restore_backup
from gateway.backup.taking import take_backup
from gateway.config import read_config
from gateway.control.status_wire import StatusOrder
from gateway.control.stream_wire import ChatOrder, IndexOrder
from gateway.control.wire import HistoryOrder, MemorySearchAnswer, SearchOrder
from gateway.home import Home
from tests.journeys.house import make_home, running

ENTRIES, QUERIES = 140, 200
HOOK = """
from pathlib import Path
from gateway.hooks import MESSAGE_SENT, on
Path({proof!r}).touch()

@on(MESSAGE_SENT)
def looks(event): ...
"""


async def test_a_restored_home_gives_the_same_answers_to_200_queries(tmp_path: Path) -> None:
    """Hits, their order and their scores; it remembers the conversation, and its history goes on."""
    home = make_home(tmp_path / "home")
    notes = home.agent("main").workspace / "memory"
    notes.mkdir(exist_ok=True)
    for day, text in daily_notes(ENTRIES):
        (notes / f"{day}.md").write_text(text, "utf-8")
    file = tmp_path / "elsewhere" / "backup.tar.gz"
    file.parent.mkdir()
    async with running(home) as app:
        await said(app, "Remember that the spare key lies under the third pot.")
        before = await answers(app)
        config = read_config(home.config_file)
        await asyncio.to_thread(take_backup, home, config, file, lambda *_: None)
        await said(app, "Remember that the fence was painted green.")
    shutil.rmtree(home.path)

    other = Home(tmp_path / "empty")
    restore_backup(file, other, {}, lambda *_: None)
    async with running(other) as app:
        after = await answers(app)
        log = await app.operator.ask(HistoryOrder("log", limit=50))
        answer = await said(app, "Where is the spare key?")
    assert len({found.hits[0].citation for found in before if found.hits}) > QUERIES / 10
    assert all(found.mode == "hybrid" for found in (*before, *after))
    assert [found.hits for found in after] == [found.hits for found in before]
    assert [commit.session for commit in log.commits].count("main/main") == 1
    assert "third pot" in answer


async def answers(app: App) -> list[MemorySearchAnswer]:
    """Return what the agent's memory answers to each question once everything is indexed."""
    await app.operator.follow(IndexOrder())
    return [await app.operator.ask(SearchOrder(question)) for question in questions(QUERIES)]


async def said(app: App, text: str) -> str:
    """Say something as the owner and return the answer."""
    replies: list[str] = []

    async def on_reply(reply: str, _: bool) -> None:
        replies.append(reply)

    await app.operator.chat(ChatOrder(text), on_reply)
    return "\n".join(replies)


async def test_a_restored_home_says_what_it_does_not_run(tmp_path: Path) -> None:
    """In its status, until the owner enables it; nothing of it has run meanwhile."""
    home, proof = make_home(tmp_path / "home"), tmp_path / "proof"
    home.hooks.mkdir(mode=0o700)
    (home.hooks / "mine.py").write_text(HOOK.format(proof=str(proof)), "utf-8")
    file = tmp_path / "backup.tar.gz"
    take_backup(home, read_config(home.config_file), file, lambda *_: None)
    other = Home(tmp_path / "other")
    restore_backup(file, other, {}, lambda *_: None)
    async with running(other) as app:
        troubles = (await app.operator.ask(StatusOrder())).troubles
        await said(app, "Hello")
    assert troubles == (
        "hooks/mine.py: disabled since a backup was restored; read them, then: strandline hooks enable",
    )
    assert not proof.exists()
    other.disabled_code.unlink()
    async with running(other) as app:
        assert (await app.operator.ask(StatusOrder())).troubles == ()
    assert proof.exists()
