"""A purged passage is in no conversation any more, and every line keeps its place."""

import json
from pathlib import Path

import pytest

from gateway.admission.routing import SessionKey
from gateway.agent.entries import ReplyEntry, ToolCall, TurnNoteEntry, Usage, UserEntry
from gateway.runtime.clock import utc_now
from gateway.runtime.threads import Threads
from gateway.stores.rows import TurnId
from gateway.transcripts.purge import redact_file, redacted
from gateway.transcripts.store import Sessions
from workspaces.access import AgentId
from workspaces.redact import PURGED, Redaction

PASSAGE = "the vault opens with heron"
VAULT = Redaction(PASSAGE)
MAIN, OTHER = AgentId("main"), AgentId("other")


def said(text: str) -> UserEntry:
    return UserEntry(text, utc_now(), "", "1")


def test_lines_keep_their_numbers_and_those_without_it_their_bytes() -> None:
    """Also lines that are no JSON, and an end that a crash cut off."""
    lines = [
        '{"v":1, "type":"odd", "n":1e3}',
        json.dumps({"v": 1, "deep": [{"arguments": json.dumps({"text": f"{PASSAGE}\n"})}]}),
        f"damaged {PASSAGE}",
        "",
        '{"v":1,"type":"user","entry":{"text":"tea',
    ]
    clean, count = redacted("\n".join(lines).encode(), VAULT)
    after = clean.decode().split("\n")
    assert count == 2
    assert [after[0], after[3], after[4]] == [lines[0], lines[3], lines[4]]
    assert json.loads(json.loads(after[1])["deep"][0]["arguments"]) == {"text": f"{PURGED}\n"}
    assert after[2] == f"damaged {PURGED}"


def test_a_file_without_it_is_not_touched(tmp_path: Path) -> None:
    """It stays the very same file."""
    file = tmp_path / "a.jsonl"
    file.write_text("tea\n")
    before = file.stat()
    assert redact_file(file, VAULT) == 0
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def holders(root: Path) -> set[str]:
    """Return the folders of files that hold the passage."""
    return {file.parent.name for file in root.rglob("*") if file.is_file() and PASSAGE in file.read_text()}


@pytest.fixture
async def sessions(tmp_path: Path) -> Sessions:
    return Sessions({MAIN: tmp_path / "main", OTHER: tmp_path / "other"}, Threads("test"))


async def test_the_gateways_notes_lose_it_too(sessions: Sessions, tmp_path: Path) -> None:
    """A note quotes memories: what is purged is in none of them, for no reader, in the next request either."""
    main = await sessions.open(SessionKey(MAIN, "main"))
    note = TurnNoteEntry(f"Today.\n> L3: {PASSAGE.upper()}!", outside=f"Today.\n> {PASSAGE}")
    await main.append(TurnId("t1"), said("hello"), note, ReplyEntry("Hi.", (), "m", Usage()))
    assert await sessions.purge(MAIN, VAULT) == 1
    shown = str(main.records.rounds.entries)
    assert PURGED in shown
    assert PASSAGE not in shown.casefold()
    assert PASSAGE not in (tmp_path / "main" / "main.jsonl").read_text().casefold()


async def test_all_conversations_of_an_agent_lose_it(sessions: Sessions, tmp_path: Path) -> None:
    """Open ones in memory too, ended ones, torn ends; another agent's stay. What is said next is added as ever."""
    turn = TurnId("t1")
    main = await sessions.open(SessionKey(MAIN, "main"))
    guest = await sessions.open(SessionKey(MAIN, "guest:telegram.home.9"))
    other = await sessions.open(SessionKey(OTHER, "main"))
    call = ToolCall("c1", "add_note", json.dumps({"text": PASSAGE}))
    for transcript in (main, guest, other):
        await transcript.append(turn, said(f"remember that {PASSAGE}"), ReplyEntry("", (call,), "m", Usage()))
    await sessions.archive(SessionKey(MAIN, "guest:telegram.home.9"), utc_now())
    (tmp_path / "main" / "main.jsonl.torn").write_text(f'{{"text":"{PASSAGE}\n')
    assert await sessions.purge(MAIN, VAULT) == 5
    assert [entry.text for entry in main.entries if isinstance(entry, UserEntry)] == [f"remember that {PURGED}"]
    await main.append(turn, said("next"))
    assert holders(tmp_path) == {"other"}
    again = await Sessions({MAIN: tmp_path / "main"}, Threads("test")).open(SessionKey(MAIN, "main"))
    assert again.entries == main.entries
    assert len(again.entries) == 3
    assert await sessions.purge(MAIN, VAULT) == 0
