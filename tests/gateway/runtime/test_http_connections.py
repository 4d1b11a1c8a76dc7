"""Limits of the HTTP server's connections, seen by clients on loopback."""

import asyncio
import logging
import resource
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from gateway.runtime import http_connections, http_server
from gateway.runtime.http_connections import ConnectionLimits, Connections, connection_limits
from tests.fakes.patience import PATIENCE_S

NEVER_S = 10 * PATIENCE_S
HEAD = b"GET /quick HTTP/1.1\r\nHost: 127.0.0.1\r\n"
QUICK = HEAD + b"\r\n"
LAST = HEAD + b"Connection: close\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
BODY = b"POST /body HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nhalf"
ENDLESS = b"GET /endless HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@dataclass
class House:
    """A server, its clients, and what holds its slow answers up."""

    stack: AsyncExitStack
    address: str = ""
    slow: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    given_up: asyncio.Event = field(default_factory=asyncio.Event)

    def app(self) -> Starlette:
        async def quick(_: Request) -> Response:
            return PlainTextResponse("quick")

        async def slow(_: Request) -> Response:
            self.slow.release()
            await self.may_end.wait()
            return PlainTextResponse("slow")

        async def body(request: Request) -> Response:
            return PlainTextResponse(await request.body())

        async def endless(_: Request) -> Response:
            async def pieces() -> AsyncIterator[bytes]:
                try:
                    while True:
                        yield b"x" * 100_000
                        await asyncio.sleep(0)
                finally:
                    self.given_up.set()

            return StreamingResponse(pieces())

        routes = [Route(f"/{each.__name__}", each, methods=["GET", "POST"]) for each in (quick, slow, body, endless)]
        return Starlette(routes=routes)

    async def sends(self, request: bytes) -> asyncio.StreamReader:
        """Connect, send that much, and return where the answer comes."""
        where = urlsplit(self.address)
        reader, writer = await asyncio.open_connection(where.hostname, where.port, limit=1_000)
        self.stack.callback(writer.close)
        writer.write(request)
        return reader

    async def working(self, number: int) -> list[asyncio.StreamReader]:
        """Have so many requests at work."""
        found = [await self.sends(SLOW) for _ in range(number)]
        for _ in range(number):
            await self.slow.acquire()
        return found


@asynccontextmanager
async def served(monkeypatch: pytest.MonkeyPatch, limits: ConnectionLimits) -> AsyncIterator[House]:
    monkeypatch.setattr(http_server, "connection_limits", lambda: limits)
    async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as stack:
        house = House(stack)
        house.address = await stack.enter_async_context(http_server.serving(house.app(), "127.0.0.1", 0))
        stack.callback(house.may_end.set)
        yield house


async def all_of(reader: asyncio.StreamReader) -> bytes:
    """Return what came until the other side ended the connection, be it rudely."""
    came = b""
    try:
        while piece := await reader.read(1_000):
            came += piece
    except ConnectionResetError:
        pass
    return came


def limits(most: int, head_s: float = NEVER_S, body_s: float = NEVER_S, idle_s: float = NEVER_S) -> ConnectionLimits:
    return ConnectionLimits(most, head_s, body_s, idle_s)


# --- time


