"""What is Anthropic's alone: marks for its cache, thoughts that go back, ids and failures in its words."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from gateway.agent.entries import Entry, ReplyEntry, ResultEntry, ToolCall, Usage
from gateway.agent.models.anthropic import OUTPUT_TOKENS, body_of
from gateway.agent.models.messages import NOTHING_SEEN, UNSHOWN
from gateway.agent.models.opaque_state import OpaqueStates
from gateway.agent.models.port import ModelRequest
from gateway.errors import ModelOverflowError, ModelRefusedError, ModelUnavailableError
from tests.fakes.provider_stub import Body, Refusal, Reply, call, steps
from tests.gateway.agent.models.test_hosted import Rigs, asks, user

SEARCHES = Reply(thought="Where is the port noted?", calls=(call("memory_search", "toolu_1", query="port"),))
FOUND = ResultEntry("toolu_1", "memory_search", "5433", False)


@pytest.fixture
async def rigs() -> AsyncIterator[Rigs]:
    async with AsyncExitStack() as stack:
        yield Rigs("anthropic", stack)


def said(text: str, *calls: ToolCall) -> ReplyEntry:
    return ReplyEntry(text, calls, "home", Usage())


def body(*entries: Entry, note: str = "Today is Friday.") -> Body:
    return body_of(asks(*entries, note=note), NOTHING_SEEN, OpaqueStates())


def marked(sent: Body) -> list[str]:
    """The blocks up to which the cache may keep the request."""
    blocks = [block for message in sent["messages"] for block in message["content"]]
    return [block.get("text") or block.get("content") or block["name"] for block in blocks if "cache_control" in block]


def test_the_cache_may_keep_the_whole_request() -> None:
    """The next request begins with all of this one."""
    sent = body(user("one"), said("first"), user("two"))
    assert "cache_control" in sent["system"][0]
    assert marked(sent) == ["[Note of the gateway]\nToday is Friday.\n[End of the note]\n\ntwo"]


def test_a_later_step_is_kept_up_to_its_end() -> None:
    """The step before ended where this one goes on."""
    step = said("", ToolCall("c1", "memory_search", "{}"))
    sent = body(user("one"), said("first"), user("two"), step, ResultEntry("c1", "memory_search", "found", False))
    assert marked(sent) == ["found"]


@pytest.mark.parametrize("entries", [(said("Good morning."),), (said("Good morning."), user("Hello"))])
async def test_a_history_that_the_model_began_is_opened(rigs: Rigs, entries: tuple[Entry, ...]) -> None:
    """The stub, as the API, refuses messages that the assistant begins."""
    rig = await rigs.open(steps("fine"))
    assert (await rig.ask(asks(*entries))).text == "fine"
    assert rig.stub.raw[0]["messages"][0]["content"][0]["text"] == UNSHOWN


async def test_results_and_what_is_said_meanwhile_are_one_message(rigs: Rigs) -> None:
    """Both are the user's; the results stand first, each with its call."""
    rig = await rigs.open(steps("fine"))
    calls = (ToolCall("a", "memory_search", "{}"), ToolCall("b", "memory_search", "{}"))
    results = [ResultEntry(each.id, each.name, each.id, False) for each in calls]
    await rig.ask(asks(user("look"), said("I look.", *calls), *results, user("quick")))
    assert rig.stub.problems == []
    last = rig.stub.raw[0]["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]


async def test_a_history_with_calls_names_their_tools_where_none_is_offered(rigs: Rigs) -> None:
    """As between turns, when notes are saved: they are named, and cannot be called."""
    rig = await rigs.open(steps("noted"))
    called = said("", *[ToolCall(name, "memory_search", "{}") for name in "ab"])
    results = [ResultEntry(each.id, each.name, "found", False) for each in called.calls]
    await rig.ask(ModelRequest("stable", (user("look"), called, *results), ()))
    assert rig.stub.problems == []
    assert [tool["name"] for tool in rig.stub.raw[0]["tools"]] == ["memory_search"]
    assert rig.stub.raw[0]["tool_choice"] == {"type": "none"}


async def test_blank_words_are_no_block(rigs: Rigs) -> None:
    """The API refuses a block of text that holds nothing."""
    rig = await rigs.open(steps("fine"))
    await rig.ask(asks(user("look"), said(" \n"), user("well?")))
    assert rig.stub.problems == []
    assert [message["role"] for message in rig.stub.raw[0]["messages"]] == ["user"]


async def test_thoughts_count_by_length_and_go_back_with_their_call(rigs: Rigs) -> None:
    """They are shown to nobody; the model goes on thinking where it stopped."""
    rig = await rigs.open(steps(SEARCHES, "5433"))
    reply = await rig.ask()
    assert reply.text == ""
    await rig.ask(asks(user("port?"), reply, FOUND))
    sent = rig.stub.raw[1]["messages"][1]["content"]
    assert sent[0] == {"type": "thinking", "thinking": SEARCHES.thought, "signature": "signed"}
    assert rig.stub.problems == []


async def test_thoughts_that_are_not_known_any_more_are_left_out(rigs: Rigs) -> None:
    """After a restart, and of a model that this one stands in for."""
    reply = await (await rigs.open(steps(SEARCHES))).ask()
    other = await rigs.open(steps("5433"))
    assert (await other.ask(asks(user("port?"), reply, FOUND))).text == "5433"


async def test_ids_of_other_providers_are_made_to_fit(rigs: Rigs) -> None:
    """Always in the same way: the request's bytes stay."""
    rig = await rigs.open(steps("a", "b"))
    step = said("", ToolCall("functions.search:0", "memory_search", "{}"))
    history = (user("port?"), step, ResultEntry("functions.search:0", "memory_search", "5433", False))
    for _ in range(2):
        await rig.ask(asks(*history))
    assert rig.stub.problems == []
    assert rig.stub.raw[0] == rig.stub.raw[1]


async def test_a_reply_is_bounded_because_the_protocol_asks_for_it(rigs: Rigs) -> None:
    """By the setting, or by what is said in the client's file."""
    rig = await rigs.open(steps("a"))
    await rig.ask()
    assert rig.stub.raw[0]["max_tokens"] == OUTPUT_TOKENS
    other = await rigs.open(steps("a"), output_tokens=300)
    await other.ask()
    assert other.stub.raw[0]["max_tokens"] == 300


async def test_a_refusal_is_told_apart_from_an_empty_reply(rigs: Rigs) -> None:
    """It is not asked again: the answer would be the same, and paid for."""
    rig = await rigs.open(steps(Reply(finish="refusal"), "never"))
    with pytest.raises(ModelRefusedError, match="content filter"):
        await rig.ask()


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (Refusal(400, message="prompt is too long: 213000 tokens > 200000 maximum"), ModelOverflowError),
        (Refusal(400, message="input length and `max_tokens` exceed context limit"), ModelOverflowError),
        (Refusal(413, code="request_too_large"), ModelOverflowError),
        (Refusal(400, message="Your credit balance is too low"), ModelRefusedError),
        (Refusal(529, code="overloaded_error"), ModelUnavailableError),
    ],
)
async def test_failures_are_told_apart_in_its_words(rigs: Rigs, refusal: Refusal, error: type[Exception]) -> None:
    """What compaction mends, what the owner must, and what passes."""
    rig = await rigs.open(steps(*[refusal] * 3))
    with pytest.raises(error) as failure:
        await rig.ask()
    assert ("quota" in str(failure.value)) is ("credit" in refusal.message)


