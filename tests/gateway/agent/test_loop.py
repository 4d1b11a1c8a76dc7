"""How a turn runs to its answer, stops at its limits, and goes on after a crash."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from gateway.agent.entries import CallStartEntry, Entry, ReplyEntry, ResultEntry, Usage, UserEntry
from gateway.agent.loop import TurnOutlets, run_turn
from gateway.agent.models.port import ModelRequest, OnText
from gateway.agent.settings import TurnLimits
from gateway.agent.tools.tool import Toolbox, tool
from gateway.errors import ModelFloodError, ModelUnavailableError, ToolError, TurnLimitError, WrittenCallError
from tests.fakes.model import HostileModel, ScriptedModel, call, says
from tests.workspaces.turns import MAIN

QUESTION = UserEntry("where is the staging database?", datetime(2026, 11, 21, tzinfo=UTC), "Owner", "m1")


class Bench:
    """A tool, a journal and a draft that remember what happened, in order."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.journal: list[Entry] = []
        self.drafts: list[str] = []

        @tool
        async def look(place: str) -> str:
            """Look at a place."""
            self.happened.append(f"look {place}")
            if place == "nowhere":
                raise ToolError("there is no such place")
            return f"seen {place}"

        self.tools = Toolbox([look], MAIN)

    async def append(self, entry: Entry) -> None:
        self.journal.append(entry)
        self.happened.append(type(entry).__name__)

    async def draft(self, text: str) -> None:
        self.drafts.append(text)

    async def turn(
        self, model: ScriptedModel, history: Sequence[Entry] = (QUESTION,), limits: TurnLimits | None = None
    ) -> str:
        request = ModelRequest("stable", history, ())
        answer = await run_turn(
            model, request, self.tools, limits or TurnLimits(), TurnOutlets(self.append, self.draft)
        )
        return answer.text


async def test_a_turn_runs_the_calls_in_order_and_answers() -> None:
    """Calls of one reply run one after another, and the next request shows each beside its result."""
    bench = Bench()
    model = ScriptedModel(says("", call("look", place="a"), call("look", place="b")), "It is at a.")
    assert await bench.turn(model) == "It is at a."
    assert [entry for entry in bench.happened if entry.startswith("look")] == ["look a", "look b"]
    assert list(model.requests[1].entries) == [QUESTION, *bench.journal[:-1]]
    assert [spec.name for spec in model.requests[0].tools] == ["look"]
    assert bench.drafts[-1] == "a."


async def test_everything_is_durable_before_the_next_thing_happens() -> None:
    """The journal has the reply before its calls, the start before the call, the result before the next request."""
    bench = Bench()
    await bench.turn(ScriptedModel(says("", call("look", place="a")), "done"))
    assert bench.happened == ["ReplyEntry", "CallStartEntry", "look a", "ResultEntry", "ReplyEntry"]


async def test_a_failed_call_is_told_to_the_model() -> None:
    """A tool that refuses gives an error result, and the turn goes on."""
    bench = Bench()
    assert await bench.turn(ScriptedModel(says("", call("look", place="nowhere")), "no such place")) == "no such place"
    result = bench.journal[2]
    assert isinstance(result, ResultEntry)
    assert result.is_error
    assert "no such place" in result.text


@pytest.mark.parametrize("text", ["NO_REPLY", "no_reply", " No_Reply\n"])
async def test_no_reply_is_silent(text: str) -> None:
    """A model that has nothing to say leaves nothing to send."""
    assert await Bench().turn(ScriptedModel(text)) == ""


async def test_a_text_that_mentions_no_reply_is_said() -> None:
    """Only the exact word is silence."""
    assert await Bench().turn(ScriptedModel("NO_REPLY is what I say when I am silent")) != ""


async def test_a_model_that_never_answers_is_stopped() -> None:
    """The steps of a turn are bounded, and the reason says so."""
    model = ScriptedModel(*[says("", call("look", place=str(n))) for n in range(100)])
    with pytest.raises(TurnLimitError) as stopped:
        await Bench().turn(model, limits=TurnLimits(steps=5))
    assert stopped.value.reason == "turn_steps"
    assert len(model.requests) == 5


