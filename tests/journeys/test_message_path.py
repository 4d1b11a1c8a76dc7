"""How often one message asks for its route, its session, the disk and other threads on its way through a gateway."""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.channel import InboundMessage
from gateway.admission.routing import Envelope, Routes, SessionKey, route
from gateway.app.resources import Machine
from gateway.stores.sqlite.store import SqliteStore
from gateway.transcripts.store import Sessions
from gateway.transcripts.writer import Transcript
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.journeys.house import OWNER, make_home, openai_section, running


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the calls, by the module that makes them, of `route` and of `Sessions.open`."""
    found, really_open = Counter[str](), Sessions.open

    def routed(message: InboundMessage, routes: Routes) -> Envelope:
        found[f"route {_caller()}"] += 1
        return route(message, routes)

    async def opened(sessions: Sessions, key: SessionKey) -> Transcript:
        found[f"open {_caller()}"] += 1
        return await really_open(sessions, key)

    for name, module in list(sys.modules.items()):
        if name.startswith("gateway.") and getattr(module, "route", None) is route:
            monkeypatch.setattr(module, "route", routed)
    monkeypatch.setattr(Sessions, "open", opened)
    return found


def _caller() -> str:
    return str(sys._getframe(2).f_globals["__name__"])


async def test_a_message_is_routed_when_it_arrives_and_when_its_lane_takes_it(
    tmp_path: Path, calls: Counter[str]
) -> None:
    """Roles and bindings are decided anew for the turn; everybody else is handed what was decided."""
    seen = await _answered(tmp_path, calls)
    assert {name: count for name, count in seen.items() if name.startswith("route")} == {
        "route gateway.inbound.receive": 1,
        "route gateway.turns.worker": 1,
    }


async def test_each_part_of_a_messages_way_opens_its_session_once(tmp_path: Path, calls: Counter[str]) -> None:
    """The lane's worker before the turn, the life cycle when the turn begins, and the turn: each opens it once."""
    seen = await _answered(tmp_path, calls)
    assert {name: count for name, count in seen.items() if name.startswith("open")} == {
        "open gateway.turns.worker": 1,
        "open gateway.sessions.lifecycle": 1,
        "open gateway.turns.turn": 1,
    }


async def _answered(folder: Path, calls: Counter[str]) -> Counter[str]:
    """Have an owner's message on Telegram answered; return the calls made from its arrival to its answer."""
    async with BotApi() as bot, OpenAIStub(lambda _: "Hello.") as provider:
        home = make_home(folder / "home", bot.url, openai_section(provider.url))
        async with running(home):
            calls.clear()
            bot.says(OWNER, "hello")
            await bot.wait_for_sent(1)
            await bot.until(lambda: len(bot.confirmed) == 1)
            return calls.copy()


async def test_an_owners_message_waits_for_four_flushes_and_six_hand_overs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its arrival to its answer: what nobody waits for rides with the next commit, or the next record.

    The disk: message, answer, the turn's commit, "begun". The threads: these, the message's record, and the prompt.
    """
    flushes, hand_overs, submit = Counter[str](), Counter[str](), ThreadPoolExecutor.submit

    def reached(step: str, size: int, /) -> int:
        flushes[step] += 1
        return size

    def handed_over(pool: ThreadPoolExecutor, work: Callable[[], object]) -> Future[object]:
        thread, task = str(pool._thread_name_prefix), asyncio.current_task()
        if thread == "state" or (task is not None and task.get_name().startswith("lane ")):
            hand_overs[thread] += 1
        return submit(pool, work)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", handed_over)
    async with BotApi() as bot, OpenAIStub(lambda _: "Hello.") as provider:
        home = make_home(tmp_path / "home", bot.url, openai_section(provider.url))
        async with running(home, machine=Machine(checkpoint=reached)) as app:
            store = app.parts.resources.home.store
            assert isinstance(store, SqliteStore)
            store.commits.longest_ride_s = 60.0
            for number in range(3):
                flushes.clear()
                hand_overs.clear()
                bot.says(OWNER, "hello")
                await bot.wait_for_sent(number + 1)
            seen, threads = flushes.copy(), hand_overs.copy()
            await store.put("the last part", "is recorded with this")
    assert {step: seen[step] for step in ("store.commit", "transcript.sync")} == {
        "store.commit": 3,
        "transcript.sync": 1,
    }
    assert threads == {"state": 3, "transcripts": 2, "agents": 1}
