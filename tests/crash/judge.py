"""Judgement of a home and of the messages shown after a fault: each message answered once, in order."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec import structs

from gateway.agent.entries import Entry, UserEntry
from gateway.agent.receipts import ReceiptLevel, receipt_line
from gateway.home import Home
from gateway.stores.rows import StoreReport
from gateway.transcripts.codec import numbered_records
from tests.crash.platform import Platform, without_receipt
from tests.crash.running import answer_to, content_of, file_of, note_of
from workspaces.access import AgentId, owner_access
from workspaces.files import Folder
from workspaces.history.repository import Repository
from workspaces.history.tracked_files import Looks, differing

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """What one chat was told by a person: numbers of messages with their orders."""

    chat: int
    session: str
    """The name of the session's transcript, without its ending."""
    messages: Sequence[tuple[int, str]]

    def and_then(self, number: int, orders: str) -> "Told":
        """Return this with one more message."""
        return replace(self, messages=(*self.messages, (number, orders)))

    def say(self, platform: Platform) -> None:
        """Let the person write it all."""
        for number, orders in self.messages:
            platform.says(f"{number} {orders}".strip(), self.chat)


def answers(platform: Platform, told: Told) -> list[str]:
    """Return the answers that the chat was shown; a notice that something is delayed is none."""
    return [without_receipt(text) for text in platform.shown(told.chat) if text.startswith("Done")]


def doubles(platform: Platform, told: Told) -> int:
    """Return how many answers came twice; fails unless each came, and in order."""
    shown = answers(platform, told)
    assert [text for text, _ in groupby(shown)] == [answer_to(number) for number, _ in told.messages]
    return len(shown) - len(told.messages)


def check_receipts(home: Home, platform: Platform, told: Told) -> None:
    """Fail unless the line below each answer tells what the journal and the files tell, whatever was interrupted."""
    path = home.agent("main").sessions / f"{told.session}.jsonl"
    turns: dict[str, list[Entry]] = {}
    with path.open("rb") as lines:
        for _, record in numbered_records(lines):
            if isinstance(record.entry, Entry):
                turns.setdefault(record.turn_id, []).append(record.entry)
    journal = {
        entries[0].text: receipt_line(entries, owner_access(AgentId("main"), "judge"), ReceiptLevel.SHORT)
        for entries in turns.values()
        if isinstance(entries[0], UserEntry)
    }
    for number, orders in told.messages:
        answer, line = answer_to(number), journal[f"{number} {orders}".strip()]
        shown = {text.replace("`", "") for text in platform.shown(told.chat) if text.startswith(answer)}
        assert shown == {f"{answer}\n\n{line}".replace("`", "") if line else answer}
        wrote = (home.agent("main").workspace / file_of(number)).exists()
        assert ("✓ wrote 1 file" in line) <= wrote <= any(each in line for each in ("wrote", "? `write_file`"))
        assert not (wrote and "✗ `write_file` failed" in line)


def check_transcript(home: Home, told: Told) -> None:
    """Fail unless the conversation holds each message once, in order, and each call with one outcome.

    Commands are left out.
    """
    lines = _talk(home, told)
    said = [line["entry"]["text"] for line in lines if line["type"] == "user"]
    assert said == [f"{number} {orders}".strip() for number, orders in told.messages]
    spoken = [line["entry"]["text"] for line in lines if line["type"] == "reply" and not line["entry"]["calls"]]
    assert spoken == [answer_to(number) for number, _ in told.messages]
    called = [call["id"] for line in lines if line["type"] == "reply" for call in line["entry"]["calls"]]
    assert Counter(_call_ids(lines, "start")) == Counter(_call_ids(lines, "result")) == Counter(called)
    assert len(called) == sum(len(orders.split()) for _, orders in told.messages)