async def test_the_same_call_again_and_again_is_stopped() -> None:
    """The third call alike, however its JSON is written, is not run."""
    bench = Bench()
    again = call("look", place="a")
    spaced = type(again)("other", "look", '{ "place" :"a"}')
    model = ScriptedModel(says("", again), says("", spaced), says("", call("look", place="a")), "never")
    with pytest.raises(TurnLimitError) as stopped:
        await bench.turn(model)
    assert stopped.value.reason == "turn_repeats"
    assert bench.happened.count("look a") == 2


@pytest.mark.parametrize("places", ["abab", "abcabc", "xabab"])
async def test_calls_that_go_round_in_a_circle_are_stopped(places: str) -> None:
    """Two calls in turn, or three, end the turn before they are all made a second time."""
    bench = Bench()
    model = ScriptedModel(*[says("", call("look", place=place)) for place in places], "never")
    with pytest.raises(TurnLimitError) as stopped:
        await bench.turn(model)
    assert stopped.value.reason == "turn_circle"
    looked = [each for each in bench.happened if each.startswith("look ")]
    assert looked == [f"look {place}" for place in places[:-1]]


@pytest.mark.parametrize("places", ["abba", "aabb", "abcadb"])
async def test_calls_that_only_come_again_are_no_circle(places: str) -> None:
    """To look twice at something is allowed, in any other order."""
    bench = Bench()
    model = ScriptedModel(*[says("", call("look", place=place)) for place in places], "done")
    assert await bench.turn(model) == "done"


async def test_a_circle_may_be_as_long_as_calls_alike_are_allowed() -> None:
    """Who allows more calls alike allows more rounds."""
    circle = [says("", call("look", place=place)) for place in "abababab"]
    with pytest.raises(TurnLimitError, match="2 calls were made 4 times"):
        await Bench().turn(ScriptedModel(*circle, "never"), limits=TurnLimits(identical_calls=5))
    assert await Bench().turn(ScriptedModel(*circle[:-1], "done"), limits=TurnLimits(identical_calls=5)) == "done"


async def test_a_flood_of_calls_in_one_reply_is_stopped() -> None:
    """None of them is run; as many as are allowed are."""
    many = [call("look", place=str(n)) for n in range(4)]
    bench = Bench()
    with pytest.raises(TurnLimitError) as stopped:
        await bench.turn(ScriptedModel(says("", *many), "never"), limits=TurnLimits(calls=3))
    assert stopped.value.reason == "turn_calls"
    assert bench.happened == ["ReplyEntry"]
    assert await Bench().turn(ScriptedModel(says("", *many[:3]), "done"), limits=TurnLimits(calls=3)) == "done"


async def test_a_reply_that_does_not_end_is_a_limit_of_the_turn() -> None:
    """The model is not asked for the same flood again."""
    model = ScriptedModel(ModelFloodError(400_000), "never")
    with pytest.raises(TurnLimitError, match="400,000 characters") as stopped:
        await Bench().turn(model)
    assert stopped.value.reason == "turn_output"
    assert len(model.requests) == 1


async def test_a_tool_call_that_a_model_only_writes_ends_the_turn_with_a_sentence() -> None:
    """Its message is not kept for later: the same model would write the same again for a day."""
    with pytest.raises(TurnLimitError, match="wrote a tool call as text") as stopped:
        await Bench().turn(ScriptedModel(WrittenCallError("home"), "never"))
    assert stopped.value.reason == "turn_written_call"


async def test_tokens_are_bounded() -> None:
    """A turn whose steps used up its tokens does not ask again."""
    model = ScriptedModel(says("", call("look", place="a"), usage=Usage(900, 100)), "never")
    with pytest.raises(TurnLimitError) as stopped:
        await Bench().turn(model, limits=TurnLimits(tokens=1000))
    assert stopped.value.reason == "turn_tokens"


class StuckModel(ScriptedModel):
    """Never answers."""

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_reply_keeps_how_long_its_request_was() -> None:
    """What the next request costs is told from the tokens and the characters of this one."""
    bench = Bench()
    model = ScriptedModel(says("", call("look", place="a")), "It is at a.")
    await bench.turn(model)
    lengths = [entry.usage.characters for entry in bench.journal if isinstance(entry, ReplyEntry)]
    assert lengths == [request.characters for request in model.requests]
    assert 0 < lengths[0] < lengths[1]


