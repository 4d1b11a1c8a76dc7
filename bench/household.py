"""An owner's day in a loop: the household's messages, the model's answers, the owner's edits."""

import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from bench.loopback import Recorder
from bench.talk import prose
from gateway.home import AgentHome
from gateway.sessions.flush import AGAIN, PROMPT
from tests.fakes.keeping import SUMMARY
from tests.fakes.provider_stub import Body, Call, Reply, Step, without_note
from tests.fakes.telegram import Fault
from tests.journeys.house import OWNER

CHATS = 8
"""Number of chats: the owner's own, the others groups."""
_WORDS_SAID, _WORDS_ANSWERED = 50, 90
_LATEST = 20
"""Number of a request's last messages searched for an order to save notes."""
KEPT_LINES, KEPT_FILES = 60, 6
"""Lines of a day's notes, notes in a folder and ended conversations that the owner keeps: growth with the amount of
stored data is no leak. A household is in balance once there are so many, after some 1,200 messages; from then on as
much is deleted as is noted.
"""
_SLUG = "Name the conversation"
_OUTAGES = (
    Fault("getUpdates", drops=True),
    Fault("getUpdates", status=502, body="<html>Bad Gateway</html>"),
    Fault("sendMessage", status=429, description="Too Many Requests", parameters={"retry_after": 1}),
)


def chats_of(number: int) -> list[int]:
    """Return *number* chats: the owner's own, and groups."""
    return [OWNER, *range(1 - number, 0)]


def sayings(dice: random.Random, chats: Sequence[int], *, ends: bool = True) -> Iterator[tuple[int, str]]:
    """Yield messages with their chats, endlessly: talk, notes, searches, commands, new conversations if one *ends*."""
    for number in count():
        chat = chats[number % len(chats)]
        match number // len(chats) % 24:
            case 3 | 13:
                yield chat, f"note: {prose(dice, 12)}"
            case 6 | 16 | 20:
                yield chat, f"search: {prose(dice, 3)}"
            case 9:
                yield chat, "/context"
            case 15:
                yield chat, "/status" if chat == OWNER else "/help"  # a group does not get the gateway's status
            case 23 if ends:
                yield chat, "/new"
            case _:
                yield chat, prose(dice, _WORDS_SAID)


class Script:
    """The model: it notes and searches on request, summarises, and otherwise talks."""

    def __init__(self) -> None:
        self._dice = random.Random(5)
        self._calls = count()

    def __call__(self, body: Body) -> Step:
        messages = body["messages"]
        system = str(messages[0]["content"])
        if system.startswith("Summarise"):
            return SUMMARY
        if system.startswith(_SLUG):
            return "a-talk"
        if messages[-1]["role"] == "tool":
            return "NO_REPLY" if _is_flush(messages) else "That is done."
        if _is_flush(messages):
            return self._call("add_note", text=prose(self._dice, 12))
        match without_note(str(messages[-1]["content"])).rpartition("note: ")[1:]:
            case ["note: ", text]:
                return self._call("add_note", text=text)
        asked = without_note(str(messages[-1]["content"])).rpartition("search: ")
        return self._call("memory_search", query=asked[2]) if asked[1] else prose(self._dice, _WORDS_ANSWERED)

    def _call(self, name: str, **arguments: object) -> Reply:
        return Reply(calls=(Call(name, json.dumps(arguments), f"call_{next(self._calls)}"),))


def _is_flush(messages: list[Body]) -> bool:
    return any(prompt in str(each.get("content")) for each in messages[-_LATEST:] for prompt in (PROMPT, AGAIN))


async def write(bot: Recorder, said: Iterator[tuple[int, str]], a_second: float, over: asyncio.Event) -> int:
    """Send the household's messages from *said* until it is *over*; return their number."""
    for number in count():
        try:
            async with asyncio.timeout(1 / a_second):
                await over.wait()
                return number
        except TimeoutError:
            chat, text = next(said)
            bot.says(chat, text, user_id=OWNER, chat_type="private" if chat == OWNER else "supergroup")
    raise AssertionError("unreachable")


async def disturb(bot: Recorder, every_s: float, over: asyncio.Event) -> None:
    """Let the platform fail at intervals until it is *over*."""
    for number in count():
        try:
            async with asyncio.timeout(every_s):
                await over.wait()
                return
        except TimeoutError:
            bot.fault(_OUTAGES[number % len(_OUTAGES)])


async def tidy(agent: AgentHome, every_s: float, over: asyncio.Event) -> None:
    """Let the owner tidy up at intervals until it is *over*."""
    while True:
        try:
            async with asyncio.timeout(every_s):
                await over.wait()
                return
        except TimeoutError:
            await asyncio.to_thread(tidy_once, agent)


def tidy_once(agent: AgentHome) -> None:
    """Keep only the newest lines of each file of notes, and the newest files of notes and of ended conversations."""
    notes = agent.workspace / "memory"
    for folder in (agent.archive, notes, *(path for path in notes.rglob("*") if path.is_dir())):
        files = sorted((path for path in folder.glob("*.*") if path.is_file()), key=lambda file: file.stat().st_mtime)
        for file in files[:-KEPT_FILES]:
            file.unlink()
    for file in notes.rglob("*.md"):
        _shorten(file)


def _shorten(file: Path) -> None:
    """Save like an editor: to a temporary file, then renamed."""
    lines = file.read_text().splitlines(keepends=True)
    if len(lines) > KEPT_LINES:
        draft = file.with_suffix(".draft")
        draft.write_text("".join(lines[-KEPT_LINES:]))
        draft.replace(file)
