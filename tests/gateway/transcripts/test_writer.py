"""A transcript keeps every whole record, whatever happens to the file around it."""

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.agent.entries import (
    CallStartEntry,
    Entry,
    Mark,
    ReplyEntry,
    ResultEntry,
    ToolCall,
    Usage,
    UsedEntry,
    UsedMemory,
    UserEntry,
)
from gateway.errors import StoreError
from gateway.stores.rows import TurnId
from gateway.transcripts import writer
from gateway.transcripts.codec import Record, kind_of_entry
from gateway.transcripts.writer import Repairs, Transcript
from workspaces.memory.text.dialogue import LineKind

P = ParamSpec("P")
T = TypeVar("T")

ONE, TWO = TurnId("t1"), TurnId("t2")
SAID = UserEntry('What is up?\nüñí 😀 \u2028 {"v":1}', datetime(2026, 3, 1, tzinfo=UTC), "Alice", "1")
ENTRIES: list[Entry] = [
    SAID,
    ReplyEntry("", (ToolCall("c1", "read_file", '{"path": "a'),), "model", Usage(10, 2, 8)),
    CallStartEntry("c1"),
    ResultEntry("c1", "read_file", "no such file", is_error=True),
    ReplyEntry("Nothing.", (), "model", Usage()),
]


