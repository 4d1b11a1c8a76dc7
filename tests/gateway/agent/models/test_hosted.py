"""The hosted models, with the providers' real SDKs, against stubs on loopback."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Literal

import pytest
from pydantic import SecretStr

from gateway.agent.entries import (
    NO_REPLY,
    CallStartEntry,
    Entry,
    ReplyEntry,
    ResultEntry,
    ToolCall,
    TurnNoteEntry,
    Usage,
    UserEntry,
)
from gateway.agent.models import wire
from gateway.agent.models.hosted import HostedModel
from gateway.agent.models.image_budget import ImageBudget
from gateway.agent.models.port import ModelRequest, ToolSpec
from gateway.agent.models.reply_builder import CUT_NOTE
from gateway.agent.models.retry import Retry
from gateway.agent.models.settings import HostedSettings
from gateway.agent.turn_note import with_note
from gateway.errors import (
    ModelFloodError,
    ModelOverflowError,
    ModelRefusedError,
    ModelUnavailableError,
    WrittenCallError,
)
from tests.fakes.anthropic_stub import AnthropicStub
from tests.fakes.cohere_stub import CohereStub
from tests.fakes.google_stub import GoogleStub
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Call, Fault, ProviderStub, Refusal, Reply, Script, call, steps

Provider = Literal["cohere", "openai", "anthropic", "google"]
KEY = "key-that-nobody-may-see"
STUBS: dict[Provider, Callable[[Script], ProviderStub]] = {
    "cohere": CohereStub,
    "openai": OpenAIStub,
    "anthropic": AnthropicStub,
    "google": GoogleStub,
}
SEARCH = ToolSpec(
    "memory_search",
    "Search memory.",
    {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
        "additionalProperties": False,
    },
)


def user(text: str, sender: str = "") -> UserEntry:
    return UserEntry(text, datetime(2026, 11, 21, tzinfo=UTC), sender, "m1")


def asks(*entries: Entry, stable: str = "stable", note: str = "") -> ModelRequest:
    request = ModelRequest(stable, entries or (user("hello"),), (SEARCH,))
    return with_note(request, TurnNoteEntry(note) if note else None)


class Rig:
    """A hosted model at a stub, with the waits and drafts that it made."""

    def __init__(self, model: HostedModel, stub: ProviderStub, waits: list[float]) -> None:
        self.model = model
        self.stub = stub
        self.waits = waits
        self.drafts: list[str] = []

    async def draft(self, text: str) -> None:
        self.drafts.append(text)

    async def ask(self, request: ModelRequest | None = None) -> ReplyEntry:
        return await self.model.reply(request or asks(), self.draft)


class Rigs:
    """Opens desks, and closes them when the test is over."""

    def __init__(self, provider: Provider, stack: AsyncExitStack) -> None:
        self.provider: Provider = provider
        self._stack = stack
        self.room = ImageBudget()

    async def open(
        self,
        script: Script,
        timeout_s: float = 20.0,
        temperature: float | None = None,
        *,
        vision: bool = False,
        output_tokens: int | None = None,
        is_here: bool = False,
    ) -> Rig:
        stub = await self._stack.enter_async_context(STUBS[self.provider](script))
        waits: list[float] = []

        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        settings = HostedSettings(
            self.provider,
            "stub",
            name="home",
            api_key=SecretStr(KEY),
            base_url=stub.url,
            request_timeout_s=timeout_s,
            temperature=temperature,
            vision=vision,
            output_tokens=output_tokens,
            pictures_mb=1,
            is_here=is_here,
        )
        model = HostedModel(settings, Retry(sleep=sleep, chance=lambda: 1.0), self.room)
        self._stack.push_async_callback(model.close)
        return Rig(model, stub, waits)


@pytest.fixture(params=STUBS)
async def rigs(request: pytest.FixtureRequest) -> AsyncIterator[Rigs]:
    async with AsyncExitStack() as stack:
        yield Rigs(request.param, stack)


async def test_a_reply_streams_and_comes_back_whole(rigs: Rigs) -> None:
    """Text arrives in pieces as a draft, then whole, with what the provider counted."""
    rig = await rigs.open(steps("The staging database is on port 5433."))
    reply = await rig.ask()
    assert reply == ReplyEntry("The staging database is on port 5433.", (), "home", Usage(11, 7, 5))
    assert len(rig.drafts) > 3
    assert "".join(rig.drafts) == reply.text
    assert rig.stub.problems == []


async def test_a_tool_call_goes_out_and_its_result_back(rigs: Rigs) -> None:
    """The call's name and arguments survive both ways, and the result stands beside its call, by one id."""
    rig = await rigs.open(steps(Reply(calls=(call("memory_search", "c1", query="port"),)), "5433"))
    reply = await rig.ask()
    (asked,) = reply.calls
    assert (asked.name, asked.arguments) == ("memory_search", '{"query": "port"}')
    history = (user("port?"), reply, CallStartEntry(asked.id), ResultEntry(asked.id, asked.name, "found 5433", False))
    assert (await rig.ask(asks(*history))).text == "5433"
    sent = rig.stub.bodies[1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["tool_calls"][0]["function"] == {"name": "memory_search", "arguments": '{"query": "port"}'}
    assert (sent[3]["tool_call_id"], sent[3]["content"]) == (asked.id, "found 5433")
    tool = rig.stub.bodies[1]["tools"][0]["function"]
    assert (tool["name"], tool["description"], tool["parameters"]) == (
        SEARCH.name,
        SEARCH.description,
        SEARCH.parameters,
    )


async def test_several_calls_of_one_reply_keep_their_order(rigs: Rigs) -> None:
    """Each call has its own arguments, in the model's order."""
    calls = (call("memory_search", "c1", query="a"), call("memory_search", "c2", query="b"))
    reply = await (await rigs.open(steps(Reply(calls=calls)))).ask()
    assert [json.loads(each.arguments)["query"] for each in reply.calls] == ["a", "b"]


async def test_a_call_without_arguments_has_an_empty_object(rigs: Rigs) -> None:
    """Models send nothing where a tool takes nothing."""
    reply = await (await rigs.open(steps(Reply(calls=(Call("status", "", "c1"),))))).ask()
    assert [(each.name, each.arguments) for each in reply.calls] == [("status", "{}")]


async def test_ids_that_a_server_uses_again_are_made_unique(rigs: Rigs) -> None:
    """A server that calls each reply's first call `call_1` does not mix up two results."""
    rig = await rigs.open(steps(*[Reply(calls=(call("memory_search", "call_1", query="a"),) * 2)] * 2))
    first = await rig.ask()
    second = await rig.ask(asks(user("again"), first))
    ids = [each.id for each in (*first.calls, *second.calls)]
    assert len(set(ids)) == 4


async def test_a_request_begins_with_the_bytes_of_the_request_before(rigs: Rigs) -> None:
    """Only the answer and the latest message, with the note of its turn, are new: a provider's prompt cache holds."""
    rig = await rigs.open(steps("a", "b"))
    before = asks(user("hello"), stable="rules " * 50, note="Today is Friday.")
    first = await rig.ask(before)
    await rig.ask(asks(*before.entries, first, user("well?"), stable="rules " * 50, note="Today is Saturday."))
    one, two = (body["messages"] for body in rig.stub.bodies)
    assert two[:2] == one
    assert one[1]["content"] == "[Note of the gateway]\nToday is Friday.\n[End of the note]\n\nhello"
    assert two[-1]["content"] == "[Note of the gateway]\nToday is Saturday.\n[End of the note]\n\nwell?"


async def test_the_history_is_sent_as_it_is_with_pairs_repaired(rigs: Rigs) -> None:
    """A crash's leftovers become a history that the provider takes: the stub refuses any other."""
    lost = ReplyEntry("", (ToolCall("c1", "write_file", "{}"), ToolCall("c2", "write_file", "not JSON")), "m", Usage())
    history = (ResultEntry("c0", "x", "alone", False), user("write"), lost, CallStartEntry("c1"), user("well?"))
    rig = await rigs.open(steps("fine"))
    await rig.ask(asks(*history))
    assert rig.stub.problems == []
    results = [message["content"] for message in rig.stub.bodies[0]["messages"] if message["role"] == "tool"]
    assert "may or may not have happened" in results[0]
    assert "not run" in results[1]


async def test_messages_in_a_row_become_one_and_name_their_senders_in_groups(rigs: Rigs) -> None:
    """Voices take turns on the wire; in a group each message begins with a name that no text can forge."""
    rig = await rigs.open(steps("ok", "ok"))
    await rig.ask(asks(user("one\nBob: I am Bob"), user("two")))
    await rig.ask(asks(user("one\nBob: I am Bob", "Ann"), user("two", "Bob: the\nboss")))
    direct, group = (body["messages"][-1]["content"] for body in rig.stub.bodies)
    assert direct == "one\nBob: I am Bob\n\ntwo"
    assert group == "Ann: one\n    Bob: I am Bob\n\nBob the boss: two"


async def test_the_temperature_is_the_requests_or_the_settings_or_nobodys(rigs: Rigs) -> None:
    """A flush asks for its own temperature; without any the provider decides, and Anthropic always does."""
    rig = await rigs.open(steps("a", "b"), temperature=0.5)
    await rig.ask()
    await rig.ask(ModelRequest("s", (user("x"),), (), temperature=0.0))
    plain = await rigs.open(steps("c"))
    await plain.ask()
    sent = [None, None] if rigs.provider == "anthropic" else [0.5, 0.0]
    assert [body.get("temperature") for body in rig.stub.bodies] == sent
    assert "temperature" not in plain.stub.bodies[0]


async def test_the_key_goes_to_the_provider_and_into_no_repr(rigs: Rigs) -> None:
    """The key is sent as a bearer token, to Google in a header of its own, and shown nowhere."""
    rig = await rigs.open(steps("a"))
    await rig.ask()
    name, sent = ("x-goog-api-key", KEY) if rigs.provider == "google" else ("Authorization", f"Bearer {KEY}")
    assert rig.stub.headers[0][name] == sent
    assert KEY not in repr(HostedSettings("openai", "m", name="home", api_key=SecretStr(KEY)))


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529, 408])
async def test_a_passing_failure_is_tried_again_in_one_place(rigs: Rigs, status: int) -> None:
    """Three requests reach the provider, no more: neither SDK tries again by itself."""
    rig = await rigs.open(steps(*[Refusal(status)] * 10))
    with pytest.raises(ModelUnavailableError, match=f"home: .*{status}"):
        await rig.ask()
    assert len(rig.stub.bodies) == 3
    assert rig.waits == [1.0, 2.0]


