"""Benchmark of a long conversation with planted facts, replayed through a gateway and a loopback model.

The model is scripted: it answers, summarises on request, and in a flush notes the planted facts that it sees and has
not noted yet. So the figures show the content of requests and the results of memory, not a model's cleverness.
"""

import json
import random
import tempfile
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from bench.figures import Figure, at_least, at_most
from gateway.app.app import App
from gateway.control.stream_wire import ChatOrder
from gateway.control.wire import SearchOrder
from gateway.sessions.flush import AGAIN, PROMPT
from tests.fakes.keeping import SUMMARY
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Call, Reply, Step
from tests.journeys.house import make_home, openai_section, running

TURNS = 300
PLANTED = 60
_WINDOW = 32_000
_SHOWN = 6
"""Hits of a search for a model, by default."""
# fmt: off
_WORDS = (
    "harbour", "boat", "morning", "letter", "garden", "bridge", "winter", "kitchen", "market", "train", "paper",
    "window", "river", "evening", "music", "lantern", "village", "summer", "mountain", "coffee", "baker", "street",
    "museum", "ticket", "ladder", "orchard", "blanket", "compass", "theatre", "shelf",
)
# fmt: on
_THINGS = ("locker", "bicycle", "cellar", "safe", "alarm", "gate", "printer", "garage", "archive", "piano")
_NAMES = ("Ann", "Bela", "Chidi", "Dora", "Emre", "Farida")


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that was mentioned once."""

    said: str
    question: str
    answer: str


@dataclass(slots=True)
class Replay:
    """Result of a replay; sizes in characters of the requests as sent."""

    first: list[bool] = field(default_factory=list)
    """For each request of a turn: whether it was the first after a summary."""
    before: list[int] = field(default_factory=list)
    """The size of the request before."""
    shared: list[int] = field(default_factory=list)
    """Length of the prefix shared with the previous request."""
    sent: int = 0
    """Total of all requests: turns, flushes, summaries."""
    everything: int = 0
    """Size of the turns' requests if they had contained the whole conversation."""
    summaries: int = 0
    found: int = 0
    planted: int = 0

    @property
    def prefix_share(self) -> float:
        """Share of the turns' requests, between two summaries, with which the next one begins."""
        kept = [(a, b) for a, b, is_first in zip(self.shared, self.before, self.first, strict=True) if not is_first]
        return sum(a for a, _ in kept) / sum(b for _, b in kept)


def planted(count: int) -> list[Fact]:
    """Return *count* facts, no two of them alike."""
    facts = []
    for number in range(count):
        thing, name = _THINGS[number % len(_THINGS)], _NAMES[number // len(_THINGS) % len(_NAMES)]
        code = f"{chr(65 + number % 26)}{chr(65 + number * 7 % 26)}-{1_000 + number * 137}"
        said = f"The code of the {thing} of {name} is {code}."
        facts.append(Fact(said, f"What is the code of the {thing} of {name}?", code))
    return facts


class NotingModel:
    """The script of the loopback model."""

    def __init__(self, facts: list[Fact]) -> None:
        self._facts = facts
        self._noted: set[str] = set()
        self._random = random.Random(7)
        self.kinds: list[str] = []
        """The kind of each request: `turn`, `flush` or `summary`."""

    def __call__(self, body: Body) -> Step:
        if str(body["messages"][0]["content"]).startswith("Summarise"):
            self.kinds.append("summary")
            return SUMMARY
        if any(prompt in str(m.get("content")) for m in body["messages"][-20:] for prompt in (PROMPT, AGAIN)):
            self.kinds.append("flush")
            return self._note(body)
        self.kinds.append("turn")
        return prose(self._random, 60)

    def _note(self, body: Body) -> Step:
        said = "\n".join(str(message.get("content")) for message in body["messages"])
        new = [fact for fact in self._facts if fact.said in said and fact.said not in self._noted]
        self._noted.update(fact.said for fact in new)
        calls = tuple(Call("add_note", json.dumps({"text": fact.said}), f"n_{fact.answer}") for fact in new)
        return Reply(calls=calls) if calls else "NO_REPLY"


def prose(words: random.Random, count: int) -> str:
    """Return *count* meaningless words."""
    return " ".join(words.choice(_WORDS) for _ in range(count))


async def replay(folder: Path, turns: int = TURNS, facts: int = PLANTED) -> Replay:
    """Talk for *turns* turns in a home in *folder*, with each of *facts* mentioned once; then search for each."""
    known, words = planted(facts), random.Random(3)
    model = NotingModel(known)
    async with OpenAIStub(model) as provider:
        home = make_home(folder / "home", model=f"{openai_section(provider.url)}\nwindow_tokens = {_WINDOW}")
        async with running(home) as app:
            for number in range(turns):
                fact = known[number * facts // turns] if number * facts % turns < facts else None
                text = f"{number}: {prose(words, 40)}. {fact.said if fact else ''} {prose(words, 40)}."
                await app.operator.chat(ChatOrder(text), _unread)
            asked = list(provider.bodies)
            done = _weighed(asked, model.kinds)
            await app.operator.chat(ChatOrder("/new"), _unread)
            await _search(app, known, done)
    return done


async def _unread(_text: str, _is_answer: bool) -> None:
    """No-op listener."""


async def _search(app: App, facts: list[Fact], done: Replay) -> None:
    done.planted = len(facts)
    for fact in facts:
        found = await app.operator.ask(SearchOrder(fact.question, max_results=_SHOWN))
        done.found += any(fact.answer in hit.snippet for hit in found.hits)


def _weighed(bodies: list[Body], kinds: list[str]) -> Replay:
    done = Replay(sent=sum(map(len, map(_text, bodies))), summaries=kinds.count("summary"))
    turns = [(place, _text(body)) for place, body in enumerate(bodies) if kinds[place] == "turn"]
    history = 0
    base = len(turns[0][1])
    for (before_at, before), (at, text) in pairwise(turns):
        done.first.append("summary" in kinds[before_at:at])
        done.before.append(len(before))
        done.shared.append(_common(before, text))
        history += len(str(bodies[at]["messages"][-1])) + len(str(bodies[at]["messages"][-2]))
        done.everything += base + history
    return done


def _text(body: Body) -> str:
    """Return a request in the order of a provider's reading: tools, instructions, conversation."""
    return json.dumps([body.get("tools"), body["messages"]], ensure_ascii=False)


def _common(one: str, other: str) -> int:
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if one[:middle] == other[:middle] else (least, middle - 1)
    return least


async def run() -> list[Figure]:
    """Return the figures of this bench."""
    with tempfile.TemporaryDirectory() as name:
        done = await replay(Path(name))
    return [
        Figure(f"{TURNS} turns: of a request, in the next", [100 * done.prefix_share], "%", at_least(99)),
        Figure(f"{TURNS} turns: sent, of sending everything", [100 * done.sent / done.everything], "%", at_most(40)),
        Figure(f"{TURNS} turns: planted facts found", [100 * done.found / done.planted], "%", at_least(95)),
        Figure(f"{TURNS} turns: summaries", [done.summaries], ""),
    ]
