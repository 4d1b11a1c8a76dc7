"""The conversations on the disk, as whoever may see them reads them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from msgspec import structs

from gateway.admission.routing import SessionKey
from gateway.agent.authorship import HEARD
from gateway.agent.entries import (
    CallStartEntry,
    EndEntry,
    FlushEntry,
    LogEntry,
    LoggedEntry,
    LogSection,
    ReplyEntry,
    ResultEntry,
    SummaryEntry,
    ToolAct,
    ToolCall,
    Usage,
    UsedEntry,
    UsedMemory,
    UserEntry,
)
from gateway.control.sessions import ConversationList, answer_sessions
from gateway.control.wire import SessionRecord, SessionsAnswer, SessionsOrder
from gateway.errors import StoreError, StrandlineError
from gateway.stores.rows import TurnId
from gateway.transcripts import archive as module
from gateway.transcripts.store import Sessions
from tests.gateway.transcripts.test_writer import here
from tests.workspaces.turns import AGENT, GROUP, GROUP_CHAT, MAIN, SUBAGENT
from workspaces.access import Access, Scope

AT = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
ZONE = timezone(timedelta(hours=1))
OURS = f"group:{GROUP_CHAT.removeprefix('shared:')}"
ENDED = "main.20260301T233000000000Z"
SAID = UserEntry("the zebra is called Konrad", AT, "", "1")
SILENT = ReplyEntry("", (ToolCall("c", "list_files", "{}"),), "m", Usage())
ANSWERED = ReplyEntry("noted", (ToolCall("c", "add_note", '{"text":"Konrad"}'),), "m", Usage())


class Archive:
    """Three conversations of one agent, of which one has ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sessions = Sessions({AGENT: folder}, here, now=lambda: AT)

    async def fill(self) -> None:
        main, ours = SessionKey(AGENT, "main"), SessionKey(AGENT, OURS)
        first = await self.sessions.open(main)
        await first.append(TurnId("t1"), SAID, ANSWERED, CallStartEntry("c"))
        await first.append(TurnId("t1"), ResultEntry("c", "add_note", "done", is_error=False))
        await self.sessions.archive(main, AT)
        later = await self.sessions.open(main)
        await later.append(TurnId("t2"), replace(SAID, text="hello"))
        await (await self.sessions.open(ours)).append(
            TurnId("t3"), replace(SAID, text="our lion", sender="Sam"), SILENT
        )

    async def asked(self, order: SessionsOrder, access: Access = MAIN) -> SessionsAnswer:
        return await answer_sessions(order, [ConversationList(access, self.folder, ZONE)], self.sessions.run)

    async def names(self, access: Access) -> list[str]:
        return [row.session for row in (await self.asked(SessionsOrder("list"), access)).sessions]


@pytest.fixture
async def archive(tmp_path: Path) -> Archive:
    archive = Archive(tmp_path)
    await archive.fill()
    return archive


async def test_the_list_has_those_that_ended_too(archive: Archive) -> None:
    """Those that go on first; how much each is, and the times in the owner's zone."""
    rows = (await archive.asked(SessionsOrder("list"))).sessions
    assert [(row.session, row.messages) for row in rows] == [("main", 1), (OURS, 1), (ENDED, 2)]
    assert rows[2].ended == AT
    assert rows[2].ended.utcoffset() == timedelta(hours=1)
    assert rows[2].size == (archive.folder / f"archive/{ENDED}.jsonl").stat().st_size


async def test_each_sees_its_own_conversations(archive: Archive) -> None:
    """In the list, by name and in a search: a group its own, another chat and a subagent nothing of them."""
    assert await archive.names(GROUP) == [OURS]
    assert (
        await archive.names(structs.replace(GROUP, scope=Scope("shared:telegram.home.-200")))
        == await archive.names(SUBAGENT)
        == []
    )
    for act in ("show", "export"):
        assert (await archive.asked(SessionsOrder(act, None, OURS), GROUP)).records
        for session in ("main", ENDED):
            with pytest.raises(StrandlineError, match="no conversation"):
                await archive.asked(SessionsOrder(act, None, session), GROUP)
    for text, access, count in (("zebra", MAIN, 1), ("lion", MAIN, 1), ("lion", GROUP, 1), ("zebra", GROUP, 0)):
        assert len((await archive.asked(SessionsOrder("search", query=text), access)).matches) == count


async def test_no_name_leads_elsewhere(archive: Archive) -> None:
    """Only what the list names is read; what is no conversation's file is not in it."""
    (archive.folder / "link.jsonl").symlink_to(archive.folder / "main.jsonl")
    (archive.folder / "archive/of-nobody-knows-when.jsonl").write_bytes(b"")
    (archive.folder / "folder.jsonl").mkdir()
    assert await archive.names(MAIN) == ["main", OURS, ENDED]
    for name in ("../archive/main", f"archive/{ENDED}", "link", "", "main.jsonl"):
        with pytest.raises(StrandlineError, match="sessions list"):
            await archive.asked(SessionsOrder("show", None, name))