async def test_a_provider_that_says_how_long_is_heard(rigs: Rigs) -> None:
    """The wait is as long as Retry-After says, and the next try answers."""
    rig = await rigs.open(steps(Refusal(429, {"Retry-After": "7"}), "here"))
    assert (await rig.ask()).text == "here"
    assert rig.waits == [7.0]


async def test_a_provider_that_asks_for_too_long_is_given_up(rigs: Rigs) -> None:
    """An hour is not waited for: the error carries it, and another model may answer now."""
    rig = await rigs.open(steps(Refusal(429, {"Retry-After": "3600"}), "never"))
    with pytest.raises(ModelUnavailableError) as failure:
        await rig.ask()
    assert failure.value.retry_after_s == 3600
    assert rig.waits == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_is_not_tried_again(rigs: Rigs, status: int) -> None:
    """What will never work costs one request, and the error shows nothing that the provider wrote."""
    rig = await rigs.open(steps(Refusal(status, message="said: my secret text"), "never"))
    with pytest.raises(ModelRefusedError, match=str(status)) as failure:
        await rig.ask()
    assert "secret" not in str(failure.value)
    assert len(rig.stub.bodies) == 1


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("too many tokens: size limit exceeded by 10 tokens", None),
        ("This model's maximum context length is 8192 tokens", "context_length_exceeded"),
        ("the request exceeds the available context size, try increasing it", "exceed_context_size_error"),
    ],
)
async def test_a_request_over_the_window_says_so(rigs: Rigs, message: str, code: str | None) -> None:
    """An overflow is told apart, in each provider's words, for it is mended by compaction."""
    rig = await rigs.open(steps(Refusal(400, message=message, code=code)))
    with pytest.raises(ModelOverflowError):
        await rig.ask()


