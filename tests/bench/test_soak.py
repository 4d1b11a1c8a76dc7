"""Distinction of growth from noise in the soak bench, and a gateway run of some seconds."""

import math
import os
import random
import shutil
from pathlib import Path

import pytest

from bench.household import CHATS, KEPT_FILES, KEPT_LINES, Script, chats_of, sayings, tidy_once
from bench.index_size import IndexSize, blocks, megabytes
from bench.observed import Sample
from bench.slope import slope
from bench.soak import ENDLESS_MB_AN_HOUR, MB_AN_HOUR, OWN_MB_A_FRESH_PASSAGE, Kept, Lived, Plan, run
from gateway.home import Home
from gateway.sessions.flush import PROMPT
from tests.fakes.provider_stub import Body, Reply
from tests.journeys.house import OWNER


def half_an_hour(growth_mb: float, noise_mb: float) -> list[tuple[float, float]]:
    """Return memory as it would be seen every five seconds."""
    dice = random.Random(1)
    return [(at, 200 + growth_mb * at / 3600 + dice.gauss(0, noise_mb)) for at in range(0, 1800, 5)]


def test_a_line_is_found_through_exact_samples() -> None:
    """Seven units a second, without an error."""
    found = slope([(at, 3 + 7 * at) for at in range(100)])
    assert found.value == pytest.approx(7)
    assert found.error == pytest.approx(0, abs=1e-9)


def test_growth_is_told_from_noise() -> None:
    """Five MB an hour show within half an hour; none among as much noise do not."""
    limit = MB_AN_HOUR / 3600
    assert slope(half_an_hour(5, 0.5)).is_above(limit)
    assert not slope(half_an_hour(0, 0.5)).is_above(limit)
    assert not slope(half_an_hour(0.5, 0.5)).is_above(limit)
    unclear = slope(half_an_hour(1.5, 5))
    assert unclear.value > limit
    assert not unclear.is_above(limit)


def test_samples_that_are_alike_do_not_feign_certainty() -> None:
    """A value that wanders is no line, however many samples there are of it."""
    dice, value, wandered = random.Random(2), 200.0, []
    for at in range(3000):
        value += dice.gauss(0, 0.2)
        wandered.append((float(at), value))
    every, blocks = slope(wandered, blocks=3000), slope(wandered)
    assert blocks.error > 3 * every.error


def test_a_moment_says_nothing() -> None:
    """Two points lie on a line whatever they are."""
    assert slope([(0, 1), (5, 900)]).error == math.inf
    assert not slope([(0, 1), (5, 900)]).is_above(0)


def lived(files: list[int], resident: float = 100.0) -> Lived:
    return Lived(
        "gateway", samples=[(5.0 * at, Sample(1, resident, 1.0, each, 4, resident)) for at, each in enumerate(files)]
    )


