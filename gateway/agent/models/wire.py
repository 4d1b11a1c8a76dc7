"""Guard for a provider's responses: a body that is too large or an event that is not JSON ends the attempt."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx
    import httpx2

BODY_CAP = 32_000_000
"""Largest response, in bytes; an event of a stream costs some 200 bytes for each token."""

LINGER_S = 0.2
"""How long to wait for the end of a body once the reply in it is whole."""


class BrokenReplyError(Exception):
    """An unusable response; the message gives the reason and quotes nothing of it."""


def http_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return *others* and the errors of the HTTP clients that are loaded."""
    return (*others, *(client.HTTPError for client in _clients()))


def _clients() -> list[Any]:
    """Return the HTTP clients that are loaded: httpx is only with an SDK that uses it."""
    known = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    return [each for each in known if hasattr(each, "AsyncByteStream")]  # its last name: another thread may load it


async def events(
    chunks: AsyncIterator[bytes], is_last: Callable[[object], bool] = lambda _: False
) -> AsyncGenerator[object]:
    """Yield the JSON of each `data:` line of *chunks*, up to `[DONE]` or one that *is_last* accepts; then drain them.

    A body that is not read to its end costs its connection: the next request would make a new one. Lines end with a
    line feed and nothing else: a text may hold the other separators that HTTP clients split at. Raises BrokenReplyError
    for a line that is not JSON, or more than `BODY_CAP` bytes.
    """
    lines = _LineReader()
    async for chunk in chunks:
        for line in lines.of(chunk):
            data = _data(line)
            if data == b"[DONE]":
                await read_out(chunks)
                return
            if data:
                yield (event := _parse_json(data))
                if is_last(event):
                    await read_out(chunks)
                    return
    if data := _data(lines.rest):
        with suppress(BrokenReplyError):  # the body was cut within this line: it has no finish reason
            yield _parse_json(data)


async def read_out(chunks: AsyncIterator[object]) -> None:
    """Read *chunks* to their end, if it comes soon: the needed part has arrived."""
    with suppress(*http_errors(TimeoutError)):  # the reply was whole: only the connection is lost
        async with asyncio.timeout(LINGER_S):
            async for _ in chunks:
                pass


async def limited_chunks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass on *chunks* while they are small enough and each of their `data:` lines is JSON.

    For a client that reads a body of any size, and skips an event that it cannot parse, which silently loses a piece of
    the reply.
    """
    lines = _LineReader()
    async for chunk in chunks:
        for line in lines.of(chunk):
            data = _data(line)
            if data == b"[DONE]":
                await read_out(chunks)
                break  # what is behind the end is nobody's, in the same chunk as in another
            if data:
                _parse_json(data)
        yield chunk


async def guard(response: "httpx.Response | httpx2.Response") -> None:
    """Guard the body of *response*; serves as a client's hook for the event `response`."""
    for client in _clients():
        if isinstance(response.stream, client.AsyncByteStream):
            response.stream = _guarded(client.AsyncByteStream)(response.stream)
            return


@cache
def _guarded(kind: type[Any]) -> type[Any]:
    """Return the class of guarded streams for a client, which takes those of its own *kind* alone."""

    class GuardedStream(kind):  # type: ignore[misc]  # known when it runs
        def __init__(self, stream: "httpx.AsyncByteStream | httpx2.AsyncByteStream") -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in limited_chunks(aiter(self._stream)):
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    return GuardedStream


class _LineReader:
    """Splits a body into lines, and counts its bytes."""

    def __init__(self) -> None:
        self._size = 0
        self._rest: list[bytes] = []

    @property
    def rest(self) -> bytes:
        """Return the text after the last whole line."""
        return b"".join(self._rest)

    def of(self, chunk: bytes) -> Iterator[bytes]:
        self._size += len(chunk)
        if self._size > BODY_CAP:
            raise BrokenReplyError(f"sent more than {BODY_CAP:,} bytes")
        self._rest.append(chunk)
        if b"\n" in chunk:
            *lines, tail = self.rest.split(b"\n")
            self._rest = [tail]
            yield from lines


def _data(line: bytes) -> bytes:
    kind, _, data = line.partition(b":")
    return data.strip() if kind == b"data" else b""


def _parse_json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise BrokenReplyError("sent an event that is not JSON") from exc
