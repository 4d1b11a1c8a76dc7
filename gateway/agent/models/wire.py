"""This file guards what a provider sends: a body that is too large or an event that is not JSON ends the attempt."""

import json
from collections.abc import AsyncIterator

import httpx
import httpx2

BODY_CAP = 32_000_000
"""Largest response, in bytes; an event of a stream costs some 200 bytes for each token."""


class BrokenReplyError(Exception):
    """A response cannot be used; the message says why and holds nothing of it."""


async def guarded(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass on *chunks* while they are small enough and each `data:` line of theirs is JSON.

    The providers' SDKs would read a body of any size, and Cohere's skips an event that it cannot parse, which loses a
    piece of the reply without a word.
    """
    size = 0
    rest: list[bytes] = []
    async for chunk in chunks:
        size += len(chunk)
        if size > BODY_CAP:
            raise BrokenReplyError(f"sent more than {BODY_CAP:,} bytes")
        rest.append(chunk)
        if b"\n" in chunk:
            *lines, tail = b"".join(rest).split(b"\n")
            rest = [tail]
            for line in lines:
                _check(line)
        yield chunk


def _check(line: bytes) -> None:
    kind, _, data = line.partition(b":")
    if kind != b"data" or data.strip() in {b"", b"[DONE]"}:
        return
    try:
        json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise BrokenReplyError("sent an event that is not JSON") from exc


class _GuardedStream(httpx.AsyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream | httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in guarded(aiter(self._stream)):
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def guard(response: httpx.Response | httpx2.Response) -> None:
    """Guard the body of *response*: a hook for the event `response` of a client."""
    if isinstance(response.stream, httpx.AsyncByteStream | httpx2.AsyncByteStream):
        response.stream = _GuardedStream(response.stream)
