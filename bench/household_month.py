"""Benchmark of memory over a household's month: lived through the gateway day by day, then asked about.

    python -m bench.household_month             # --home DIR keeps the home; --questions FILE; --misses shows each miss
    python -m bench.household_month --talk bench/workshop         # a smaller one: five weeks of a bicycle workshop

The talk was written by hand, as it comes: typos, several languages, changes of mind, small talk, questions for the
agent. Every third day ends with `/new`, every fourth with `/compact`, each with a restart.
"""

import argparse
import asyncio
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import fmean

from gateway.agent.recall import RecallSettings, recall
from gateway.app.app import App
from gateway.app.resources import Machine
from gateway.control.stream_wire import ChatOrder
from gateway.home import Home
from tests.fakes.clock import ManualClock
from tests.journeys.house import make_home, running
from workspaces.access import owner_access
from workspaces.memory.hits import Hit
from workspaces.memory.query import Query
from workspaces.memory.text.dialogue import read_line
from workspaces.memory.text.tokens import terms

MONTH = Path(__file__).parent / "month"
SHOWN = 5
"""Results that somebody looks at."""
_NEW, _COMPACT = 3, 4
"""Intervals, in days, of ended and of summarised conversations."""
_FEWEST_TERMS = 2
"""Terms of a line below which it says nothing: junk as a result."""
_FIRST_HOUR, _MINUTES_APART = 7, 40


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the talk."""

    text: str
    is_question: bool
    """Marked by hand, with `? ` before it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about the month."""

    kind: str
    text: str
    pieces: tuple[str, ...]
    """Parts of the passages that answer it."""
    outdated: str
    """A part of the passage with an earlier value; empty without one."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The results for one question."""

    asked: Asked
    first: float
    """Share of the pieces in the first result; 1 for any one piece in the order of the pieces of a list."""
    five: float
    """Share of the pieces in the first five."""
    recalled: float
    """Share of the pieces in the prompt, by automatic recall."""
    questions: int
    """Results among the first five that are questions of the talk."""
    junk: int
    results: int
    is_outdated_first: bool
    """The outdated value is above the current one, or alone."""
    is_outdated_alone: bool
    """Automatic recall brings the outdated value and not the current one."""
    shown: tuple[str, ...]


def read_talk(file: Path) -> dict[date, list[Said]]:
    """Return the messages in *file* by day."""
    days = {}
    for part in re.split(r"^= ", file.read_text(), flags=re.MULTILINE)[1:]:
        day, *lines = part.splitlines()
        days[date.fromisoformat(day)] = [Said(line.removeprefix("? "), line.startswith("? ")) for line in lines]
    return days


