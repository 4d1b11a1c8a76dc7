"""What a provider sends, as pieces of a reply and as our errors."""

import json
from collections.abc import AsyncIterator

import httpx
import httpx2
import pytest

from gateway.agent.entries import ReplyEntry, ToolCall, Usage
from gateway.agent.models import wire
from gateway.agent.models.errors import retry_after_s, status_error
from gateway.agent.models.openai import read
from gateway.agent.models.provider import Finish, TextPiece
from gateway.agent.models.reply_builder import Assembly
from gateway.errors import ModelError, ModelOverflowError, ModelRefusedError, ModelUnavailableError

ODD_EVENTS: tuple[object, ...] = (
    [],
    {"choices": "none", "usage": None},
    {"choices": [None, {"delta": None}]},
    {"choices": [{"delta": {"content": [{"type": "text", "text": "parts "}], "reasoning": "hm"}}]},
    {"choices": [{"delta": {"content": "and\u2028lines", "tool_calls": None}, "finish_reason": ""}]},
)


async def test_what_servers_add_or_leave_out_is_no_fault() -> None:
    """Events without choices, text in parts, line separators within a text: what can be read is the reply."""
    lines = [*(json.dumps(event, ensure_ascii=False) for event in ODD_EVENTS), '{"choices":[{"finish_reason":"eos"}]}']
    assembly = Assembly("home")
    async for event in wire.events(_chunks("".join(f"data:{line}\r\n\r\n" for line in lines))):
        for piece in read("home", event):
            assembly.add(piece)
    assert assembly.entry(()) == ReplyEntry("parts and\u2028lines", (), "home", Usage())


async def test_calls_without_places_or_with_their_names_repeated_are_whole() -> None:
    """Servers number calls as they like: two in one event, the name in each piece, no number at all."""
    assembly = Assembly("home")
    for calls in (
        [{"id": "a", "function": {"name": "one", "arguments": '{"x"'}}, {"function": {"name": "two"}}],
        [{"index": 0, "function": {"name": "one", "arguments": ": 1}"}}],
    ):
        for piece in read("home", {"choices": [{"delta": {"tool_calls": calls}}]}):
            assembly.add(piece)
    assembly.add(Finish("stop"))
    one, two = assembly.entry(()).calls
    assert (one, two.name, two.arguments) == (ToolCall("a", "one", '{"x": 1}'), "two", "{}")


@pytest.mark.parametrize(
    "event", [{"choices": [{"delta": "text"}]}, {"usage": {"prompt_tokens": "many"}}, {"usage": ["x"]}]
)
def test_an_event_that_cannot_be_read_breaks_the_reply(event: object) -> None:
    """JSON of another shape ends the attempt, in our own error."""
    with pytest.raises(wire.BrokenReplyError, match="cannot be read"):
        read("home", event)


def test_an_error_within_a_stream_is_told_apart() -> None:
    """After HTTP 200 a server can still say that the request is too large, or that it failed."""
    with pytest.raises(ModelOverflowError):
        read("home", {"error": {"code": "context_length_exceeded"}})
    with pytest.raises(ModelUnavailableError, match="within the reply"):
        read("home", {"error": {"message": "secret"}})


@pytest.mark.parametrize(("text", "is_refusal"), [("", True), ("Half", False)])
def test_a_content_filter_refuses_what_has_no_text(text: str, is_refusal: bool) -> None:
    """A reply that a filter empties will not come by trying again; what it leaves of a text is the reply."""
    assembly = Assembly("home")
    assembly.add(TextPiece(text))
    assembly.add(Finish("filtered"))
    if is_refusal:
        with pytest.raises(ModelRefusedError, match="content filter"):
            assembly.entry(())
    else:
        assert assembly.entry(()).text == "Half"


@pytest.mark.parametrize("fault", [httpx.RemoteProtocolError("cut"), httpx2.RemoteProtocolError("cut")])
async def test_a_connection_that_breaks_behind_a_whole_reply_takes_nothing_from_it(fault: Exception) -> None:
    """Some servers hang up once they have said that they are done: the model is not asked, and paid, again."""

    async def cut() -> AsyncIterator[bytes]:
        yield b'data: {"a": 1}\n\ndata: [DONE]\n\n'
        raise fault

    assert [event async for event in wire.events(cut())] == [{"a": 1}]
    assert len([chunk async for chunk in wire.limited_chunks(cut())]) == 1


async def test_what_stands_behind_the_end_of_a_reply_is_nobodys_however_it_was_cut() -> None:
    """The reply is whole: it is not refused for what came with its end any more than for what came after it."""

    async def cut(at: int) -> AsyncIterator[bytes]:
        whole = b'data: {"a": 1}\ndata: [DONE]\ndata: {\n'
        yield whole[:at]
        yield whole[at:]

    for at in range(38):
        assert [event async for event in wire.events(cut(at))] == [{"a": 1}], at
        assert [chunk async for chunk in wire.limited_chunks(cut(at))], at


async def _chunks(body: str) -> AsyncIterator[bytes]:
    """Yield *body* in pieces that end within lines and characters."""
    whole = body.encode()
    for start in range(0, len(whole), 7):
        yield whole[start : start + 7]


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (429, {"code": "insufficient_quota"}, ModelRefusedError, "quota"),
        (402, "", ModelRefusedError, "quota"),
        (400, {"code": "content_filter"}, ModelRefusedError, "content filter"),
        (413, "", ModelOverflowError, "window"),
    ],
)
def test_refusals_are_told_apart(status: int, body: object, kind: type[ModelError], says: str) -> None:
    """What an owner can mend is said; a rate limit and an empty account share their status."""
    failure = status_error("home", status, body, {})
    assert type(failure) is kind
    assert says in str(failure)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Sat, 01 Jan 2000 00:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "²", "retry-after-ms": "²"}, None),
        ({}, None),
    ],
)
def test_how_long_a_provider_wants_to_be_left_alone(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds or a date; anything else says nothing."""
    assert retry_after_s(headers) == seconds