@pytest.mark.parametrize("half", [HEAD, QUICK + HEAD, BODY])
async def test_a_request_that_does_not_end_is_ended(
    half: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The client is told that it took too long, and the log holds no traceback."""
    async with served(monkeypatch, limits(9, head_s=0.1, body_s=0.1)) as house:
        assert b"HTTP/1.1 408 " in await all_of(await house.sends(half))
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_byte_now_and_then_buys_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A head counts from its beginning, however often something comes."""
    async with served(monkeypatch, limits(9, head_s=0.3)) as house:
        where = urlsplit(house.address)
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        house.stack.callback(writer.close)
        ended = asyncio.ensure_future(all_of(reader))
        while not ended.done():
            writer.write(b"x")
            await asyncio.wait([ended], timeout=0.02)
        assert b"HTTP/1.1 408 " in ended.result()


async def test_a_kept_connection_may_rest_longer_than_a_head_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that comes back to it is answered there; its head is bounded from its first byte on."""
    async with served(monkeypatch, limits(9, head_s=0.1)) as house:
        where = urlsplit(house.address)
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        house.stack.callback(writer.close)
        for _ in range(2):
            writer.write(QUICK)
            assert await reader.readuntil(b"\r\n\r\nquick")
            await all_of(await house.sends(HEAD))  # as long as a head may take, twice
            await all_of(await house.sends(HEAD))
        writer.write(HEAD)
        assert b"HTTP/1.1 408 " in await all_of(reader)


async def test_a_kept_connection_that_nobody_comes_back_to_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Politely, without an answer to a request that there was none of."""
    async with served(monkeypatch, limits(9, idle_s=0.05)) as house:
        came = await all_of(await house.sends(QUICK))
        assert came.endswith(b"\r\n\r\nquick")


async def test_an_answer_that_nobody_takes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks for much and reads nothing does not keep its connection."""
    async with served(monkeypatch, limits(9, body_s=0.1)) as house:
        unread = await house.sends(ENDLESS)
        await house.given_up.wait()
        assert not unread.at_eof()


async def test_work_takes_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits are the client's: an answer that takes longer comes."""
    async with served(monkeypatch, limits(9, head_s=0.05, body_s=0.05, idle_s=0.05)) as house:
        (slow,) = await house.working(1)
        await all_of(await house.sends(HEAD))  # as long as both limits
        house.may_end.set()
        assert b"slow" in await all_of(slow)


# --- number


async def test_who_waited_longest_makes_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer is answered; requests at work, and those that came later, stay."""
    async with served(monkeypatch, limits(3)) as house:
        (slow,) = await house.working(1)
        first = await house.sends(HEAD)
        later = await house.sends(BODY)
        assert b"quick" in await all_of(await house.sends(LAST))
        assert b"HTTP/1.1 503 " in await all_of(first)
        house.may_end.set()
        assert await slow.readline() == b"HTTP/1.1 200 OK\r\n"
        assert not later.at_eof()


async def test_an_idle_connection_makes_way_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sent no request gets no answer to one."""
    async with served(monkeypatch, limits(1)) as house:
        idle = await house.sends(b"")
        assert b"quick" in await all_of(await house.sends(LAST))
        assert await all_of(idle) == b""


async def test_when_all_are_at_work_the_next_is_refused(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With 503, at once; what is at work is finished, and then there is room again."""
    async with served(monkeypatch, limits(2)) as house:
        slow = await house.working(2)
        for _ in range(20):
            assert (await all_of(await house.sends(QUICK))).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        house.may_end.set()
        for each in slow:
            assert b"HTTP/1.1 200 OK" in await each.readline()
        assert b"quick" in await all_of(await house.sends(LAST))
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_crowd_at_once_never_has_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also within one round of the event loop; afterwards nothing of it is left."""
    crowd: list[int] = []
    admit = Connections.admit

    def counted(self: Connections) -> bool:
        admitted = admit(self)
        crowd.append(self._open)
        return admitted

    monkeypatch.setattr(Connections, "admit", counted)
    async with served(monkeypatch, limits(20)) as house:
        await asyncio.gather(*(house.sends(HEAD) for _ in range(300)))
        assert b"quick" in await all_of(await house.sends(LAST))
        assert max(crowd) <= 20 + http_connections.CLOSING
        assert len(crowd) > 300


@pytest.mark.parametrize(("files", "most"), [(256, 64), (1_024, 256), (100_000, 512), (resource.RLIM_INFINITY, 512)])
def test_connections_leave_files_for_the_rest(files: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers take half of what the process may have open, and no more than is of use."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, resource.RLIM_INFINITY))
    assert connection_limits().most == most