async def here(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run at once: the tests below look at files, not at threads."""
    return function(*args, **kwargs)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "main.jsonl"


@pytest.fixture
async def written(path: Path) -> bytes:
    """A transcript of all kinds of records, in two turns."""
    transcript = await Transcript.open(path, here)
    await transcript.append(ONE, *ENTRIES[:2])
    for entry in ENTRIES[2:]:
        await transcript.append(TWO, entry)
    return read(path)


def read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def mode(path: Path) -> int | None:
    return path.stat().st_mode & 0o777 if path.exists() else None


def entries(transcript: Transcript) -> list[Entry]:
    return transcript.entries


async def opened(path: Path, content: bytes) -> Transcript:
    """Return the transcript that a file with *content* is read as."""
    write(path, content)
    return await Transcript.open(path, here)


async def test_records_come_back_as_they_were_written(path: Path, written: bytes) -> None:
    """Every field of every kind of entry survives; the file begins with its header and ends with a line's end."""
    transcript = await Transcript.open(path, here)
    assert entries(transcript) == ENTRIES
    assert [record.turn_id for record in transcript.records] == [ONE, ONE, TWO, TWO, TWO]
    assert transcript.repairs == Repairs()
    assert written.startswith(b'{"v":1,"type":"session",')
    assert written.endswith(b"\n")
    assert written.count(b"\n") == 6


async def test_what_a_message_says_is_found_out_on_the_files_own_thread(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a hundred thousand characters in short lines that takes two seconds, in which nobody else was answered."""
    threads: list[threading.Thread] = []

    def kind(entry: Entry | Mark) -> LineKind | None:
        threads.append(threading.current_thread())
        return kind_of_entry(entry)

    monkeypatch.setattr(writer, "kind_of_entry", kind)
    transcript = await Transcript.open(path, asyncio.to_thread)
    await transcript.append(ONE, SAID)
    assert threads
    assert threading.main_thread() not in threads
    assert [record.kind for record in transcript.records] == [kind_of_entry(SAID)]


async def test_what_is_remembered_is_what_a_restart_reads(path: Path) -> None:
    """Text that no file can hold is the same before and after a restart."""
    transcript = await Transcript.open(path, here)
    await transcript.append(ONE, replace(SAID, text="half \ud83d"))
    assert entries(transcript) == [replace(SAID, text="half \ufffd")]
    assert (await Transcript.open(path, here)).records == transcript.records


async def test_opening_an_absent_transcript_makes_no_file(path: Path) -> None:
    """Looking leaves no trace; the first write makes the folder and a file for its owner only."""
    transcript = await Transcript.open(path, here)
    assert transcript.records == []
    assert mode(path.parent) is None
    await transcript.append(ONE, SAID)
    assert mode(path) == 0o600


async def test_nothing_to_append_is_no_record(path: Path) -> None:
    """An append without entries is allowed and adds none."""
    transcript = await Transcript.open(path, here)
    await transcript.append(ONE)
    assert (await Transcript.open(path, here)).records == []


async def test_a_transcript_cut_anywhere_keeps_its_whole_records(path: Path, written: bytes) -> None:
    """At every byte: each record that is whole is there, and the torn bytes are moved beside it, not lost."""
    torn_file = path.with_name("main.jsonl.torn")
    ends = [at for at in range(len(written)) if written[at : at + 1] == b"\n"]
    for cut in range(len(written)):
        write(torn_file, b"")
        transcript = await opened(path, written[:cut])
        whole = sum(end <= cut for end in ends)  # a record is whole even without its line's end
        assert entries(transcript) == ENTRIES[: max(0, whole - 1)], cut
        start = max((end + 1 for end in ends if end < cut), default=0)
        torn = b"" if cut in ends or cut == start else written[start:cut]
        assert transcript.repairs == Repairs(torn=1 if torn else 0)
        assert read(torn_file) == (torn + b"\n" if torn else b"")
        assert read(path) == (written[: cut + 1] if cut in ends else written[:start])


async def test_a_torn_record_is_kept_whole_before_it_is_cut(
    path: Path, written: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that takes a few bytes at a time, as a nearly full one does, costs none of them."""
    at_once = os.write

    def three(file: int, content: bytes) -> int:
        return at_once(file, content[:3])

    torn = written[written[:-1].rindex(b"\n") + 1 : -20]
    write(path, written[:-20])
    monkeypatch.setattr(os, "write", three)
    assert (await Transcript.open(path, here)).repairs == Repairs(torn=1)
    assert read(path.with_name("main.jsonl.torn")) == torn + b"\n"


async def test_after_a_cut_the_transcript_goes_on(path: Path, written: bytes) -> None:
    """A mended file takes new records, also where only the header was left, torn."""
    for cut in (3, len(written) - 10, len(written) - 1):
        write(path, written[:cut])
        transcript = await Transcript.open(path, here)
        await transcript.append(TWO, SAID)
        again = await Transcript.open(path, here)
        assert again.records == transcript.records
        assert again.repairs == Repairs()
        assert entries(again)[-1] == SAID


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(min_value=0), byte=st.integers(0, 255))
def test_a_changed_byte_costs_one_record_at_most(path: Path, written: bytes, position: int, byte: int) -> None:
    """Whatever one byte becomes, a line's end included, every other record is read as it was."""
    position %= len(written)
    transcript = asyncio.run(opened(path, written[:position] + bytes([byte]) + written[position + 1 :]))
    found = entries(transcript)
    kept = [entry for entry in ENTRIES if entry in found]
    assert len(kept) >= len(ENTRIES) - 1
    assert [entry for entry in found if entry in ENTRIES] == kept
    lost = len(ENTRIES) - len(found)
    repairs = transcript.repairs
    assert lost <= repairs.torn + repairs.damaged + repairs.unknown


async def test_a_lost_line_end_costs_its_own_record_only(path: Path, written: bytes) -> None:
    """Two records that damage ran together: the one behind is read."""
    at = written.index(b"\n", written.index(b'"user"'))
    transcript = await opened(path, written[:at] + b"\x00" + written[at + 1 :])
    assert entries(transcript) == ENTRIES[1:]
    assert transcript.repairs == Repairs(damaged=1)


async def test_damage_and_novelty_are_kept_in_the_file_and_counted(path: Path, written: bytes) -> None:
    """A line of noise, a line of zeros, a newer record and an unknown one: skipped, told apart, left where they are."""
    strange = [
        b"\xff\xfe noise",
        b"\x00" * 30,
        b'{"v":1,"type":"user","turn":"t9"}',
        b'{"v":2,"type":"user","turn":"t9","at":"2027-01-01T00:00:00Z"}',
        b'{"v":1,"type":"poem","turn":"t9","text":"later"}',
    ]
    header, rest = written.split(b"\n", 1)
    content = b"\n".join([header, *strange, b"", rest])
    transcript = await opened(path, content)
    assert entries(transcript) == ENTRIES
    assert transcript.repairs == Repairs(damaged=3, unknown=2)
    assert read(path) == content


class Failing:
    """A checkpoint that lets *bytes_* through and then fails, or fails at the step named *at*."""

    def __init__(self, code: int = errno.ENOSPC, *, at: str = "transcript.write", bytes_: int = 0) -> None:
        self.code, self.at, self.bytes = code, at, bytes_
        self.active = True

    def __call__(self, step: str, size: int, /) -> int:
        if not self.active or step != self.at:
            return size
        if self.bytes:
            short, self.bytes = min(self.bytes, size), 0
            return short
        raise OSError(self.code, os.strerror(self.code))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Failing(), "full"),
        (Failing(bytes_=20), "full"),
        (Failing(errno.EIO, at="transcript.sync"), "fails"),
    ],
)
async def test_a_failed_append_leaves_no_trace(path: Path, written: bytes, fault: Failing, said: str) -> None:
    """Disk full, a short write, a failed sync: the file is what it was, the records too, and the next append works."""
    fault = Failing(fault.code, at=fault.at, bytes_=fault.bytes)
    transcript = await Transcript.open(path, here, fault)
    before = list(transcript.records)
    with pytest.raises(StoreError, match=rf"main\.jsonl.* {said}"):
        await transcript.append(TWO, ENTRIES[-1])
    assert transcript.records == before
    assert read(path) == written
    fault.active = False
    await transcript.append(TWO, ENTRIES[-1])
    assert entries(await Transcript.open(path, here)) == [*ENTRIES, ENTRIES[-1]]


