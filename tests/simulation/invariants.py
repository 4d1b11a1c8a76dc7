"""Promises that hold in every world: each message that the platform takes is checked at once, the rest at the end."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gateway.agent.entries import UNFINISHED
from gateway.home import Home
from gateway.stores.rows import StoreReport
from tests.crash.judge import check_files
from tests.simulation.script import GROUP, SECRET, numbers_in
from tests.simulation.world import Shown, World

Line = dict[str, Any]
_REMARKABLE = {
    "it could not be sent earlier": "a late answer says its age",
    "waits for your approval": "a change waits for approval",
    "Stopped.": "a person stops a turn",
    "A new conversation begins": "a person begins a new conversation",
    "Your message is kept": "somebody is told that an answer must wait",
    "I stopped: ": "a turn meets a limit",
}
_LIMITS = ("I stopped: no answer within", "I stopped: list_files was called")
"""Said of a model that hung, and of three messages that were answered together and wanted the same."""


def check_shown(world: World, new: Shown) -> None:
    """Note a private word in a group, an answer in a wrong chat, a second one, and one out of order."""
    if new.chat == GROUP and SECRET in new.text:
        world.fail(f"private memory in a group: {new.text[:200]!r}")
    for words, name in _REMARKABLE.items():
        if words in new.text:
            world.mark(name)
    if "I have lost the conversation" in new.text:
        world.fail("a conversation is said to be lost")
    if "as approved in" in new.text and "a restart with a change waiting for approval" in world.marks:
        world.mark("an approval after a restart")
    for number in numbers_in(new.text):
        asked = next((each for each in world.script[: world.said] if each.number == number), None)
        if asked is None or asked.chat != new.chat:
            world.fail(f"answer {number} in chat {new.chat}, where nobody asked for it")
            continue
        earlier = [each for each in world.shown[:-1] if each.chat == new.chat]
        if any(number in numbers_in(each.text) and each.turn != new.turn for each in earlier):
            world.fail(f"message {number} is answered by two turns")
        _check_order(world, number, new, [n for each in earlier for n in numbers_in(each.text)])
    if len(numbers_in(new.text)) > 1:
        world.mark("one turn answers several messages")


def _check_order(world: World, number: int, new: Shown, before: list[int]) -> None:
    person = {each.number: each.person for each in world.script}
    later = [n for n in before if n > number and person[n] == person[number]]
    if number not in before and later:
        world.fail(f"answer {number} in chat {new.chat} comes after {later[0]}")


def check_end(world: World, home: Home, report: StoreReport) -> None:
    """Note everything that is not as it should be once all faults are over and the last gateway has stopped."""
    numbers = {each.number for each in world.script if each.number}
    lines = [line for path in transcripts(home) for line in _lines(path)]
    turns = {number: line["turn"] for line in lines if line["type"] == "user" for number in _numbers(line)}
    texts = {number: [each.text for each in world.shown if each.turn == turn] for number, turn in turns.items()}
    answered = {number for number, found in texts.items() if found}
    for number, found in texts.items():
        is_due = found and number not in world.excused
        if is_due and not any(number in numbers_in(text) or any(said in text for said in _LIMITS) for text in found):
            world.fail(f"message {number} is answered by {found[0]!r:.100}")
    if missing := numbers - answered - world.excused:
        world.fail(f"never answered: {sorted(missing)}")
    waiting = report.inbox_waiting, report.outbox_queued, report.outbox_dead, report.quarantined
    if waiting != (0, 0, 0, 0):
        world.fail(f"inbox, outbox, dead letters, quarantine: {waiting}")
    _check_doubles(world, report)
    _check_transcripts(world, lines)
    _check_notes(world, home, lines)
    try:
        check_files(home)
    except AssertionError as exc:
        world.fail(f"history and files differ: {exc}"[:300])


def _check_doubles(world: World, report: StoreReport) -> None:
    # The sentence that a part is late is not counted: after a restart it may stand before that part again.
    shown = Counter((each.chat, each.key) for each in world.shown if ".note" not in each.key)
    unsure = Counter(int(each.address.chat) for each in report.unsure)
    for chat in {chat for chat, _ in shown}:
        doubles = sum(count - 1 for (where, _), count in shown.items() if where == chat)
        if doubles > unsure[chat]:
            world.fail(f"{doubles} doubles in chat {chat}, {unsure[chat]} sends listed as unsure")


def _check_transcripts(world: World, lines: list[Line]) -> None:
    said = Counter(number for line in lines if line["type"] == "user" for number in _numbers(line))
    for number, times in said.items():
        if times > 1:
            world.fail(f"message {number} stands {times} times in the transcripts")
    ids = Counter(line["entry"]["message_id"] for line in lines if line["type"] == "user" and line["turn"] != "log")
    if again := [each for each, times in ids.items() if times > 1]:
        world.fail(f"messages that stand twice in the transcripts: {again}")
    if missing := set(world.accepted) - set(said) - world.excused:
        world.fail(f"not in the transcripts: {sorted(missing)}")
    for kind in ("start", "result"):
        calls = Counter(line["entry"]["call_id"] for line in lines if line["type"] == kind)
        if again := [call for call, times in calls.items() if times > 1]:
            world.fail(f"several records of a {kind}: {again}")
    replies = [line for line in lines if line["type"] == "reply"]
    cut = {line["turn"] for line in replies if line["entry"]["model"] == UNFINISHED}
    called = {call["id"] for line in replies if line["turn"] not in cut for call in line["entry"]["calls"]}
    ended = {line["entry"]["call_id"] for line in lines if line["type"] == "result"}
    if open_ := called - ended:
        world.fail(f"calls without an outcome: {sorted(open_)}")
    finals = Counter(n for line in replies for n in numbers_in(line["entry"]["text"]))
    if again := [number for number, times in finals.items() if times > 1]:
        world.fail(f"processed twice: {again}")


def _check_notes(world: World, home: Home, lines: list[Line]) -> None:
    notes = "".join(path.read_text() for path in home.agent("main").workspace.rglob("*.md"))
    done = [line["entry"] for line in lines if line["type"] == "result" and line["entry"]["name"] == "add_note"]
    sure = {id_[1] for each in done if not each["is_error"] and len(id_ := each["call_id"].split("_")) > 2}
    for each in world.script:
        times = notes.count(f"noted-for-{each.number}.")
        if times > 1:
            world.fail(f"note {each.number} stands {times} times")
        if str(each.number) in sure and not times:
            world.fail(f"note {each.number} is lost")


def _numbers(line: Line) -> Iterator[int]:
    first, *_ = line["entry"]["text"].split("\n")[-1].split() or [""]
    if first.isdecimal():
        yield int(first)


def transcripts(home: Home) -> Iterator[Path]:
    """Yield the transcripts of all conversations, ended ones too."""
    yield from sorted(home.agent("main").sessions.rglob("*.jsonl"))


def _lines(path: Path) -> Iterator[Line]:
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            raise AssertionError(f"{path.name} has a line that is none") from None
