"""Judgement of messages in the load bench, and a small load on a real gateway."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from qdrant_client import models

from bench.crowd import Pace
from bench.faults import Servers
from bench.fleet import Fleet
from bench.judgement import Judgement, Said, Shown, answered_in, asked_last, judge, question, repeated
from bench.load import Kept, Outcome, Plan, run
from bench.observed import Watch, sample
from gateway.home import Home
from tests.fakes.patience import PATIENCE_S
from tests.fakes.qdrant_server import Node
from tests.fakes.qdrant_stub import QdrantStub
from tests.fakes.redis_several import Watched
from tests.journeys.house import OWNER
from tests.journeys.processes import ROOT, Gateway

SAID = [Said(chat, number, 100.0 + number) for number, chat in enumerate([7, -1, 7, -1])]


def shown(*answers: tuple[int, str]) -> list[Shown]:
    return [Shown(chat, text, 110.0 + place) for place, (chat, text) in enumerate(answers)]


RIGHT = ((7, "Answer to 0."), (-1, "Answer to 1."), (-1, "Answer to 3."), (7, "Answer to 2."))


def numbers(judged: Judgement) -> tuple[list[int], list[int], list[int], int]:
    """Return what was lost, doubled, reordered, and how much was shown that answers nothing."""
    lost, doubled, reordered = ([each.number for each in part] for part in judged_parts(judged))
    return lost, doubled, reordered, len(judged.strange)


def judged_parts(judged: Judgement) -> list[tuple[Said, ...]]:
    return [judged.lost, judged.doubled, judged.reordered]


def test_answers_in_the_order_of_their_chats_are_right() -> None:
    """The order of one chat says nothing of another's; each wait ends with the first answer."""
    judged = judge(SAID, shown(*RIGHT))
    assert numbers(judged) == ([], [], [], 0)
    assert judged.waits == (10.0, 10.0, 9.0, 11.0)


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        (RIGHT[:3], ([2], [], [], 0)),
        ((*RIGHT, RIGHT[1], RIGHT[1]), ([], [1, 1], [], 0)),
        ((RIGHT[3], RIGHT[0], *RIGHT[1:3]), ([], [], [0], 0)),
        ((*RIGHT[:3], (-1, "Answer to 2.")), ([2], [], [], 1)),
        ((*RIGHT, (7, "My language model cannot be reached now.")), ([], [], [], 1)),
        (((7, "Answer to 0.\nAnswer to 2."), *RIGHT[1:3]), ([], [], [], 0)),
    ],
    ids=["lost", "twice more", "reordered", "in the wrong chat", "an apology", "two in one answer"],
)
def test_what_went_wrong_is_named(
    answers: list[tuple[int, str]], found: tuple[list[int], list[int], list[int], int]
) -> None:
    """Each fault by itself, message by message; a message that waited may be answered together with the next."""
    assert numbers(judge(SAID, shown(*answers))) == found


def test_the_model_answers_what_was_asked_since_it_spoke_last() -> None:
    """Neither what it answered before nor what the gateway tells it of its notes."""
    note = f"[Note of the gateway]\nEarlier: {question(1)}\n[End of the note]\n\n"
    body = {
        "messages": [
            {"role": "user", "content": question(1)},
            {"role": "assistant", "content": "Answer to 1."},
            {"role": "user", "content": f"{note}Person 7: {question(2)}\n\nPerson 7: {question(3)}"},
        ]
    }
    assert asked_last(body) == [2, 3]
    assert answered_in(repeated(body)) == [2, 3]
    assert repeated({"messages": [{"role": "user", "content": "Save notes."}]}) == "NO_REPLY"


def outcome(judged: Judgement, unsure: Counter[int], kills: int, twice: int = 0) -> Outcome:
    return Outcome(Plan(Pace(4, 1, 2)), judged, 10.0, 0.0, kills, Kept(unsure, twice), 0, Watch())


def test_an_answer_may_come_twice_only_after_a_kill_and_listed() -> None:
    """One answer a kill, in a chat for which a send is listed as unsure; no message twice in a conversation."""
    doubled = judge(SAID, shown(*RIGHT, RIGHT[1]))
    assert outcome(doubled, Counter({-1: 1}), kills=1).is_right()
    assert not outcome(doubled, Counter({-1: 1}), kills=0).is_right()
    assert not outcome(doubled, Counter({7: 1}), kills=1).is_right()
    assert not outcome(judge(SAID, shown(*RIGHT)), Counter(), kills=1, twice=1).is_right()
    assert not outcome(judge(SAID, shown(*RIGHT[:3])), Counter(), kills=1).is_right()


