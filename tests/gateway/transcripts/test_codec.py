"""A transcript of a megabyte that is damaged at any byte: the damaged record may be lost, and no other."""

import random
from bisect import bisect
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path

import pytest

from gateway.agent.entries import Entry, ReplyEntry, ResultEntry, ToolCall, Usage, UserEntry
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record, header, to_line
from gateway.transcripts.writer import Repairs, Transcript
from tests.gateway.transcripts.test_writer import here

AT = datetime(2026, 3, 1, tzinfo=UTC)
BYTES = 1_000_000
PLACES = [pytest.param(200, id="200"), pytest.param(2_000, id="2000", marks=pytest.mark.nightly)]
"""Bytes at which it is cut, and as many that are changed; the longer run takes half a minute."""


@dataclass(frozen=True)
class Written:
    """A transcript as it was before the damage."""

    path: Path
    records: list[Record]
    content: bytes
    ends: list[int]
    """Where each line ends, the first line's end first; its end of line is part of it."""

    def line_at(self, place: int) -> int:
        """Return the line to which the byte at *place* belongs, from 0, which is the one that names the session."""
        return bisect(self.ends, place)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Messages of some bytes and results of many, in a fixed disorder."""
    dice, lines = random.Random(6), [header("main", AT)]
    records: list[Record] = []
    while sum(map(len, lines)) < BYTES:
        text = dice.choice(['Grüße, "was" {"v":1}', "日本\n", "x" * 900, "\\ 😀 " * 9_000])
        record = Record(TurnId(f"t{len(records) // 5}"), AT, _entry(dice.randrange(3), text))
        records.append(record)
        lines.append(to_line(record))
    content = b"".join(lines)
    path = tmp_path_factory.mktemp("damage") / "main.jsonl"
    return Written(path, records, content, list(accumulate(map(len, lines))))


def _entry(kind: int, text: str) -> Entry:
    match kind:
        case 0:
            return UserEntry(text, AT, "Alice", "1")
        case 1:
            return ReplyEntry(text, (ToolCall("c", "read_file", '{"path":"a"}'),), "m", Usage(9, 1))
        case _:
            return ResultEntry("c", "read_file", text, is_error=False)


@pytest.mark.parametrize("count", PLACES)
async def test_a_changed_byte_costs_no_other_record(written: Written, count: int) -> None:
    """In the first line, at the ends of lines and anywhere; what is lost is counted, and its bytes are kept."""
    dice = random.Random(7)
    places = [*range(0, written.ends[0], 4), *(end - 1 for end in written.ends)]
    places += [dice.randrange(len(written.content)) for _ in range(count - len(places))]
    torn = written.path.with_name("main.jsonl.torn")
    for place in places:
        damaged = bytearray(written.content)
        damaged[place] ^= dice.randrange(1, 256)
        written.path.write_bytes(damaged)
        transcript = await Transcript.open(written.path, here)
        line, found = written.line_at(place), transcript.records
        before, after = written.records[: max(line - 1, 0)], written.records[line:]
        assert found[: len(before)] == before, place
        assert found[len(found) - len(after) :] == after, place
        assert len(found) <= len(written.records)
        lost = len(written.records) - len(found)
        assert lost <= transcript.repairs.torn + transcript.repairs.damaged + transcript.repairs.unknown
        kept = torn.read_bytes() if transcript.repairs.torn else b""
        torn.unlink(missing_ok=True)
        assert written.path.read_bytes() + kept in (bytes(damaged), bytes(damaged) + b"\n")


@pytest.mark.parametrize("count", PLACES)
async def test_a_transcript_cut_at_any_byte_keeps_the_records_before(written: Written, count: int) -> None:
    """The cut one is moved beside the file, and the others stay as they were."""
    dice = random.Random(8)
    torn = written.path.with_name("main.jsonl.torn")
    for place in (dice.randrange(1, len(written.content)) for _ in range(count)):
        written.path.write_bytes(written.content[:place])
        transcript = await Transcript.open(written.path, here)
        line = written.line_at(place)
        is_whole = place == written.ends[line] - 1  # only its end of line was cut off
        is_between = place in written.ends[line - 1 : line]
        assert transcript.records == written.records[: max(line - 1 + is_whole, 0)], place
        assert transcript.repairs == Repairs(torn=0 if is_whole or is_between else 1)
        kept = torn.read_bytes() if transcript.repairs.torn else b""
        torn.unlink(missing_ok=True)
        assert (written.path.read_bytes() + kept).rstrip(b"\n") == written.content[:place].rstrip(b"\n")
