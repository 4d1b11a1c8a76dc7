"""Fuzzing of the stream parser: wherever the bytes of a reply are cut, the same comes of them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import AnyStr

from hypothesis import strategies as st

from gateway.agent.models.openai import read
from gateway.agent.models.provider import Finish, TextPiece
from gateway.agent.models.reply_builder import Assembly
from gateway.agent.models.wire import BrokenReplyError, events, limited_chunks
from gateway.errors import ModelError, ModelUnavailableError
from tests.fuzz.campaign import Target
from tests.fuzz.mutation import mutated, seeds_of

_KNOTS = (
    *(
        b"\n",
        b"\r\n",
        b"data: ",
        b"data:",
        b": ping\n",
        b"data: [DONE]\n",
        b"data: null\n",
        b"data: 1\n",
        b"\xff",
        b"\x00",
    ),
    *(
        b"<think>",
        b"</think>",
        b"<Reasoning>",
        b"```",
        b"`",
        b"\\n",
        b"\\ud83d",
        "\u2028😀".encode(),
        b"[",
        b"{",
        b'"',
        b",",
    ),
    *(b'data: {"choices":[{"delta":{"content":"more"}}]}\n', b'data: {"choices":[{"finish_reason":"stop"}]}\n'),
    *(b'data: {"error":{"code":"x"}}\n', b'data: {"usage":{"prompt_tokens":"7"}}\n', b'"index":-1', b'"index":1e999'),
)
_FEWEST_CUTS, _MOST_CUTS = 0, 12


@dataclass(frozen=True, slots=True)
class CutReply:
    """The bytes of a reply, and where they are cut."""

    content: bytes
    cuts: tuple[int, ...]


@st.composite
def _cut_replies(draw: st.DrawFn) -> CutReply:
    content = draw(mutated(seeds_of("stream"), _KNOTS))
    cuts = draw(st.lists(st.integers(0, len(content)), min_size=_FEWEST_CUTS, max_size=_MOST_CUTS))
    return CutReply(content, tuple(sorted(cuts)))


def check(given: CutReply) -> None:
    """Raise AssertionError if the reply depends on where its bytes, or its text, were cut."""
    asyncio.run(_check(given))


async def _check(given: CutReply) -> None:
    whole = await _read([given.content])
    assert await _read(_pieces(given.content, given.cuts)) == whole
    assert await _read([given.content[at : at + 1] for at in range(len(given.content))]) == whole
    assert await _guard([given.content]) == await _guard(_pieces(given.content, given.cuts))
    text = given.content.decode("utf-8", "replace")
    assert _filtered(_pieces(text, given.cuts)) == _filtered([text]) == _filtered(list(text))


async def _read(chunks: Sequence[bytes]) -> tuple[str, ...]:
    """Return what comes of a reply: its text, its calls and its usage, or the error's words, and what was shown."""
    reply, shown = Assembly("m"), []
    try:
        async for event in events(_chunks(chunks)):
            shown += [reply.add(piece) for piece in read("m", event)]
        entry = reply.entry(())
    except (ModelError, BrokenReplyError) as exc:
        return type(exc).__name__, str(exc), "".join(shown)
    calls = [(call.name, call.arguments) for call in entry.calls]
    assert len({call.id for call in entry.calls}) == len(calls)
    return entry.text, repr(calls), repr(entry.usage), "".join(shown)


async def _guard(chunks: Sequence[bytes]) -> str | None:
    """Return what `limited_chunks` refuses a body for, if it does; it passes on what came, unchanged."""
    passed = b""
    try:
        async for chunk in limited_chunks(_chunks(chunks)):
            passed += chunk
    except BrokenReplyError as exc:
        return str(exc)
    if b"[DONE]" not in b"".join(chunks):
        assert passed == b"".join(chunks)
    return None


def _filtered(pieces: Sequence[str]) -> str:
    """Return what a chat is left with."""
    reply = Assembly("m")
    for piece in pieces:
        reply.add(TextPiece(piece))
    reply.add(Finish("stop"))
    try:
        return reply.entry(()).text
    except ModelUnavailableError:  # nothing is left
        return ""


async def _chunks(chunks: Sequence[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def _pieces(whole: AnyStr, cuts: Sequence[int]) -> list[AnyStr]:
    places = [0, *(min(cut, len(whole)) for cut in cuts), len(whole)]
    return [whole[begin:end] for begin, end in pairwise(places)]


TARGET = Target("stream parser", _cut_replies(), check)
