"""Where transcripts lie, and what is told of damaged ones."""

import asyncio
import gc
import random
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.talk import prose
from gateway.admission.routing import SessionKey
from gateway.agent.entries import ReplyEntry, Usage, UserEntry
from gateway.agent.models.openai import body_of
from gateway.agent.models.port import ModelRequest
from gateway.agent.models.prefix_cache import MOST_BYTES, Beginning, PrefixCache
from gateway.runtime.threads import Threads
from gateway.stores.rows import TurnId
from gateway.stores.sqlite.store import SqliteStore
from gateway.transcripts.codec import Record, header, to_line
from gateway.transcripts.read_tail import LEAST_MESSAGES
from gateway.transcripts.session_marks import LostTranscript, SessionMarks
from gateway.transcripts.store import OPEN_AT_MOST, OPEN_BYTES, REPAIRS_TOLD, Sessions
from tests.gateway.turns.test_turn import MAIN

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


async def test_of_what_was_damaged_the_latest_is_told(tmp_path: Path, threads: Threads) -> None:
    """However many sessions a bad disk has spoiled."""
    sessions, many = Sessions({MAIN: tmp_path}, threads), REPAIRS_TOLD + 2
    for number in range(many):
        sessions.path(key := SessionKey(MAIN, f"group:{number}")).write_bytes(b"no record\n")
        await sessions.open(key)
    told = [line.partition(": ")[0] for line in sessions.repairs()]
    assert told == [f"session main/group:{number}" for number in range(2, many)]


async def test_no_name_of_a_session_leads_out_of_its_folder(tmp_path: Path, threads: Threads) -> None:
    """A chat's id is a file's name, whatever it holds."""
    assert Sessions({MAIN: tmp_path}, threads).path(GROUP).parent == tmp_path


async def test_a_conversation_that_is_put_away_meanwhile_is_no_fault(tmp_path: Path, threads: Threads) -> None:
    """Its name was listed, and nothing is there any more; the others are known."""
    sessions, key = Sessions({MAIN: tmp_path}, threads), SessionKey(MAIN, "main")
    await (await sessions.open(key)).append(TurnId("t1"), ReplyEntry("kept", (), "m", Usage()))
    sessions.path(SessionKey(MAIN, "group:1")).symlink_to(tmp_path / "put away")
    assert set(sessions.known(datetime(2000, 1, 1, tzinfo=UTC))) == {key}


async def test_open_transcripts_are_bounded(tmp_path: Path, threads: Threads) -> None:
    """The least recently used is let go and read again when it is needed; what a turn still holds stays the one."""
    sessions = Sessions({MAIN: tmp_path}, threads)
    keys = [SessionKey(MAIN, f"group:{number}") for number in range(OPEN_AT_MOST + 1)]
    held = await sessions.open(keys[0])
    let_go, *_, latest = [weakref.ref(await sessions.open(key)) for key in keys[1:]]
    await sessions.open(SessionKey(MAIN, "one more"))
    assert (let_go() is None, latest() is None) == (True, False)
    assert await sessions.open(keys[0]) is held


