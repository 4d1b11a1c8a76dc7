"""The operator of a gateway in another process, reached through its `run/control.json`."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import h11
import msgspec

from gateway.control.operator_api import OnReply, OnSign, ignore_sign
from gateway.control.order import Answer, LongOrder, Order, Progress, answer_of, ignore_progress, path_of
from gateway.control.settings_wire import SETTINGS_PATH, SettingsReport
from gateway.errors import GatewayBusyError, StrandlineError
from gateway.home import ControlFile

if TYPE_CHECKING:  # as for the API
    from gateway.control.stream_wire import ChatOrder, StreamEvent

CONNECT_S = 2.0
FIRST_ANSWER_S = 20.0
"""A gateway that has just announced itself still loads its parts: 5 s on a busy machine. Our choice."""
_PIECE = 65_536

Received = TypeVar("Received")


class RemoteOperator:
    """The operator API over HTTP; it waits for an answer as long as that takes, the gateway has limits of its own."""

    def __init__(self, control: ControlFile) -> None:
        self._control = control

    async def ask(self, order: Order[Answer]) -> Answer:
        async with _answered(self._control, path_of(type(order)), msgspec.json.encode(order)) as answer:
            return _read(answer_of(type(order)), await answer.whole())

    async def chat(self, order: "ChatOrder", on_reply: OnReply, on_sign: OnSign = ignore_sign) -> str:
        from gateway.control.stream_wire import ChatSign

        outcome = ""
        async for event in self._events("/control/chat", msgspec.json.encode(order)):
            match event.event:
                case "earlier" | "reply":
                    await on_reply(event.text, event.event == "reply")
                case "draft" | "tool" | "postponed" as kind:
                    on_sign(ChatSign(kind, event.text))
            outcome = event.text
        return outcome

    async def follow(self, order: LongOrder, progress: Progress = ignore_progress) -> str:
        outcome = ""
        async for event in self._events(path_of(type(order)), msgspec.json.encode(order)):
            if event.event == "progress":
                progress(event.done, event.total)
            outcome = event.text
        return outcome

    async def _events(self, path: str, order: bytes) -> AsyncIterator["StreamEvent"]:
        """Yield every event up to the last one; an `error` is raised."""
        from gateway.control.stream_wire import StreamEvent

        async with _answered(self._control, path, order) as answer:
            async for line in answer.lines():
                event = _read(StreamEvent, line)
                if event.event == "error":
                    raise StrandlineError(event.text)
                yield event
                if event.event == "done":
                    return
        raise _connection_lost()


@asynccontextmanager
async def reach_gateway(control: ControlFile) -> AsyncIterator[RemoteOperator | None]:
    """Yield the operator of the gateway that announced *control*; `None` if it no longer answers there."""
    try:
        async with asyncio.timeout(FIRST_ANSWER_S), _answered(control, "/control/alive"):
            is_ours = True
    except (StrandlineError, TimeoutError):  # nobody, or a stranger to whom the token is worthless
        is_ours = False
    yield RemoteOperator(control) if is_ours else None


async def running_settings(control: ControlFile) -> SettingsReport | None:
    """Return what the gateway that announced *control* says of its settings; `None` if it does not answer."""
    try:
        async with asyncio.timeout(FIRST_ANSWER_S), _answered(control, SETTINGS_PATH, b"{}") as answer:
            return _read(SettingsReport, await answer.whole())
    except (StrandlineError, TimeoutError):
        return None


class _Response:
    """The body of an answer, as it arrives."""

    def __init__(self, http: h11.Connection, reader: asyncio.StreamReader) -> None:
        self._http = http
        self._reader = reader

    async def event(self) -> object:
        """Return the next event of the protocol. Raises StrandlineError if the connection is lost."""
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_PIECE))
        except (OSError, h11.RemoteProtocolError) as exc:
            raise _connection_lost() from exc
        return event

    async def pieces(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self.event(), h11.Data):
            yield bytes(event.data)

    async def whole(self) -> bytes:
        return b"".join([piece async for piece in self.pieces()])

    async def lines(self) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in self.pieces():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield line


@asynccontextmanager
async def _answered(control: ControlFile, path: str, body: bytes | None = None) -> AsyncIterator[_Response]:
    """Send a request, with *body* a POST, on a connection of its own; yield the answer once it has begun.

    A client library would cost a command more than all else that it does. Raises StrandlineError for any failure.
    """
    place = urlsplit(control.address)
    head = [("Host", place.netloc), ("Authorization", f"Bearer {control.token}"), ("Connection", "close")]
    head += [("Content-Type", "application/json"), ("Content-Length", str(len(body)))] if body is not None else []
    http = h11.Connection(h11.CLIENT)
    try:
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
    except OSError as exc:  # and a timeout
        raise _connection_lost() from exc
    try:
        sent = [h11.Request(method="GET" if body is None else "POST", target=path, headers=head)]
        writer.writelines(filter(None, map(http.send, [*sent, h11.Data(body or b""), h11.EndOfMessage()])))
        answer = _Response(http, reader)
        begun = await answer.event()
        if not isinstance(begun, h11.Response):
            raise _connection_lost()
        if begun.status_code != HTTPStatus.OK:
            is_busy = begun.status_code == HTTPStatus.SERVICE_UNAVAILABLE
            kind = GatewayBusyError if is_busy else StrandlineError
            raise kind(_error_in(await answer.whole(), begun.status_code))
        yield answer
    finally:
        writer.close()


def _error_in(body: bytes, status: int) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return f"the gateway answered {status}; its log says why"


def _read(kind: type[Received], text: str | bytes) -> Received:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as exc:
        raise StrandlineError("the gateway's response is not understood; is it another version?") from exc


def _connection_lost() -> StrandlineError:
    return StrandlineError("the gateway closed the connection before it answered; accepted messages are kept")