async def test_time_is_bounded() -> None:
    """A model that hangs costs the turn its time and no more."""
    with pytest.raises(TurnLimitError) as stopped:
        await Bench().turn(StuckModel(), limits=TurnLimits(turn_s=0.01))
    assert stopped.value.reason == "turn_time"


async def test_a_tool_that_times_out_by_itself_is_not_the_turns_limit() -> None:
    """A TimeoutError from inside is not mistaken for the turn's own deadline."""

    @tool
    async def slow() -> str:
        """Time out."""
        raise TimeoutError

    bench = Bench()
    bench.tools = Toolbox([slow], MAIN)
    with pytest.raises(TimeoutError):
        await bench.turn(ScriptedModel(says("", call("slow"))))


async def test_a_model_that_is_down_leaves_the_record_as_it_was() -> None:
    """An error of the model passes through; what had happened stays in the journal."""
    bench = Bench()
    with pytest.raises(ModelUnavailableError):
        await bench.turn(ScriptedModel(says("", call("look", place="a")), ModelUnavailableError("down")))
    assert bench.happened == ["ReplyEntry", "CallStartEntry", "look a", "ResultEntry"]


async def test_a_turn_cut_off_anywhere_goes_on_without_repeating_a_call() -> None:
    """For every prefix of the records: a finished call keeps its result, a begun one is interrupted, others run."""
    first, second = call("look", place="a"), call("look", place="b")
    script = says("", first, second)
    whole = Bench()
    await whole.turn(ScriptedModel(script, "done"))
    for cut in range(len(whole.journal) + 1):
        resumed = Bench()
        kept = whole.journal[:cut]
        model = ScriptedModel(*([script] if cut == 0 else []), *(["done"] if cut < len(whole.journal) else []))
        assert await resumed.turn(model, (QUESTION, *kept)) == "done"
        begun = {entry.call_id for entry in kept if isinstance(entry, CallStartEntry)}
        ran = [line for line in resumed.happened if line.startswith("look")]
        assert ran == [f"look {place}" for each, place in ((first, "a"), (second, "b")) if each.id not in begun]
        done = {entry.call_id for entry in kept if isinstance(entry, ResultEntry)}
        told = {entry.call_id: entry for entry in resumed.journal if isinstance(entry, ResultEntry)}
        assert {call_id for call_id, entry in told.items() if "may not have happened" in entry.text} == begun - done
        assert {*told, *done} == {first.id, second.id}


async def test_an_answer_already_there_is_returned_without_asking() -> None:
    """A turn that had its answer before the crash costs no model call and no record."""
    bench = Bench()
    history = (QUESTION, says("It is at a."))
    assert await bench.turn(ScriptedModel(), history) == "It is at a."
    assert bench.journal == []


async def test_limits_count_across_a_restart() -> None:
    """A model that loops cannot gain new steps by crashing the gateway."""
    history: list[Entry] = [QUESTION]
    for n in range(3):
        step = says("", call("look", place=str(n)))
        history += [step, CallStartEntry(step.calls[0].id), ResultEntry(step.calls[0].id, "look", "seen", False)]
    with pytest.raises(TurnLimitError):
        await Bench().turn(ScriptedModel("never"), history, TurnLimits(steps=3))


async def test_an_earlier_turn_counts_for_nothing() -> None:
    """Calls and replies before the last message belong to other turns."""
    earlier: list[Entry] = [QUESTION, *[says("", call("look", place="a")) for _ in range(20)]]
    bench = Bench()
    assert await bench.turn(ScriptedModel(says("", call("look", place="a")), "done"), (*earlier, QUESTION)) == "done"


async def test_a_hostile_model_gets_results_and_no_crash() -> None:
    """Every argument that the hostile model can think of becomes a result."""
    bench = Bench()
    request = ModelRequest("stable", (QUESTION,), ())
    limits = TurnLimits(calls=100_000)
    answer = await run_turn(HostileModel(), request, bench.tools, limits, TurnOutlets(bench.append, bench.draft))
    calls = next(entry for entry in bench.journal if isinstance(entry, ReplyEntry)).calls
    assert len([entry for entry in bench.journal if isinstance(entry, ResultEntry)]) == len(calls) > 50
    assert "seen MEMORY.md" in answer.text