async def test_a_message_alone_waits_for_the_sync_of_what_follows_it(path: Path) -> None:
    """The inbox has it until the turn is committed, after its answer; the first record of a file is synced at once.

    A crash may have left a file without records. The store is told that there is one, so it must survive a power cut:
    the conversation would be called lost.
    """
    synced: list[int] = []

    def counted(step: str, size: int, /) -> int:
        if step == "transcript.sync":
            synced.append(path.stat().st_size)
        return size

    torn = await Transcript.open(path, here)
    await torn.append(ONE, SAID)
    os.truncate(path, read(path).index(b"\n") + 9)  # a crash in the first write left its header
    transcript = await Transcript.open(path, here, counted)
    await transcript.append(ONE, SAID)
    assert len(synced) == 1
    await transcript.append(TWO, SAID)
    assert len(synced) == 1
    assert entries(await Transcript.open(path, here)) == [SAID, SAID]
    await transcript.append(TWO, ENTRIES[-1])
    assert synced[1:] == [len(read(path))]


async def test_a_short_write_is_finished(path: Path) -> None:
    """A write that takes only some of the bytes goes on with the others."""

    def seven_at_a_time(_step: str, size: int, /) -> int:
        return min(7, size)

    transcript = await Transcript.open(path, here, seven_at_a_time)
    await transcript.append(ONE, *ENTRIES)
    assert entries(await Transcript.open(path, here)) == ENTRIES


async def test_a_first_append_that_fails_can_be_tried_again(path: Path) -> None:
    """A new file that failed before its header was whole gets its header with the next try."""
    fault = Failing(bytes_=30)
    transcript = await Transcript.open(path, here, fault)
    with pytest.raises(StoreError):
        await transcript.append(ONE, SAID)
    fault.active = False
    await transcript.append(ONE, SAID)
    assert read(path).count(b'"session"') == 2  # the type and the field of one header
    assert (await Transcript.open(path, here)).repairs == Repairs()


async def test_a_failed_write_that_could_not_be_cut_is_cut_by_the_next(
    path: Path, written: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk too broken to shorten the file leaves a torn record; no later record is joined to it."""
    fault = Failing(errno.EIO, bytes_=20)
    transcript = await Transcript.open(path, here, fault)
    with monkeypatch.context() as broken:
        broken.setattr(os, "ftruncate", partial(_raise, OSError(errno.EIO, "broken")))
        with pytest.raises(StoreError):
            await transcript.append(TWO, SAID)
    assert len(read(path)) == len(written) + 20
    fault.active = False
    await transcript.append(TWO, SAID)
    again = await Transcript.open(path, here)
    assert (entries(again), again.repairs) == ([*ENTRIES, SAID], Repairs())


async def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """A file where the folder should be gives one sentence, when reading and when writing."""
    write(tmp_path / "sessions", b"")
    transcript = await Transcript.open(tmp_path / "sessions" / "main.jsonl", here)
    with pytest.raises(StoreError, match="sessions"):
        await transcript.append(ONE, SAID)
    with pytest.raises(StoreError, match=str(tmp_path)):
        await Transcript.open(tmp_path, here)


async def test_two_appends_at_once_both_land(path: Path) -> None:
    """Appends from many threads leave whole records, each once, in memory and on disk alike."""
    with ThreadPoolExecutor(8) as threads:

        async def anywhere(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await asyncio.get_running_loop().run_in_executor(threads, partial(function, *args, **kwargs))

        transcript = await Transcript.open(path, anywhere)
        await asyncio.gather(*(transcript.append(ONE, replace(SAID, message_id=str(n))) for n in range(50)))
        again = await Transcript.open(path, anywhere)
    assert again.records == transcript.records
    assert {entry.message_id for entry in entries(again) if isinstance(entry, UserEntry)} == set(map(str, range(50)))
    assert read(path).count(b'"type":"session"') == 1


async def test_a_record_says_when_it_was_written(path: Path) -> None:
    """The time is UTC with its zone, not the message's own."""
    transcript = await Transcript.open(path, here)
    before = datetime.now(UTC)
    await transcript.append(ONE, SAID)
    record: Record = transcript.records[0]
    assert before <= record.at <= datetime.now(UTC)


def _raise(exc: Exception, *_: object) -> None:
    raise exc


async def test_what_a_turn_used_is_kept_and_shown_to_no_model(path: Path) -> None:
    """After a restart too: each memory once, with the best of its scores; the conversation does not hold it."""
    transcript = await Transcript.open(path, here)
    found = UsedMemory("MEMORY.md#L1-L1", "search", 0.5, 0.4, 3.0)
    await transcript.append(ONE, SAID, UsedEntry((found, UsedMemory("a.md#L2-L2", "read"))))
    await transcript.append(ONE, UsedEntry((replace(found, score=0.7),)))
    await transcript.append(TWO, UsedEntry((replace(found, citation="other.md#L1-L1"),)))
    again = await Transcript.open(path, here)
    assert again.repairs == Repairs()
    assert again.entries == transcript.entries == [SAID]
    assert again.used_by(ONE) == (replace(found, score=0.7), UsedMemory("a.md#L2-L2", "read"))
    assert again.used_by(TurnId("absent")) == ()


async def test_a_fifo_in_its_place_is_an_error_and_no_hang(path: Path) -> None:
    """Before it is opened and while it is used: opening one waits for ever, and so would the end of the gateway."""
    transcript = await Transcript.open(path, here)
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    with pytest.raises(StoreError):
        await transcript.append(ONE, SAID)
    with pytest.raises(StoreError, match="not a regular file"):
        await Transcript.open(path, here)
