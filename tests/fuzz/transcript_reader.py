"""Fuzzing of the transcript reader: whatever became of a file, each record that is intact in it is read."""

import asyncio
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gateway.agent.entries import CallStartEntry, Entry, ReplyEntry, ResultEntry, ToolCall, Usage, UsedEntry, UserEntry
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record, header, to_line
from gateway.transcripts.writer import Transcript
from tests.fuzz.campaign import Target
from tests.fuzz.mutation import mutated
from tests.gateway.transcripts.test_writer import here

_START = datetime(2026, 3, 1, tzinfo=UTC)
_KNOTS = (
    *(b"\n", b"\n\n", b"\r\n", b"\x00", b"\xff", b"{", b"}", b'"', b"\\", b'{"v":', b'{"v":1,"type":"user"', b"[" * 99),
    *(b'{"v":2,"type":"user"}\n', b'{"v":1,"type":"odd"}\n', b" ", "\u2028".encode(), b"\xed\xa0\x80", b"null\n"),
)
_LATER = UserEntry("said later", _START, "", "99")


def _records() -> Iterator[Record]:
    for number in range(8):
        entries: list[Entry] = [
            UserEntry(f'question {number}\n"quoted" {{"v":1}} ü 😀', _START, "Ann", str(number)),
            ReplyEntry("", (ToolCall(f"c{number}", "read_file", "{}"),), "m", Usage(9, 1)),
            CallStartEntry(f"c{number}"),
            ResultEntry(f"c{number}", "read_file", "found\n" * number, is_error=False),
            ReplyEntry(f"answer {number}", (), "m", Usage(9, 1)),
        ]
        for entry in entries:
            yield Record(TurnId(f"t{number}"), _START + timedelta(seconds=number), entry)
        yield Record(TurnId(f"t{number}"), _START, UsedEntry(()))


_LINES = {to_line(record).rstrip(b"\n"): record for record in _records()}
_WHOLE = header("main", _START) + b"".join(line + b"\n" for line in _LINES)


def check(content: bytes) -> None:
    """Raise AssertionError if an intact record is not read, in its place, or is gone once something was added."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_check(Path(folder) / "main.jsonl", content))


async def _check(file: Path, content: bytes) -> None:
    await here(file.write_bytes, content)
    transcript = await Transcript.open(file, here)
    intact = [_LINES[line] for line in content.split(b"\n") if line in _LINES]
    assert is_within(intact, list(transcript.records)), "an intact record was not read"
    repairs = transcript.repairs
    await transcript.append(TurnId("t99"), _LATER)
    assert transcript.records[-1].entry == _LATER
    again = await Transcript.open(file, here)
    assert list(again.records) == list(transcript.records), "a restart reads something else"
    assert again.repairs.torn == 0
    assert again.repairs.damaged == repairs.damaged
    kept = await here(file.read_bytes)
    assert all(line in kept for line in content.split(b"\n") if line in _LINES)


def is_within(some: list[Record], others: list[Record]) -> bool:
    """Say whether *some* stand among *others*, in their order."""
    rest = iter(others)
    return all(any(each == other for other in rest) for each in some)


TARGET = Target("transcript reader", mutated([_WHOLE, _WHOLE[: len(_WHOLE) // 2], b""], _KNOTS), check)