def read_questions(file: Path) -> list[Asked]:
    """Return the questions in *file*."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return list(map(_asked, lines))


def _asked(line: str) -> Asked:
    kind, text, pieces, outdated, *_ = (*(part.strip() for part in line.split(" | ")), "")
    return Asked(kind, text, tuple(piece.casefold() for piece in pieces.split(" + ")), outdated.strip("| ").casefold())


async def live(home: Home, days: dict[date, list[Said]]) -> None:
    """Say everything of *days*, each with a start of the gateway of its own."""
    for number, (day, messages) in enumerate(days.items(), 1):
        clock = ManualClock(datetime(day.year, day.month, day.day, _FIRST_HOUR, tzinfo=UTC))
        async with running(home, machine=Machine(clock)) as app:
            for each in messages:
                await _say(app, each.text)
                clock.advance(60 * _MINUTES_APART)
            for command in ["/new"] * (number % _NEW == 0) or ["/compact"] * (number % _COMPACT == 0):
                await _say(app, command)


async def _say(app: App, text: str) -> None:
    async def ignore(_: str, __: bool) -> None: ...

    await app.operator.chat(ChatOrder(text), ignore)


async def ask(home: Home, questions: Sequence[Asked], said: Sequence[Said], now: datetime) -> list[Answered]:
    """Return the results of *questions* in *home*."""
    asked_before = {_folded(each.text) for each in said if each.is_question}
    async with running(home, machine=Machine(ManualClock(now))) as app:
        [agent] = app.operator.agents
        await agent.memory.sync()
        access = owner_access(agent.id, "bench")
        answered = []
        for each in questions:
            hits = (await agent.memory.search(Query(each.text, SHOWN), access)).hits
            settings = RecallSettings(deadline_s=5)
            brought = await recall(each.text, agent.memory, access, settings, (), now.date())
            answered.append(judge(each, hits, brought.text(), asked_before))
    return answered


def judge(asked: Asked, hits: Sequence[Hit], recalled: str, asked_before: set[str]) -> Answered:
    """Compare the results for *asked* with its answer."""
    texts = [_folded(hit.passage) for hit in hits[:SHOWN]]
    said = [_folded(read_line(hit.snippet).text) for hit in hits[:SHOWN]]
    places = [place for place, text in enumerate(texts) if any(piece in text for piece in asked.pieces)]
    brought = _folded(recalled)
    old = [place for place, text in enumerate(texts) if asked.outdated and asked.outdated in text]
    return Answered(
        asked=asked,
        first=float(bool(places) and places[0] == 0),
        five=_share(asked, " ".join(texts)),
        recalled=_share(asked, brought),
        questions=sum(text in asked_before for text in said),
        junk=sum(len(set(terms(text))) < _FEWEST_TERMS for text in said),
        results=len(texts),
        is_outdated_alone=bool(asked.outdated) and asked.outdated in brought and not _share(asked, brought),
        is_outdated_first=bool(old) and old[0] < min(places, default=SHOWN),
        shown=tuple(hit.passage for hit in hits[:SHOWN]),
    )


def _share(asked: Asked, text: str) -> float:
    return fmean(piece in text for piece in asked.pieces)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def figures(answered: Sequence[Answered]) -> dict[str, float]:
    """Return the figures of *answered*, in per cent; those of outdated values are counts."""
    results = max(sum(each.results for each in answered), 1)
    changed = [each for each in answered if each.asked.outdated]
    return {
        "questions": len(answered),
        "R@1": 100 * fmean(each.first for each in answered),
        "R@5": 100 * fmean(each.five for each in answered),
        "in the prompt": 100 * fmean(each.recalled for each in answered),
        "questions among results": 100 * sum(each.questions for each in answered) / results,
        "junk among results": 100 * sum(each.junk for each in answered) / results,
        "outdated first": sum(each.is_outdated_first for each in changed),
        "outdated alone in the prompt": sum(each.is_outdated_alone for each in changed),
        "of": len(changed),
    }


def _table(answered: Sequence[Answered]) -> Iterator[str]:
    names = list(figures(answered))
    yield f"| kind | {' | '.join(names)} |"
    yield f"| {' | '.join(['---'] * (len(names) + 1))} |"
    for kind in ["all", *dict.fromkeys(each.asked.kind for each in answered)]:
        some = [each for each in answered if kind in {"all", each.asked.kind}]
        yield f"| {kind} | {' | '.join(f'{value:.1f}'.removesuffix('.0') for value in figures(some).values())} |"


def _misses(answered: Sequence[Answered]) -> Iterator[str]:
    for each in answered:
        if each.first < 1 or each.five < 1 or each.is_outdated_first or each.recalled < 1:
            marks = f"R@1 {each.first:.0f} R@5 {each.five:.2f} prompt {each.recalled:.2f}"
            yield f"\n[{each.asked.kind}] {each.asked.text} -> {each.asked.pieces} {marks}"
            yield from (f"    {text[:110]}" for text in each.shown)


async def run(home: Path, folder: Path, questions: Path, *, misses: bool) -> str:
    """Return a table, after living the talk of *folder* in *home* unless it has been lived there."""
    talk = read_talk(folder / "talk.txt")
    lived = Home(home)
    if not lived.config_file.exists():
        await live(make_home(home), talk)
    now = datetime.combine(max(talk), datetime.min.time(), UTC) + timedelta(days=1, hours=9)
    said = [each for messages in talk.values() for each in messages]
    answered = await ask(lived, read_questions(questions), said, now)
    return "\n".join([*_table(answered), *(_misses(answered) if misses else [])])


async def _main() -> None:
    parser = argparse.ArgumentParser(prog="bench.household_month")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--talk", type=Path, default=MONTH, help="a folder with talk.txt and questions.txt")
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args()
    async with AsyncExitStack() as stack:
        home = given.home or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "home"
        questions = given.questions or given.talk / "questions.txt"
        print(await run(home, given.talk, questions, misses=given.misses))


if __name__ == "__main__":
    asyncio.run(_main())