async def test_the_end_is_shown_with_calls_and_results(archive: Archive) -> None:
    """What the journal alone needs is left out, and does not count."""
    shown = (await archive.asked(SessionsOrder("show", None, ENDED, limit=3))).records
    assert [(each.kind, each.who, each.text) for each in shown] == [
        ("message", "Owner", SAID.text),
        ("reply", AGENT, "noted"),
        ("call", "add_note", '{"text":"Konrad"}'),
        ("result", "add_note", "done"),
    ]
    assert (shown[0].at, shown[0].at.utcoffset()) == (AT, timedelta(hours=1))
    newest = (await archive.asked(SessionsOrder("show", None, ENDED, limit=1))).records
    assert [each.kind for each in newest] == ["result"]


async def test_overheard_talk_is_apart_and_an_answer_has_its_receipt(archive: Archive) -> None:
    """Others said it before the message, which stands alone; the receipt tells of the turn's acts."""
    transcript = await archive.sessions.open(SessionKey(AGENT, "main"))
    heard = f"{HEARD}\n> 2026-03-01 10:00 Eve: the gate is open\n\nWho closes it?"
    noted = ResultEntry("c1", "add_note", "done", False, acts=(ToolAct("noted", "memory/2026-03-01.md#L3"),))
    calling = ReplyEntry("", (ToolCall("c1", "add_note", "{}"),), "m", Usage())
    said = UserEntry(heard, AT, "", "9", from_outside=True)
    await transcript.append(TurnId("t4"), said, calling, noted, ReplyEntry("I do.", (), "m", Usage()))
    shown = (await archive.asked(SessionsOrder("show", None, "main", limit=4))).records
    assert [(each.kind, each.who, each.text) for each in shown if each.kind not in {"call", "result"}] == [
        ("note", "overheard before", "2026-03-01 10:00 Eve: the gate is open"),
        ("message", "Owner", "Who closes it?"),
        ("reply", AGENT, "I do."),
        ("note", "receipt", "✓ noted `memory/2026-03-01.md#L3`"),
    ]


async def test_what_was_noted_is_shown_as_a_note(archive: Archive) -> None:
    """Memories used, notes written, a summary with its orders, the end; the mark of a finished note is not."""
    transcript = await archive.sessions.open(SessionKey(AGENT, "main"))
    await transcript.append(
        TurnId("t4"),
        UsedEntry((UsedMemory("MEMORY.md#L3-L3", "read"),)),
        FlushEntry((), 1),
        LogEntry((LogSection("memory/2026-03-01.md", "- said\n", 0),)),
        LoggedEntry(),
        SummaryEntry("all of it", "t2", ("never call after ten",), from_outside=False, model="m"),
        EndEntry("new"),
    )
    shown = (await archive.asked(SessionsOrder("show", None, "main", limit=5))).records
    assert [(each.kind, each.who, each.text) for each in shown] == [
        ("note", "memories used", "MEMORY.md#L3-L3"),
        ("note", "saved before the summary", "nothing"),
        ("note", "noted", "memory/2026-03-01.md"),
        ("note", "summary", "all of it\n- never call after ten"),
        ("note", "ended", "new"),
    ]


async def test_an_export_has_every_record_as_it_is_stored(archive: Archive) -> None:
    """In parts; what a newer program wrote is kept, damage is counted, and a record beside it is not lost."""
    file = archive.folder / f"archive/{ENDED}.jsonl"
    first, said, *others = file.read_bytes().splitlines(keepends=True)
    newer = b'{"v":2,"type":"poem","text":"' + b"\xc3\xa9" * module.PAGE_BYTES + b'"}\n'
    file.write_bytes(b"".join([first, newer, b"\xff noise\n", b"torn\0" + said, *others]))
    lines: list[str] = []
    records: list[SessionRecord] = []
    order = SessionsOrder("export", None, ENDED)
    damaged = unknown = parts = 0
    while True:
        part = await archive.asked(order)
        lines, records, parts = [*lines, *part.lines], [*records, *part.records], parts + 1
        damaged, unknown = damaged + part.damaged, unknown + part.unknown
        if part.next_offset is None:
            break
        order = structs.replace(order, offset=part.next_offset)
    assert "".join(lines).encode() == b"".join([first, newer, said, *others])
    assert [record.kind for record in records] == ["message", "reply", "call", "result"]
    assert (damaged, unknown, parts > 1) == (2, 1, True)


async def test_a_search_is_by_the_owners_day(archive: Archive) -> None:
    """Both days belong to it; half past eleven in UTC is the next day there."""

    async def found(**days: str) -> int:
        bounds = {name: datetime.fromisoformat(day).date() for name, day in days.items()}
        order = SessionsOrder("search", None, None, "ZEBRA", bounds.get("since"), bounds.get("until"))
        return len((await archive.asked(order)).matches)

    assert await found(since="2026-03-02", until="2026-03-02") == 1
    assert await found(until="2026-03-01") == await found(since="2026-03-03") == 0
    (match,) = (await archive.asked(SessionsOrder("search", None, None, "zebra"))).matches
    assert match.citation == f"sessions/archive/{ENDED}.jsonl#L2-L2"


async def test_a_conversation_that_cannot_be_read_is_a_sentence(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gone between the look and the reading, as an end may do."""

    def gone(*_: object) -> module.RecordPage:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("gateway.control.sessions.latest_part", gone)
    monkeypatch.setattr("gateway.control.sessions.extent", gone)
    with pytest.raises(StoreError, match=r"main\.jsonl"):
        await archive.asked(SessionsOrder("show", None, "main"))
    assert await archive.names(MAIN) == []
