"""What goes to OpenAI's protocol: as if it were all written anew, and past whatever is no HTTP on the way back."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from gateway.agent.entries import Entry, Picture, ReplyEntry, ToolCall, Usage
from gateway.agent.models.hosted import HostedModel
from gateway.agent.models.messages import Answered, Returned, UnansweredMessages, voices
from gateway.agent.models.openai import LONGEST_REFUSAL, Json, body_of
from gateway.agent.models.port import ModelRequest, OnText
from gateway.agent.models.prefix_cache import PrefixCache
from gateway.agent.models.retry import Retry
from gateway.agent.models.settings import HostedSettings
from gateway.errors import ModelRefusedError, ModelUnavailableError
from tests.fakes.openai_stub import OpenAIStub
from tests.gateway.agent.models.test_hosted import SEARCH, asks, user
from tests.gateway.agent.models.test_messages import ENTRIES

OPTIONS: Json = {"model": "m"}


def sent(request: ModelRequest, prefix_cache: PrefixCache) -> Json:
    body = json.loads(body_of(request, {}, OPTIONS, prefix_cache))
    assert isinstance(body, dict)
    return body


def read(messages: list[Json]) -> list[UnansweredMessages | Answered | Returned]:
    """Return what *messages* tell a provider."""
    told: list[UnansweredMessages | Answered | Returned] = []
    for message in messages:
        match message["role"]:
            case "user":
                told.append(UnansweredMessages(message["content"]))
            case "assistant":
                calls = [(each["id"], each["function"]) for each in message.get("tool_calls", ())]
                called = tuple(ToolCall(call_id, call["name"], call["arguments"]) for call_id, call in calls)
                told.append(Answered(message["content"] or "", called))
            case "tool":
                told.append(Returned(message["tool_call_id"], message["content"]))
    return told


@given(ENTRIES, st.lists(st.integers(0, 12), max_size=6), st.booleans())
def test_what_is_kept_of_a_conversation_changes_no_request(
    entries: list[Entry], ends: list[int], are_copies: bool
) -> None:
    """However a conversation grows, or is taken back, each request says what it would say to begin with."""
    prefix_cache = PrefixCache()
    for end in [*ends, *range(len(entries) + 1)]:
        said = [replace(entry) if are_copies else entry for entry in entries[:end]]
        request = structs.replace(asks(stable="stable"), entries=said)
        body = sent(request, prefix_cache)
        assert body == sent(request, PrefixCache())
        assert body["messages"][0] == {"role": "system", "content": "stable"}
        assert read(body["messages"][1:]) == list(voices(request))


def test_a_request_may_hold_nothing() -> None:
    """Without a prompt, a message or a tool it is still JSON."""
    assert sent(ModelRequest("", (), ()), PrefixCache()) == {"model": "m", "messages": []}


def test_pictures_are_shown_as_they_are_seen_now() -> None:
    """What was written while a picture was shown, or was not, says nothing about the next request."""
    picture = Picture("a.png", "image/png", 5, 640, 480)
    hi = ReplyEntry("Hi.", (), "m", Usage())
    history = (replace(user("look"), pictures=(picture,)), hi, user("and?"), hi, user("well?"))
    prefix_cache = PrefixCache()
    without, shown, again = (
        json.loads(body_of(asks(*history), seen, OPTIONS, prefix_cache))["messages"][1]["content"]
        for seen in ({}, {picture.path: "data:image/png;base64,Ym9hdA=="}, {})
    )
    assert without == again == "look"
    assert [part["type"] for part in shown] == ["text", "image_url"]


def test_half_a_character_does_not_stop_a_turn() -> None:
    """A model may write half of a surrogate pair, which is no UTF-8: it reads a question mark there."""
    body = sent(asks(user("one"), ReplyEntry("cut \ud83d", (), "m", Usage()), user("two")), PrefixCache())
    assert body["messages"][2]["content"] == "cut ?"


class Server:
    """Serves *answer* to any request, *then* goes on once the model has shown some text or ended, and hangs up."""

    def __init__(self, answer: bytes, then: bytes = b"") -> None:
        self._answer = answer
        self._then = then
        self._shown = asyncio.Event()

    async def show(self, _: str) -> None:
        self._shown.set()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
        writer.write(self._answer)
        if self._then:
            await self._shown.wait()
            writer.write(self._then)
        await writer.drain()
        writer.close()

    async def asked(self) -> ReplyEntry:
        """Return what a model makes of it. Raises ModelError."""
        async with await asyncio.start_server(self._handle, "127.0.0.1", 0) as listening:
            url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
            try:
                return await answer_from(url, asks(), self.show)
            finally:
                self._shown.set()


async def unseen(_: str) -> None:
    """Nobody reads the draft."""


async def answer_from(url: str, request: ModelRequest, show: OnText = unseen, *, is_here: bool = False) -> ReplyEntry:
    settings = HostedSettings("openai", "stub", name="home", base_url=url, is_here=is_here)
    model = HostedModel(settings, Retry(tries=1))
    try:
        return await model.reply(request, show)
    finally:
        await model.close()


def chunk(text: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(text), text)


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
WHOLE = HEAD + chunk(b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH\r\n\r\n", b"", HEAD, HEAD + b"zz\r\n", HEAD[:-2]])
async def test_what_is_no_http_is_one_of_our_errors(answer: bytes) -> None:
    """Another service at the address, or a connection that dies, is an unavailable model and no fault of ours."""
    with pytest.raises(ModelUnavailableError, match=r"home: (cannot be reached|the reply was cut off)"):
        await Server(answer).asked()


@pytest.mark.parametrize("then", [b"", b"zz\r\n"])
async def test_what_comes_behind_a_whole_reply_takes_nothing_from_it(then: bytes) -> None:
    """A server that hangs up without the last chunk, or goes on with what is none: it is not asked, and paid, again."""
    assert (await Server(WHOLE, then).asked()).text == "hi"


async def test_a_request_of_megabytes_arrives_whole() -> None:
    """As it is where pictures go with it."""
    async with OpenAIStub(lambda _: "Long.") as stub:
        assert (await answer_from(stub.url, asks(user("x" * 3_000_000)))).text == "Long."
        assert len(stub.bodies[0]["messages"][1]["content"]) == 3_000_000


async def test_a_model_elsewhere_is_asked_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One on the owner's machines is not, nor one that `no_proxy` names."""
    nobody = "http://127.0.0.1:1/v1"
    async with OpenAIStub(lambda _: "By proxy.") as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        assert (await answer_from(nobody, asks())).text == "By proxy."
        with pytest.raises(ModelUnavailableError, match="cannot be reached"):
            await answer_from(nobody, asks(), is_here=True)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with pytest.raises(ModelUnavailableError, match="cannot be reached"):
            await answer_from(nobody, asks())


async def test_a_refusal_without_end_is_read_in_part() -> None:
    """Its status tells enough: a server that goes on with a refusal for ever holds up nobody."""
    endless = b"HTTP/1.1 401 No\r\nContent-Length: 99999999\r\n\r\n" + b"x" * (LONGEST_REFUSAL + 1)
    with pytest.raises(ModelRefusedError, match="check its API key"):
        await Server(endless, b"x").asked()


def test_tools_are_told_with_every_request() -> None:
    """The one that is written down once, too."""
    for _ in range(2):
        (tool,) = sent(asks(), PrefixCache())["tools"]
        assert tool["function"]["parameters"] == SEARCH.parameters
    (other,) = sent(structs.replace(asks(), tools=(replace(SEARCH, parameters={}),)), PrefixCache())["tools"]
    assert other["function"]["parameters"] == {}
