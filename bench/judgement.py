"""Judgement of the messages shown to people: each message answered, once, in the order of its chat.

A message is identified by its number, which the model repeats; an answer may stand for several waiting messages.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.fakes.provider_stub import Body, without_note

_ASKED = re.compile(r"\bQuestion (\d+)\b")
_ANSWERED = re.compile(r"\bAnswer to (\d+)\b")


@dataclass(frozen=True, slots=True)
class Said:
    """A person's message, and the time at which the platform had it for the bot."""

    chat: int
    number: int
    at: float


@dataclass(frozen=True, slots=True)
class Shown:
    """A message shown in a chat, with its time."""

    chat: int
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """Violations, message by message, and the time to each answer."""

    lost: tuple[Said, ...]
    """Messages without an answer in their chat."""
    doubled: tuple[Said, ...]
    """Messages with repeated answers, once per repetition."""
    reordered: tuple[Said, ...]
    """Messages answered after a later one of their chat."""
    strange: tuple[Shown, ...]
    """Messages shown that answer nothing in that chat."""
    waits: tuple[float, ...]
    """Seconds from each message to its first answer."""


def question(number: int) -> str:
    """Return the text of message *number*."""
    return f"Question {number}: how far is the harbour from here?"


def repeated(body: Body) -> str:
    """Answer, as the model of a load, all questions since its last answer; it has nothing to note."""
    return "\n".join(f"Answer to {number}." for number in asked_last(body)) or "NO_REPLY"


def asked_last(body: Body) -> list[int]:
    """Return the numbers of the open questions in *body*, a request of OpenAI's protocol."""
    asked: list[int] = []
    for message in reversed(body["messages"]):
        if message["role"] == "assistant":
            break
        if message["role"] == "user":
            asked[:0] = asked_in(without_note(message["content"]))
    return asked


def asked_in(text: str) -> list[int]:
    """Return the numbers of the questions in *text*."""
    return [int(number) for number in _ASKED.findall(text)]


def answered_in(text: str) -> list[int]:
    """Return the numbers answered in *text*."""
    return [int(number) for number in _ANSWERED.findall(text)]


def judge(said: Sequence[Said], shown: Iterable[Shown]) -> Judgement:
    """Compare *said* with *shown*, both in chronological order."""
    known = {(each.chat, each.number): each for each in said}
    answers: Counter[Said] = Counter()
    latest: dict[int, int] = {}
    reordered, strange, waits = [], [], []
    for each in shown:
        found = [known.get((each.chat, number)) for number in answered_in(each.text)]
        asked = [one for one in found if one is not None]
        if not asked or len(asked) < len(found):
            strange.append(each)
        for one in asked:
            answers[one] += 1
            if answers[one] > 1:
                continue
            waits.append(each.at - one.at)
            if one.number < latest.setdefault(one.chat, one.number):
                reordered.append(one)
            latest[one.chat] = max(one.number, latest[one.chat])
    lost = tuple(each for each in said if each not in answers)
    doubled = tuple(each for each, count in answers.items() for _ in range(count - 1))
    return Judgement(lost, doubled, tuple(reordered), tuple(strange), tuple(waits))