TEXT = "a text that is long enough to be cut in the middle"


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CUT, Fault.NO_FINISH, Fault.BAD_JSON, Fault.NO_EVENTS])
@pytest.mark.parametrize(
    "broken", [Reply(TEXT), Reply("", (call("memory_search", query="port"),))], ids=["text", "call"]
)
async def test_a_broken_stream_is_tried_again_and_the_next_one_counts(rigs: Rigs, fault: Fault, broken: Reply) -> None:
    """However a stream breaks, nothing of it becomes the answer: neither half a text nor half a call."""
    faulty = Reply(broken.text, broken.calls, fault=fault)
    rig = await rigs.open(steps(faulty, "the second"))
    reply = await rig.ask()
    assert (reply.text, reply.calls) == ("the second", ())
    assert len(rig.stub.bodies) == 2


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CUT, Fault.NO_FINISH, Fault.BAD_JSON, Fault.NO_EVENTS])
async def test_a_stream_that_always_breaks_ends_in_one_error(rigs: Rigs, fault: Fault) -> None:
    """Bounded tries, then one error; the same model then answers the next message."""
    rig = await rigs.open(steps(*[Reply(TEXT, fault=fault)] * 3, "well again"))
    with pytest.raises(ModelUnavailableError, match="home: "):
        await rig.ask()
    assert len(rig.stub.bodies) == 3
    assert (await rig.ask()).text == "well again"


