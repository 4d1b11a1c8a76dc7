"""Where transcripts lie, and what is told of damaged ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.agent.entries import ReplyEntry, Usage
from gateway.agents import Threads
from gateway.conversation import sessions as module
from gateway.conversation.sessions import Sessions
from gateway.door.routing import SessionKey
from gateway.stores.ports import TurnId
from tests.gateway.conversation.test_turn import MAIN

GROUP = SessionKey(MAIN, "group:telegram.home.-100/../../main")


@pytest.fixture
def threads() -> Iterator[Threads]:
    threads = Threads("test")
    yield threads
    threads.close()


async def test_a_torn_transcript_is_used_and_told_of(tmp_path: Path, threads: Threads) -> None:
    """The torn line is cut and counted, the rest stays, and `status` has a sentence."""
    key = SessionKey(MAIN, "main")
    first = Sessions({MAIN: tmp_path}, threads)
    transcript = await first.open(key)
    await transcript.append(TurnId("t1"), ReplyEntry("kept", (), "m", Usage()))
    with first.path(key).open("ab") as file:
        file.write(b'{"v":1,"turn":"t2","ty')
    again = Sessions({MAIN: tmp_path}, threads)
    assert [record.turn_id for record in (await again.open(key)).records] == ["t1"]
    assert list(again.repairs()) == ["session main/main: 1 torn last line cut and kept beside the file"]


async def test_no_name_of_a_session_leads_out_of_its_folder(tmp_path: Path, threads: Threads) -> None:
    """A chat's id is a file's name, whatever it holds."""
    assert Sessions({MAIN: tmp_path}, threads).path(GROUP).parent == tmp_path


async def test_open_transcripts_are_bounded(tmp_path: Path, threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least recently used is let go and read again when it is needed; the one in use stays."""
    monkeypatch.setattr(module, "OPEN_AT_MOST", 2)
    sessions = Sessions({MAIN: tmp_path}, threads)
    keys = [SessionKey(MAIN, f"group:{number}") for number in range(3)]
    opened = [await sessions.open(key) for key in keys]
    assert await sessions.open(keys[2]) is opened[2]
    assert await sessions.open(keys[0]) is not opened[0]