def test_a_failover_may_double_an_answer_of_each_chat() -> None:
    """If a send is listed for it; each fault is counted by its kind."""
    plan, doubled = Plan(Pace(4, 1, 2), is_backed=True), judge(SAID, shown(*RIGHT, RIGHT[0], RIGHT[1]))
    listed = Kept(Counter({-1: 1, 7: 1}), 0, faults=Counter({"fail_over": 1}))
    found = Outcome(plan, doubled, 10.0, 0.0, 1, listed, 0, Watch())
    assert found.is_right()
    assert found.figures()["of these, fail_over"] == 1
    assert not replace(found, kills=0).is_right()
    assert not replace(found, kept=replace(listed, unindexed=1)).is_right()
    assert not replace(found, kept=replace(listed, ended=1)).is_right()
    assert not replace(found, kept=replace(listed, unsure=Counter({7: 1}))).is_right()
    assert not replace(found, plan=replace(plan, is_rolling=True)).is_right()


def test_a_gateway_that_ends_by_itself_is_started_again_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service manager would hide it; one that the load killed does not count."""
    monkeypatch.setattr(Gateway, "start", Gateway.launch)
    brief, lasting = (
        Gateway(Home(tmp_path), tmp_path / "log", ("-c", code)) for code in ("pass", "import time; time.sleep(600)")
    )
    fleet = Fleet([brief, lasting])
    brief.start()
    lasting.start()
    assert brief.process
    brief.process.wait(PATIENCE_S)
    ended = brief.process
    fleet.crash(1)
    assert (fleet.ended, brief.process is ended) == (1, False)
    brief.kill()
    fleet.end()


def test_a_node_that_refuses_for_a_moment_does_not_end_a_load() -> None:
    """Cut off until just now, it answers with status 500; it is asked again until the load's deadline."""
    with QdrantStub() as stub:
        kept = Servers(cast("Watched", None), [cast("Node", stub)])
        stub.fails_with = 500
        assert kept.indexed() == [set()]
        stub.fails_with = None
        stub.memory.create_collection("notes", models.VectorParams(size=1, distance=models.Distance.DOT))
        stub.memory.upsert("notes", [models.PointStruct(id=1, vector=[1.0], payload={"text": question(3)})])
        assert kept.indexed() == [{3}]
    assert kept.indexed() == [set()]


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_a_fleet_keeps_every_promise_whatever_fails() -> None:
    """Three gateways and a Redis behind a sentinel, killed and paused in a random order."""
    done = await run(Plan(Pace(240, 2, 12), kill_every_s=8.0, gateways=3, is_backed=True))
    assert done.is_right(), done.figures()


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_a_rolling_update_costs_no_answer_and_doubles_none() -> None:
    """Three gateways, Qdrant's nodes if it is installed, a replica and its primary, each restarted under a load."""
    done = await run(Plan(Pace(180, 3, 12), kill_every_s=15.0, gateways=3, is_backed=True, is_rolling=True))
    assert done.kills >= 5
    assert done.is_right(), done.figures()


def test_every_chat_has_its_turn() -> None:
    """The owner's own chat is among them."""
    assert [Pace(6, 1, 3).chat(number) for number in range(6)] == [OWNER, -1, -2, OWNER, -1, -2]


def test_a_process_is_seen_from_outside() -> None:
    """A file that it opens shows, and one that has ended is nothing."""
    before = sample(os.getpid())
    with open(__file__) as _:  # noqa: PTH123  # any open file
        after = sample(os.getpid())
    assert before is not None
    assert after is not None
    assert after.files == before.files + 1
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.send_signal(signal.SIGKILL)
    child.wait(PATIENCE_S)
    assert sample(child.pid) is None


async def test_a_killed_gateway_under_load_keeps_every_promise() -> None:
    """Some fifty messages in seconds, and a kill among them: as `python -m bench.load` does it for minutes."""
    done = await run(Plan(Pace(48, 0.1, 6), model_s=0.05, kill_every_s=3.0))
    figures = done.figures()
    assert done.kills >= 1
    assert (figures["lost"], figures["reordered"], figures["processed twice"]) == (0, 0, 0)
    assert done.is_right(), figures
    assert len(done.judgement.waits) == 48
    assert figures["gateways' processor time a message, ms"] > 1
    assert figures["gateways resident at most, MB"] > 50


async def test_the_command_prints_what_a_script_can_read() -> None:
    """One line of JSON, and the status of a verdict that is right."""
    command = [sys.executable, "-m", "bench.load", "--messages", "6", "--minutes", "0", "--chats", "3"]
    process = await asyncio.create_subprocess_exec(
        *command, "--model-ms", "0", "--json", cwd=ROOT, stdout=subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    assert json.loads(said)["right"] is True