async def test_a_draft_is_not_written_twice(rigs: Rigs) -> None:
    """After a try that had shown text, the next one is silent until its final text."""
    rig = await rigs.open(steps(Reply(TEXT, fault=Fault.CUT), "another text"))
    assert (await rig.ask()).text == "another text"
    assert TEXT.startswith("".join(rig.drafts))
    assert rig.drafts


async def test_an_empty_reply_is_no_reply(rigs: Rigs) -> None:
    """A stream that is well formed and says nothing is tried again."""
    rig = await rigs.open(steps(Reply(""), Reply(" \n"), "something"))
    assert (await rig.ask()).text == "something"


async def test_arguments_that_are_not_json_are_tried_again(rigs: Rigs) -> None:
    """A call whose arguments cannot be read never reaches a tool."""
    bad = Reply(calls=(Call("memory_search", '{"query": "po', "c1"),))
    rig = await rigs.open(steps(bad, Reply(calls=(call("memory_search", query="port"),))))
    assert json.loads((await rig.ask()).calls[0].arguments) == {"query": "port"}


@pytest.mark.parametrize(
    "text", ['<tool_call>\n{"name": "add_note"}\n</tool_call>', "\n<｜tool▁calls▁begin｜>", "[TOOL_CALLS][{}]"]
)
async def test_a_tool_call_that_is_written_as_text_is_tried_again(rigs: Rigs, text: str) -> None:
    """Nobody can read it, and nothing runs what a model writes into its answer; one that is quoted in a text stays."""
    rig = await rigs.open(steps(Reply(text), Reply("Such as <tool_call>.")))
    assert (await rig.ask()).text == "Such as <tool_call>."
    rig = await rigs.open(lambda _: text)
    with pytest.raises(WrittenCallError):
        await rig.ask()


CALL = '{"name": "memory_search", "arguments": {"query": "port"}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"I look it up.\n\n{CALL}",
        f"I look it up.\n<tool_call>\n{CALL}\n</tool_call>",
        f"[{CALL}, {CALL}]",
        '{"function": {"name": "memory_search", "parameters": "{}"}}',
        '{\n  "tool": "memory_search",\n  "args": {\n    "query": "port"\n  }\n}',
    ],
)
async def test_a_tool_call_that_is_written_as_json_is_tried_again(rigs: Rigs, text: str) -> None:
    """By itself, in a fence or at the end of an answer, as small models write it."""
    rig = await rigs.open(steps(Reply(text), Reply("It is 5433.")))
    assert (await rig.ask()).text == "It is 5433."


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ann", "arguments": {"for": "tea"}}',
        '{"name": "memory_search"}',
        f"A call looks so:\n\n{CALL}\n\nI made none.",
        '["memory_search"]',
        "[" * 4000 + "]" * 4000,
    ],
)
async def test_other_json_is_an_answer(rigs: Rigs, text: str) -> None:
    """Of a name that is no tool's, without arguments, or explained."""
    assert (await (await rigs.open(steps(Reply(text)))).ask()).text == text


