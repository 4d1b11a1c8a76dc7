"""What is Google's alone: signatures that go back, ids that it may leave out, results by name, waits in its words."""

import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from gateway.agent.entries import ReplyEntry, ResultEntry, ToolCall, Usage
from gateway.agent.models.google import UNSIGNED
from gateway.agent.models.messages import UNSHOWN
from gateway.errors import ModelOverflowError, ModelRefusedError
from tests.fakes.google_stub import SIGNATURE
from tests.fakes.provider_stub import Refusal, Reply, call, steps
from tests.gateway.agent.models.test_hosted import Rigs, asks, user

SEARCHES = Reply(thought="Where is it?", calls=(call("memory_search", "", query="a"), call("status", "")))


@pytest.fixture
async def rigs() -> AsyncIterator[Rigs]:
    async with AsyncExitStack() as stack:
        yield Rigs("google", stack)


def results(reply: ReplyEntry) -> list[ResultEntry]:
    return [ResultEntry(each.id, each.name, "found", False) for each in reply.calls]


async def test_calls_without_ids_get_ours_and_their_results_stand_together(rigs: Rigs) -> None:
    """Two calls of one reply are told apart, and their results are one message that holds nothing else."""
    rig = await rigs.open(steps(SEARCHES, "fine"))
    reply = await rig.ask()
    assert reply.text == ""
    assert len({each.id for each in reply.calls}) == 2
    assert (await rig.ask(asks(user("port?"), reply, *results(reply), user("quick")))).text == "fine"
    assert rig.stub.problems == []
    contents = rig.stub.raw[1]["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user", "user"]
    answered = [part["functionResponse"] for part in contents[2]["parts"]]
    assert [(each["id"], each["name"]) for each in answered] == [(each.id, each.name) for each in reply.calls]


async def test_a_signature_goes_back_with_its_call(rigs: Rigs) -> None:
    """Models refuse their own call without it."""
    rig = await rigs.open(steps(SEARCHES, "fine"))
    reply = await rig.ask()
    await rig.ask(asks(user("port?"), reply, *results(reply)))
    first, second = rig.stub.raw[1]["contents"][1]["parts"]
    assert first["thoughtSignature"] == SIGNATURE
    assert "thoughtSignature" not in second


async def test_a_call_whose_signature_is_not_known_says_so(rigs: Rigs) -> None:
    """After a restart, and of a model that this one stands in for."""
    rig = await rigs.open(steps("fine"))
    reply = ReplyEntry("", (ToolCall("c1", "memory_search", "{}"),), "other", Usage())
    await rig.ask(asks(user("port?"), reply, *results(reply)))
    signature = rig.stub.raw[0]["contents"][1]["parts"][0]["thoughtSignature"]
    assert base64.urlsafe_b64decode(signature) == UNSIGNED
    assert rig.stub.problems == []


async def test_a_history_that_the_model_began_is_opened(rigs: Rigs) -> None:
    """The stub, as the API, wants somebody's words first."""
    rig = await rigs.open(steps("fine"))
    await rig.ask(asks(ReplyEntry("Good morning.", (), "home", Usage()), user("Hello")))
    assert rig.stub.raw[0]["contents"][0]["parts"][0]["text"] == UNSHOWN
    assert rig.stub.problems == []


@pytest.mark.parametrize(("output_tokens", "sent"), [(None, None), (300, 300)])
async def test_a_reply_is_bounded_where_a_setting_says_so(
    rigs: Rigs, output_tokens: int | None, sent: int | None
) -> None:
    """Otherwise the model's own limit holds."""
    rig = await rigs.open(steps("a"), output_tokens=output_tokens)
    await rig.ask()
    assert rig.stub.bodies[0].get("maxOutputTokens") == sent


@pytest.mark.parametrize("finish", ["SAFETY", "PROHIBITED_CONTENT", "RECITATION"])
async def test_a_filter_is_told_apart_from_an_empty_reply(rigs: Rigs, finish: str) -> None:
    """It is not asked again: the answer would be the same, and paid for."""
    rig = await rigs.open(steps(Reply(finish=finish), "never"))
    with pytest.raises(ModelRefusedError, match="content filter"):
        await rig.ask()


async def test_a_call_that_google_could_not_read_is_tried_again(rigs: Rigs) -> None:
    """`MALFORMED_FUNCTION_CALL` is a failure of the model's, and passes."""
    rig = await rigs.open(steps(Reply("half", finish="MALFORMED_FUNCTION_CALL"), "whole"))
    assert (await rig.ask()).text == "whole"


async def test_the_wait_that_its_error_names_is_heard(rigs: Rigs) -> None:
    """Google names it in the body, not in a header."""
    rig = await rigs.open(steps(Refusal(429, code="7.5s"), "here"))
    assert (await rig.ask()).text == "here"
    assert rig.waits == [7.5]


async def test_a_request_over_the_window_says_so(rigs: Rigs) -> None:
    """In Google's words."""
    told = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    rig = await rigs.open(steps(Refusal(400, message=told)))
    with pytest.raises(ModelOverflowError):
        await rig.ask()


async def test_a_wrong_key_is_told_from_a_bad_request(rigs: Rigs) -> None:
    """Google gives both the status 400."""
    rig = await rigs.open(steps(Refusal(400, message="API key not valid. (API_KEY_INVALID)")))
    with pytest.raises(ModelRefusedError, match="check its API key"):
        await rig.ask()


async def test_an_error_within_the_stream_is_tried_again(rigs: Rigs) -> None:
    """Overload may come after the first words."""
    rig = await rigs.open(steps(Reply("half of it", failing=True), "whole"))
    assert (await rig.ask()).text == "whole"