async def test_long_conversations_are_not_all_kept_in_memory(tmp_path: Path, threads: Threads) -> None:
    """They are let go by how much they hold; one alone may be longer."""
    writer = Sessions({MAIN: tmp_path}, threads)
    keys = [SessionKey(MAIN, f"group:{number}") for number in range(3)]
    for key, length in zip(keys, (OPEN_BYTES // 3, OPEN_BYTES // 3, 2 * OPEN_BYTES), strict=True):
        await (await writer.open(key)).append(TurnId("t1"), ReplyEntry("x" * length, (), "m", Usage()))
    sessions = Sessions({MAIN: tmp_path}, threads)
    one, two = [weakref.ref(await sessions.open(key)) for key in keys[:2]]
    assert (one() is None, two() is None) == (False, False)
    three = weakref.ref(await sessions.open(keys[2]))
    await threads(int)  # lets go of what it read last
    assert (one() is None, two() is None, three() is None) == (True, True, False)


async def test_a_conversation_that_grows_counts_as_what_it_holds_now(tmp_path: Path, threads: Threads) -> None:
    """Who opens one once and writes much to it makes others be let go, as one that was long before would."""
    sessions, keys = Sessions({MAIN: tmp_path}, threads), [SessionKey(MAIN, f"group:{number}") for number in range(2)]
    much = ReplyEntry("x" * (OPEN_BYTES * 2 // 3), (), "m", Usage())
    await (await sessions.open(keys[0])).append(TurnId("t1"), much)
    short = weakref.ref(await sessions.open(keys[0]))
    await (await sessions.open(keys[1])).append(TurnId("t1"), much)
    await threads(int)  # lets go of what it wrote last
    assert short() is None


async def test_thirty_long_conversations_take_little_memory(tmp_path: Path, threads: Threads) -> None:
    """Of 480 turns each, which fit a window of 128,000 tokens, the latest six are held, whoever holds them.

    What the model's connector keeps of their beginnings counts too.
    """
    sessions, prefix_cache, said = Sessions({MAIN: tmp_path}, threads), PrefixCache(), 0
    for number in range(30):
        key = SessionKey(MAIN, f"group:{number}")
        said += _talk_at_length(sessions.path(key), number)
        request = ModelRequest("", (await sessions.open(key)).entries, ())
        body_of(request, {}, {"model": "m"}, prefix_cache)
        del request
    held, written = _held()
    bound = OPEN_BYTES + MOST_BYTES
    assert said > 1.5 * bound
    assert held <= bound
    assert written <= MOST_BYTES


def _talk_at_length(path: Path, seed: int) -> int:
    """Write the transcript of a long conversation; return how many characters were said in it."""
    dice, at, said = random.Random(seed), datetime(2026, 3, 4, tzinfo=UTC), 0
    with path.open("wb") as file:
        file.write(header(path.stem, at))
        for number in range(480):
            asked, told = prose(dice, 50), prose(dice, 90)
            said += len(asked) + len(told)
            entries = UserEntry(asked, at, "Ann", str(number)), ReplyEntry(told, (), "m", Usage(2_000, 120))
            file.writelines(to_line(Record(TurnId(f"t{number}"), at, entry)) for entry in entries)
    return said


def _held() -> tuple[int, int]:
    """Return how many characters of entries are in memory, each object once, and how many bytes of beginnings."""
    gc.collect()
    alive = gc.get_objects()
    return (
        sum(len(each.text) for each in alive if isinstance(each, UserEntry | ReplyEntry)),
        sum(len(each.text) for each in alive if isinstance(each, Beginning)),
    )


async def test_what_a_job_says_over_months_is_not_kept_in_memory(
    tmp_path: Path, threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of its turns is shown another; on the disk all of them are."""
    monkeypatch.setattr("gateway.transcripts.writer.MOST_ALONE", 50)

    def is_alone(key: SessionKey) -> bool:
        return key.name.startswith("cron:")

    sessions, key = Sessions({MAIN: tmp_path}, threads, is_alone=is_alone), SessionKey(MAIN, "cron:1")
    transcript = await sessions.open(key)
    for number in range(120):
        asked = UserEntry("look", datetime(2026, 3, 4, tzinfo=UTC), "", str(number))
        await transcript.append(TurnId(f"t{number}"), asked)
        assert len(transcript.records) <= 2 * LEAST_MESSAGES
        assert transcript.entries_of(TurnId(f"t{number}")) == [asked]
    assert transcript.size < sessions.path(key).stat().st_size / 2
    again = Sessions({MAIN: tmp_path}, threads, is_alone=is_alone)
    assert len((await again.open(key)).records) == LEAST_MESSAGES
    again = Sessions({MAIN: tmp_path}, threads)
    assert len((await again.open(key)).records) == 120


async def test_a_conversation_that_was_put_away_takes_no_room(tmp_path: Path, threads: Threads) -> None:
    """Others are not let go for it."""
    sessions = Sessions({MAIN: tmp_path}, threads)
    long, first, second = (SessionKey(MAIN, f"group:{number}") for number in range(3))
    await (await sessions.open(long)).append(TurnId("t1"), ReplyEntry("x" * (OPEN_BYTES - 150), (), "m", Usage()))
    await sessions.open(long)
    await sessions.archive(long, datetime(2026, 3, 4, tzinfo=UTC))
    await (await sessions.open(first)).append(TurnId("t2"), ReplyEntry("y", (), "m", Usage()))
    kept = weakref.ref(await sessions.open(first))
    await sessions.open(second)
    assert kept() is not None


async def test_what_goes_on_after_an_end_is_another_transcript(tmp_path: Path, threads: Threads) -> None:
    """Also for who still holds the one that was put away."""
    sessions, key = Sessions({MAIN: tmp_path}, threads), SessionKey(MAIN, "main")
    held = await sessions.open(key)
    await held.append(TurnId("t1"), ReplyEntry("before", (), "m", Usage()))
    await sessions.archive(key, datetime(2026, 3, 1, tzinfo=UTC))
    assert (await sessions.open(key)).records == []
    assert len(held.records) == 1


async def test_a_session_has_one_transcript_however_many_ask_at_once(tmp_path: Path, threads: Threads) -> None:
    """A command at the desk and a turn in its lane must not each have a writer that knows half of what was said."""
    sessions = Sessions({MAIN: tmp_path}, threads)
    key = SessionKey(MAIN, "main")
    first, second = await asyncio.gather(sessions.open(key), sessions.open(key))
    assert first is second


async def test_a_lost_transcript_is_told_from_a_new_one(tmp_path: Path, threads: Threads) -> None:
    """Missing, emptied or spoiled: told once, its bytes kept; one that ended or never began is none."""
    state = await SqliteStore.open(tmp_path / "state.db")
    lost: list[LostTranscript] = []

    async def on_lost(each: LostTranscript) -> None:
        lost.append(each)

    def started() -> Sessions:
        marks = SessionMarks(state, tmp_path / "removed", on_lost)
        return Sessions({MAIN: tmp_path / "sessions"}, threads, marks=marks)

    keys = [
        SessionKey(MAIN, name) for name in ("main", "group:1", "group:2", "group:3", "group:4", "group:new", "cron:1")
    ]
    missing, emptied, spoiled, torn, ended, new, job = keys
    for key in keys:
        transcript = await started().open(key)
        if key != new:
            await transcript.append(TurnId("t1"), ReplyEntry("kept", (), "m", Usage()))
    await started().archive(ended, datetime(2026, 3, 1, tzinfo=UTC))
    sessions = started()
    for key in (missing, job):
        sessions.path(key).unlink()
    sessions.path(emptied).write_bytes(b"")
    sessions.path(spoiled).write_bytes(b"\0" * 100 + b"\n")
    sessions.path(torn).write_bytes(b"\0" * 100)
    for _ in range(2):
        sessions = started()
        for key in keys:
            assert not (await sessions.open(key)).records
    assert [each.key for each in lost] == [missing, emptied, spoiled, torn]
    assert [each.kept_as is None for each in lost] == [True, True, False, False]
    for each in lost[2:]:
        assert each.kept_as is not None
        assert each.kept_as.read_bytes() == b"\0" * 100 + b"\n"
    await (await sessions.open(missing)).append(TurnId("t2"), ReplyEntry("again", (), "m", Usage()))
    sessions.path(missing).unlink()
    sessions = started()
    await sessions.open(missing)
    assert [each.key for each in lost[4:]] == [missing]
    (line,) = sessions.repairs()
    assert line.startswith(f"session main/main: {sessions.path(missing)} was missing or empty, although it had")
    await state.close()


async def test_a_transcript_that_the_store_does_not_know_is_marked_when_it_is_opened(
    tmp_path: Path, threads: Threads
) -> None:
    """A home of an earlier version, or of a mark that could not be stored; one of a removed agent is not lost."""
    state = await SqliteStore.open(tmp_path / "state.db")
    key = SessionKey(MAIN, "main")
    before = Sessions({MAIN: tmp_path / "sessions"}, threads)
    await (await before.open(key)).append(TurnId("t1"), ReplyEntry("kept", (), "m", Usage()))

    async def on_lost(lost: LostTranscript) -> None:
        raise AssertionError(lost)

    marks = SessionMarks(state, tmp_path / "removed", on_lost)
    for _ in range(2):
        sessions = Sessions({MAIN: tmp_path / "sessions"}, threads, marks=marks)
        await sessions.open(key)
    assert await marks.since(key)
    (tmp_path / "removed").mkdir()
    (tmp_path / "removed/main-2026-03-01").mkdir()
    (tmp_path / "sessions").rename(tmp_path / "removed/main-2026-03-01/sessions")
    sessions = Sessions({MAIN: tmp_path / "sessions"}, threads, marks=marks)
    await sessions.open(key)
    assert list(sessions.repairs()) == []
    await state.close()