def test_files_that_stay_open_are_told() -> None:
    """A connection more or less is none; a file every minute is."""
    assert lived([20, 22, 21, 20, 22, 21, 20, 22] * 10).is_steady(0)
    assert not lived([20 + at // 12 for at in range(120)]).is_steady(0)
    assert lived([20 + 40 * (at < 60) for at in range(120)]).is_steady(0), "what is closed again is no leak"


def test_a_worker_may_grow_by_what_is_kept_and_by_nothing_else() -> None:
    """Of its own memory what fresh passages take is no growth, and pages of files are none; what is left is."""

    def worker(own_mb: float, fresh: int) -> Lived:
        seen = Lived("memory worker", lambda each: each.own_mb)
        for at in range(0, 1800, 5):
            share = at / 1800
            seen.samples.append((at, Sample(1, 300 + 900 * share, 1.0, 15, 6, 100 + own_mb * share)))
            seen.explained[at] = OWN_MB_A_FRESH_PASSAGE * fresh * share
        return seen

    assert worker(0, 0).is_steady(0)
    assert worker(OWN_MB_A_FRESH_PASSAGE * 2_000, 2_000).is_steady(0)
    assert not worker(OWN_MB_A_FRESH_PASSAGE * 2_000, 0).is_steady(0)


def test_an_endless_household_has_limits_of_its_own() -> None:
    """Conversations that only grow, and the index with them, may take 2 MB an hour."""
    household, endless = Plan(1, 0.5), Plan(1, 0.5, is_endless=True)
    assert (household.most_mb_an_hour, endless.most_mb_an_hour) == (MB_AN_HOUR, ENDLESS_MB_AN_HOUR)
    growing = lived([20] * 360)
    growing.samples = [(at, Sample(1, 100 + 1.5 * at / 3600, 1.0, 20, 4, 100.0)) for at in range(0, 1800, 5)]
    assert not growing.is_steady(0)
    assert growing.is_steady(0, endless.most_mb_an_hour)


def test_the_size_of_an_index_is_told_as_most_of_each_half() -> None:
    """It goes up and down with what went and is not swept yet, so that its end alone says nothing."""
    kept = Kept([(at, IndexSize(1_000, at % 7, 0, 50.0 + at % 7)) for at in range(20)])
    assert kept.figures(7) == {
        "passages when warm": 1_000,
        "passages last": 1_000,
        "dead ones at most": 6,
        "files at most in the first half, MB": 55.0,
        "files at most in the second half, MB": 56.0,
    }
    assert kept.figures(30) == {}


def test_a_folder_that_goes_while_it_is_weighed_weighs_nothing(tmp_path: Path) -> None:
    """The engine removes whole segments at any time."""
    segments = [tmp_path / "segments" / str(number) / "vectors" for number in range(3)]
    for segment in segments:
        segment.mkdir(parents=True)
        (segment / "chunk").write_bytes(bytes(5_000))
    assert megabytes(tmp_path) == pytest.approx(3 * 8_192 / 1e6, rel=0.4)
    weighed = blocks(tmp_path)
    assert next(weighed) > 0
    shutil.rmtree(tmp_path / "segments")
    assert list(weighed) == []


def test_a_household_says_everything_everywhere() -> None:
    """Within a few hundred messages each chat has had talk, notes, searches, commands, and a new conversation."""
    chats = chats_of(CHATS)
    words = sayings(random.Random(4), chats)
    said = {(chat, text.split()[0]) for chat, text in (next(words) for _ in range(1_200))}
    assert said >= {(chat, kind) for chat in chats for kind in ("note:", "search:", "/context", "/new")}
    assert {text for chat, text in said if chat == OWNER} >= {"/status"}


def test_an_endless_household_ends_no_conversation() -> None:
    """However long it talks, in thirty chats, nobody says `/new`; the rest is said as ever."""
    words = sayings(random.Random(4), chats_of(30), ends=False)
    said = [next(words) for _ in range(30 * 24 * 2)]
    assert len({chat for chat, _ in said}) == 30
    assert {text.split()[0] for _, text in said} >= {"note:", "search:", "/context", "/status"}
    assert "/new" not in {text for _, text in said}


def turn(*messages: str) -> Body:
    return {
        "messages": [{"role": "system", "content": "You are."}, *({"role": "user", "content": m} for m in messages)]
    }


def test_the_model_does_what_it_is_asked_to() -> None:
    """It notes, searches, saves notes before a summary, and each call has an id of its own."""
    script = Script()
    steps = [script(turn(text)) for text in ("note: tea is out", "Person 7: search: tea", PROMPT)]
    calls = [step.calls[0] for step in steps if isinstance(step, Reply)]
    assert [(call.name, "tea" in call.arguments) for call in calls] == [
        ("add_note", True),
        ("memory_search", True),
        ("add_note", False),
    ]
    assert len({call.id for call in calls}) == 3
    assert isinstance(script(turn("How are you?")), str)


def test_the_owner_leaves_what_is_new(tmp_path: Path) -> None:
    """The newest lines of notes, the newest of many files, every folder; what is short and few stays as it is."""
    agent = Home(tmp_path).agent("main")
    shared = agent.workspace / "memory" / "shared"
    shared.mkdir(parents=True)
    agent.archive.mkdir(parents=True)
    long, short = shared.parent / "2026-11-22.md", shared / "a.md"
    long.write_text("".join(f"- {number}\n" for number in range(KEPT_LINES + 5)))
    short.write_text("- one\n")
    for number in range(KEPT_FILES + 2):
        ended = agent.archive / f"main.{number}.jsonl"
        ended.write_text("{}")
        os.utime(ended, (number, number))
    chats = [shared / f"telegram.home.-{number}" for number in range(KEPT_FILES + 2)]
    for chat in chats:
        chat.mkdir()
    tidy_once(agent)
    assert all(chat.is_dir() for chat in chats)
    assert long.read_text().splitlines() == [f"- {number}" for number in range(5, KEPT_LINES + 5)]
    assert short.read_text() == "- one\n"
    assert not list(tmp_path.rglob("*.draft"))
    assert {file.stem for file in agent.archive.iterdir()} == {f"main.{number}" for number in range(2, KEPT_FILES + 2)}


async def test_a_gateway_lives_through_some_seconds() -> None:
    """Outages, edits and a small window included: all is answered, and both processes are seen all the time."""
    plan = Plan(0.25, 0.08, a_second=9.0, look_every_s=0.25, outage_every_s=2.5, tidy_every_s=1.0)
    done = await run(plan)
    assert done.shown >= done.said > 10
    assert not done.problems
    assert done.model_calls > 5
    for process in (done.gateway, done.worker):
        assert len(process.samples) > 5
        assert process.figures(done.warm_s)["resident last, MB"] > 50
    assert done.sizes_mb["sessions"] > 0
    assert done.index.figures(0)["passages last"] > 0
