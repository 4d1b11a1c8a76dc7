"""How a turn is halted, and what may reach it while it runs."""

import asyncio
from collections.abc import Sequence

import pytest

from gateway.agent.cancellation import Halt
from gateway.agent.entries import HALTED, CallStartEntry, Entry, ReplyEntry, ResultEntry, UserEntry
from gateway.agent.loop import TurnOutlets, run_turn
from gateway.agent.models.port import Model, ModelRequest, OnText
from gateway.agent.settings import TurnLimits
from gateway.agent.tools.tool import Toolbox, tool
from gateway.errors import TurnLimitError
from tests.fakes.model import ScriptedModel, call, says
from tests.fakes.patience import PATIENCE_S
from tests.gateway.agent.test_loop import QUESTION, Bench
from tests.workspaces.turns import MAIN

LATER = UserEntry("and the port?", QUESTION.at, "Owner", "m2", joins=True)


class SlowModel:
    """Is asked, and never answers."""

    name = "slow"
    window_tokens = 128_000

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def close(self) -> None:
        """Nothing to release."""


async def halted(bench: Bench, model: Model, halt: Halt, history: Sequence[Entry] = (QUESTION,)) -> list[str]:
    """Run a turn that must end by *halt*, silent; return what its journal says of each call."""
    request = ModelRequest("", history, ())
    async with asyncio.timeout(PATIENCE_S):
        answer = await run_turn(
            model, request, bench.tools, TurnLimits(), TurnOutlets(bench.append, bench.draft, halt=halt)
        )
    assert not answer.text
    assert isinstance(end := bench.journal[-1], ReplyEntry)
    assert end.model == HALTED
    return [entry.text.partition(":")[0] for entry in bench.journal if isinstance(entry, ResultEntry)]


async def test_a_models_call_is_given_up() -> None:
    """Whoever wants the turn to end soon need not wait for the model."""
    bench, model, halt = Bench(), SlowModel(), Halt()
    turn = asyncio.ensure_future(halted(bench, model, halt))
    await model.asked.wait()
    halt.after_tool()
    assert await turn == []


async def test_a_tool_is_waited_for_or_cancelled_and_no_other_is_begun() -> None:
    """Soon: the tool that runs has its result. At once: it is interrupted. What was not begun says so."""
    for end, outcome in ((Halt.after_tool, "done"), (Halt.at_once, "interrupted")):
        bench, halt, runs, may_end = Bench(), Halt(), asyncio.Event(), asyncio.Event()
        bench.tools = digging(runs, may_end)
        model = ScriptedModel(says("", call("dig"), call("dig")))
        turn = asyncio.ensure_future(halted(bench, model, halt))
        await runs.wait()
        end(halt)
        if outcome == "done":
            may_end.set()
        assert await turn == [outcome, "not run"]
        assert sum(isinstance(entry, CallStartEntry) for entry in bench.journal) == 1


def digging(runs: asyncio.Event, may_end: asyncio.Event) -> Toolbox:
    """Return a tool that says when it runs, and takes until it may end."""

    @tool
    async def dig() -> str:
        """Dig."""
        runs.set()
        await may_end.wait()
        return "done"

    return Toolbox([dig], MAIN)


async def test_a_turn_that_was_halted_before_a_crash_stays_so() -> None:
    """Its journal ends with the halt: no model is asked, and nothing is said."""
    bench, halt = Bench(), Halt()
    halt.at_once()
    started = says("", call("look", place="a"), call("look", place="b"))
    history: list[Entry] = [QUESTION, started, CallStartEntry(started.calls[0].id)]
    assert await halted(bench, ScriptedModel(), halt, history) == ["interrupted", "not run"]
    again = Bench()
    assert await again.turn(ScriptedModel(), [*history, *bench.journal]) == ""
    assert (again.journal, again.happened) == ([], [])


async def test_an_answer_that_is_there_is_not_taken_back() -> None:
    """A halt that comes after the answer was journaled finds nothing to end."""
    bench, halt = Bench(), Halt()
    halt.at_once()
    request = ModelRequest("", (QUESTION, says("It is at a.")), ())
    course = TurnOutlets(bench.append, bench.draft, halt=halt)
    assert (await run_turn(ScriptedModel(), request, bench.tools, TurnLimits(), course)).text == "It is at a."


async def test_what_is_said_meanwhile_stands_before_the_next_step() -> None:
    """And the calls before it are neither run again nor forgotten among the turn's steps."""
    bench = Bench()
    said: list[list[UserEntry]] = [[], [LATER], []]
    model = ScriptedModel(says("", call("look", place="a")), says("", call("look", place="b")), "Both.")

    async def joined() -> Sequence[UserEntry]:
        return said.pop(0)

    request = ModelRequest("", (QUESTION,), ())
    course = TurnOutlets(bench.append, bench.draft, joined)
    assert (await run_turn(model, request, bench.tools, TurnLimits(steps=3), course)).text == "Both."
    assert [each.entries[-1] for each in model.requests][1] == LATER
    assert [entry for entry in bench.happened if entry.startswith("look")] == ["look a", "look b"]


async def test_a_turn_goes_on_after_a_crash_behind_what_joined_it() -> None:
    """The call before the later message has its result: it is not run again; the model is asked next."""
    step = says("", call("look", place="a"))
    done = CallStartEntry(step.calls[0].id), ResultEntry(step.calls[0].id, "look", "seen a", False)
    bench = Bench()
    assert await bench.turn(ScriptedModel("Both."), [QUESTION, step, *done, LATER]) == "Both."
    assert bench.happened == ["ReplyEntry"]
    with pytest.raises(TurnLimitError):  # the step before it counts
        await Bench().turn(ScriptedModel("Both."), [QUESTION, step, *done, LATER], TurnLimits(steps=1))
