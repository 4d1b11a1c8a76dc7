"""Benchmark of transcripts: a conversation of 10,000 messages and 50 MB, and a thousand conversations.

python -m bench --only transcripts
"""

import os
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.figures import Figure, at_most, percentile
from gateway.admission.routing import SessionKey
from gateway.agent.entries import (
    CallStartEntry,
    Entry,
    ReplyEntry,
    ResultEntry,
    SummaryEntry,
    ToolCall,
    Usage,
    UserEntry,
)
from gateway.control.sessions import ConversationList, answer_sessions
from gateway.control.wire import SessionsOrder
from gateway.runtime.threads import Threads
from gateway.stores.rows import TurnId
from gateway.transcripts.codec import Record, header, to_line
from gateway.transcripts.store import Sessions
from gateway.transcripts.writer import Transcript
from workspaces.access import PRIVATE, Access, AgentId, SessionType

TURNS = 5_000
"""Two messages each."""
RESULT = "Grüße\n" * 1_050
"""A tool's result in each turn: 50 MB in all."""
SUMMARY_EVERY = 200
APPENDS = 500
SESSIONS = 1_000
TURNS_OF_EACH = 10
START = datetime(2026, 1, 1, tzinfo=UTC)
AGENT = AgentId("bench")
OWNER = Access(AGENT, SessionType.MAIN, PRIVATE, "terminal:0", 0, frozenset())
MAIN = SessionKey(AGENT, "main")


async def run() -> list[Figure]:
    """Return all figures."""
    threads = Threads("transcripts", 4)
    try:
        with tempfile.TemporaryDirectory(prefix="strandline-bench-") as place:
            return [*await _long(Path(place), threads), *await _many(Path(place), threads)]
    finally:
        threads.close()


async def _long(place: Path, threads: Threads) -> list[Figure]:
    """Measure one long conversation with periodic summaries like a gateway's, and one without any."""
    _, never = await _opened(place / "never summarised", 0, threads)
    transcript, summarised = await _opened(place / "summarised", SUMMARY_EVERY, threads)
    appended, bare = await _appends(transcript, place / "bare")
    return [
        *summarised,
        *never,
        Figure("transcripts: append, the 99th percentile", [percentile(appended, 0.99)], "ms", at_most(20)),
        Figure("transcripts: a bare write and fsync beside, 99th", [percentile(bare, 0.99)], "ms"),
        Figure("transcripts: append", appended, "ms"),
        Figure("transcripts: a bare write and fsync beside", bare, "ms"),
    ]


async def _opened(folder: Path, summary_every: int, threads: Threads) -> tuple[Transcript, list[Figure]]:
    """Write a long conversation, and open it several times."""
    _write(folder / "main.jsonl", TURNS, summary_every)
    transcript, opened = await _open(folder, threads), []
    for _ in range(5):
        began = time.perf_counter()
        transcript = await _open(folder, threads)
        opened.append(_ms_since(began))
    goals = (at_most(100), at_most(2)) if summary_every else (None, None)
    return transcript, [
        Figure(f"transcripts: open 50 MB, {folder.name}", opened, "ms", goals[0]),
        Figure(f"transcripts: in memory, {folder.name}", [transcript.size / 1e6], "MB", goals[1]),
    ]


async def _open(folder: Path, threads: Threads) -> Transcript:
    return await Sessions({AGENT: folder}, threads).open(MAIN)


async def _appends(transcript: Transcript, beside: Path) -> tuple[list[float], list[float]]:
    """Append to *transcript* and, alternating, bare bytes to the file *beside*; return the time of each, in ms."""
    reply = ReplyEntry("An answer of ordinary length. " * 10, (), "m", Usage(9, 1))
    line = to_line(Record(TurnId("t"), START, reply))
    appended, bare = [], []
    file = os.open(beside, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        for number in range(APPENDS):
            began = time.perf_counter()
            await transcript.append(TurnId(f"new-{number}"), reply)
            appended.append(_ms_since(began))
            began = time.perf_counter()
            os.write(file, line)
            os.fsync(file)
            bare.append(_ms_since(began))
    finally:
        os.close(file)
    return appended, bare


async def _many(place: Path, threads: Threads) -> list[Figure]:
    """Measure the command line's queries over a thousand conversations, 100 MB, of which half have ended."""
    folder = place / "many"
    for number in range(SESSIONS):
        name = f"guest:telegram.home.{number}"
        ended = f"archive/{name}.20260301T120000{number:06}Z.jsonl"
        _write(folder / (f"{name}.jsonl" if number % 2 else ended), TURNS_OF_EACH, 0)
    store, figures = ConversationList(OWNER, folder, UTC), []
    for order in (SessionsOrder("list"), SessionsOrder("search", query="question 9")):
        began = time.perf_counter()
        await answer_sessions(order, [store], threads)
        figures.append(Figure(f"transcripts: {order.act} {SESSIONS:,} of 100 MB", [_ms_since(began)], "ms"))
    return figures


def _write(path: Path, turns: int, summary_every: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(header(path.stem, START))
        for number in range(turns):
            file.writelines(map(to_line, _turn(number)))
            if summary_every and number % summary_every == summary_every - 1:
                kept = f"t{number - 20}"
                summary = SummaryEntry("What was said before. " * 100, kept, (), from_outside=False, model="m")
                file.write(to_line(Record(TurnId(f"t{number}"), START, summary)))


def _turn(number: int) -> Iterator[Record]:
    at = START + timedelta(minutes=number)
    entries: list[Entry] = [
        UserEntry(f"question {number}", at, "", str(number)),
        ReplyEntry("", (ToolCall("c", "read_file", '{"path":"a.md"}'),), "m", Usage(9, 1)),
        CallStartEntry("c"),
        ResultEntry("c", "read_file", RESULT, is_error=False),
        ReplyEntry(f"answer {number}", (), "m", Usage(9, 1)),
    ]
    return (Record(TurnId(f"t{number}"), at, entry) for entry in entries)


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