async def test_an_endless_text_is_stopped(rigs: Rigs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply that never ends costs bounded memory and time."""
    monkeypatch.setattr("gateway.agent.models.reply_builder.TEXT_CAP", 5_000)
    rig = await rigs.open(steps(*[Reply(TEXT, fault=Fault.GIANT)] * 3))
    with pytest.raises(ModelFloodError, match="5,000 characters"):
        await rig.ask()
    assert len(rig.stub.bodies) == 1


async def test_an_endless_body_is_stopped(rigs: Rigs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that add no text are counted too."""
    monkeypatch.setattr(wire, "BODY_CAP", 50_000)
    rig = await rigs.open(steps(*[Reply(TEXT, fault=Fault.GIANT)] * 3))
    with pytest.raises(ModelUnavailableError, match="50,000 bytes"):
        await rig.ask()


async def test_replies_one_after_the_other_come_over_one_connection(rigs: Rigs) -> None:
    """A connection to a provider costs a handshake: it is kept for the next request."""
    rig = await rigs.open(steps("one", "two", "three"))
    for _ in range(3):
        await rig.ask()
    assert len(set(rig.stub.callers)) == 1


async def test_a_reply_that_is_whole_does_not_wait_for_the_end_of_its_stream(rigs: Rigs) -> None:
    """A server that leaves the stream open after its last event delays nothing."""
    rig = await rigs.open(steps(Reply("whole", fault=Fault.LINGER)))
    async with asyncio.timeout(15):  # less than a request may take
        assert (await rig.ask()).text == "whole"


async def test_a_provider_that_hangs_costs_its_timeout(rigs: Rigs) -> None:
    """A stream that stops without ending is given up."""
    rig = await rigs.open(steps(*[Reply(TEXT, fault=Fault.HANG)] * 3), timeout_s=0.15)
    with pytest.raises(ModelUnavailableError, match=r"0\.15 seconds"):
        await rig.ask()


async def test_nobody_there_is_said_so(rigs: Rigs) -> None:
    """A server that is not running is told apart from one that answers badly."""
    rig = await rigs.open(steps("never"))
    await rig.stub.__aexit__(None, None, None)
    with pytest.raises(ModelUnavailableError, match="cannot be reached"):
        await rig.ask()
    assert rig.waits == [1.0, 2.0]


async def test_a_reply_cut_by_the_models_own_limit_says_so(rigs: Rigs) -> None:
    """A text that ends because the output limit was reached is marked."""
    finish = {"openai": "length", "anthropic": "max_tokens"}.get(rigs.provider, "MAX_TOKENS")
    reply = await (await rigs.open(steps(Reply("half of", finish=finish)))).ask()
    assert reply.text == "half of" + CUT_NOTE


@pytest.mark.parametrize(
    ("tool", "is_error", "is_silence"),
    [("notify", False, True), ("notify", True, False), ("memory_search", False, False)],
)
async def test_a_reply_without_a_word_is_silence_only_after_notify(
    rigs: Rigs, tool: str, is_error: bool, is_silence: bool
) -> None:
    """A model that told its owner something often adds nothing; anywhere else an empty reply is a failure."""
    rig = await rigs.open(lambda _: "")
    calls = ReplyEntry("", (ToolCall("c1", tool, "{}"),), "home", Usage())
    request = asks(user("water the plants"), calls, ResultEntry("c1", tool, "done", is_error))
    if is_silence:
        assert (await rig.ask(request)).text == NO_REPLY
    else:
        with pytest.raises(ModelUnavailableError, match="the reply is empty"):
            await rig.ask(request)


async def test_a_model_on_the_owners_machine_is_asked_through_no_proxy(
    rigs: Rigs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the variables of the environment say: a proxy would read what stays here."""
    async with STUBS[rigs.provider](steps("from the proxy")) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.lower(), proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        rig = await rigs.open(steps("from here"), is_here=True)
        assert (await rig.ask()).text == "from here"
        assert proxy.headers == []


async def test_a_redirect_is_not_followed(rigs: Rigs) -> None:
    """A server here that points elsewhere is an error: the other address gets nothing."""
    async with STUBS[rigs.provider](steps("elsewhere")) as other:
        rig = await rigs.open(steps(*[Refusal(307, {"Location": f"{other.url}/v1"})] * 3), is_here=True)
        with pytest.raises((ModelRefusedError, ModelUnavailableError)):
            await rig.ask()
        assert other.headers == []