async def test_an_error_within_the_stream_is_tried_again(rigs: Rigs) -> None:
    """Overload may come after the first words."""
    rig = await rigs.open(steps(Reply("half of it", failing=True), "whole"))
    assert (await rig.ask()).text == "whole"


def test_no_request_is_empty() -> None:
    """Even one of which nothing is left says something."""
    sent = body_of(ModelRequest("", (), ()), NOTHING_SEEN, OpaqueStates())
    assert [message["role"] for message in sent["messages"]] == ["user"]
    assert "system" not in sent
    assert "tools" not in sent


def test_only_so_many_keepsakes_are_kept() -> None:
    """The oldest goes first."""
    kept = OpaqueStates[str](2)
    for name in "abc":
        kept[name] = name.upper()
    assert [kept.get(name) for name in "abc"] == [None, "B", "C"]


async def test_a_thought_goes_to_no_other_conversation(rigs: Rigs) -> None:
    """Also where a proxy gives the calls of each reply the same ids anew."""
    rig = await rigs.open(steps(SEARCHES, Reply(calls=SEARCHES.calls), "5433"))
    await rig.ask()
    reply = await rig.ask()
    (asked,) = reply.calls
    await rig.ask(asks(user("port?"), reply, ResultEntry(asked.id, asked.name, "5433", False)))
    assert SEARCHES.thought not in str(rig.stub.raw[2])