def check_effects(home: Home, tolds: Iterable[Told]) -> None:
    """Fail unless each order was carried out once; at most once, if its call failed or was interrupted."""
    notes = "".join(path.read_text() for path in home.agent("main").workspace.glob("memory/**/*.md"))
    for told in tolds:
        sure = {line["turn"]: 0 for line in _talk(home, told) if line["type"] == "user"}
        outcomes = [line for line in _talk(home, told) if line["type"] == "result"]
        for turn, (number, orders) in zip(sure, told.messages, strict=True):
            mine = {line["entry"]["name"]: not line["entry"]["is_error"] for line in outcomes if line["turn"] == turn}
            file = home.agent("main").workspace / file_of(number)
            if "write" in orders:
                assert file.exists() or not mine["write_file"]
                assert not file.exists() or file.read_text() == content_of(number)
            if "note" in orders:
                assert notes.count(note_of(number)) in ({1} if mine["add_note"] else {0, 1})


def check_saved(home: Home, told: Told) -> int:
    """Fail unless what stands for older text was noted before, and all but the latest message in the end.

    Each note stands where its receipt says; return how many have one.
    """
    notes, unsaved = 0, {number for number, _ in told.messages[:-1]}
    for line in transcript(home, told.session):
        if line["type"] == "flush":
            for citation in line["entry"]["citations"]:
                path, _, place = citation.partition("#L")
                noted = (home.agent("main").workspace / path).read_text().splitlines()[int(place) - 1]
                last = int(noted.rpartition("saved-after-")[2].rstrip("."))
                unsaved -= set(range(last + 1))
                notes += 1
        if line["type"] == "summary":
            assert not unsaved & set(range(_first_kept(home, told, line["entry"]["kept_from"]))), line
    assert not unsaved
    return notes


def _talk(home: Home, told: Told) -> list[Line]:
    """Return the records of the conversation but for those of commands."""
    lines = transcript(home, told.session)
    commands = {line["turn"] for line in lines if line["type"] == "user" and line["entry"]["text"].startswith("/")}
    return [line for line in lines if line.get("turn") not in commands]


def _first_kept(home: Home, told: Told, turn: str) -> int:
    """Return the number of the first message that a summary does not stand for."""
    said = [line for line in transcript(home, told.session) if line["type"] == "user"]
    place = next(place for place, line in enumerate(said) if line["turn"] == turn)
    later = (line["entry"]["text"].split()[0] for line in said[place:])
    return next((int(word) for word in later if word.isdecimal()), len(said))


def check_files(home: Home) -> None:
    """Fail unless the history holds the files as they are, and nothing half-made is left beside them."""
    workspace = home.agent("main").workspace
    assert not list(workspace.rglob(".strandline-*"))
    repository = Repository(home.agent("main").history, AgentId("main"))
    known = repository.files(repository.head())
    folder = Folder(workspace)
    try:
        assert differing(folder, known, repository.id_of, Looks()) == {}
    finally:
        folder.close()


def check_report(report: StoreReport) -> None:
    """Fail if anything waits or was given up."""
    assert (report.inbox_waiting, report.outbox_queued, report.outbox_dead) == (0, 0, 0)


def transcript(home: Home, session: str) -> list[Line]:
    """Return the records of a session's transcript; every line is whole."""
    path = home.agent("main").sessions / f"{session}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def everything(home: Home, platform: Platform, tolds: Iterable[Told], report: StoreReport) -> object:
    """Return all that a second recovery must leave as it is; Discord may replay messages, which are known then."""
    report = structs.replace(
        report, reasons={code: count for code, count in report.reasons.items() if code != "duplicate"}
    )
    workspace, sessions = home.agent("main").workspace, home.agent("main").sessions
    head = Repository(home.agent("main").history, AgentId("main")).head()
    return report, head, _contents(workspace), _contents(sessions), [platform.shown(told.chat) for told in tolds]


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _call_ids(lines: Iterable[Line], kind: str) -> list[str]:
    return [line["entry"]["call_id"] for line in lines if line["type"] == kind]
