"""A model provider refuses, breaks off, says nothing or never ends: who asked hears of it once, then is answered."""

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from gateway.agent.models import hosted, wire
from gateway.agent.models.retry import Retry
from gateway.app.resources import Machine
from gateway.control.status_wire import StatusOrder
from tests.crash.running import HastyClock
from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Call, Fault, Refusal, Reply, Step, call, instant
from tests.journeys.house import OWNER, make_home, openai_section, running
from workspaces.backoff import Backoff

TRIES = 3
FAULTS: dict[str, Step] = {
    "too many requests": Refusal(429),
    "broken inside": Refusal(500),
    "reset": Reply("An answer that never comes.", fault=Fault.RESET),
    "cut in the middle of a tool call": Reply(calls=(call("list_files", path="."),), fault=Fault.CUT),
    "no finish reason": Reply("An answer without an end.", fault=Fault.NO_FINISH),
    "bad JSON": Reply("An answer with a broken event in it.", fault=Fault.BAD_JSON),
    "arguments that are no JSON": Reply(calls=(Call("list_files", '{"path": ', "call_1"),)),
    "empty": Reply("", fault=Fault.NO_EVENTS),
    "giant": Reply("Never ending.", fault=Fault.GIANT),
}


@dataclass
class Moody:
    """A model that meets each message with its fault as often as it is tried, and then repeats what was said."""

    asked: Counter[str] = field(default_factory=Counter)

    def __call__(self, body: Body) -> Step:
        answer = str(instant(body))
        name = answer.removeprefix("You said: ")
        self.asked[name] += 1
        return FAULTS[name] if self.asked[name] <= TRIES and name in FAULTS else answer


async def test_a_fault_of_the_model_costs_one_notice_and_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tries are bounded, the sender is told once, the message is answered later, then the next one; each is counted."""
    monkeypatch.setattr(hosted, "Retry", partial(Retry, tries=TRIES, waits=Backoff(0.01, 20.0)))
    monkeypatch.setattr(wire, "BODY_CAP", 50_000)
    moody = Moody()
    async with BotApi() as bot, OpenAIStub(moody) as model:
        home = make_home(tmp_path / "home", bot.url, openai_section(model.url))
        async with running(home, machine=Machine(HastyClock())) as app:
            for name in FAULTS:
                before = len(bot.sent)
                bot.says(OWNER, name)
                await bot.wait_for_sent(before + 2)
                bot.says(OWNER, "the next one")
                await bot.wait_for_sent(before + 3)
                apology, *answers = [sent.text for sent in bot.sent[before:]]
                assert answers == [f"You said: {name}", "You said: the next one"]
                assert "Traceback" not in apology
            reasons = (await app.operator.ask(StatusOrder())).reasons
    assert {name: moody.asked[name] for name in FAULTS} == dict.fromkeys(FAULTS, TRIES + 1)
    assert reasons["postponed.ModelUnavailableError"] == len(FAULTS)
    assert model.problems == []
