"""The operator of a gateway in another process, reached through its `run/control.json`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import httpx2
from pydantic import TypeAdapter, ValidationError

from gateway.control.operator_api import OnReply, OnSign, Progress, ignore_sign
from gateway.control.order import Answer, Order, answer_of, path_of
from gateway.errors import StrandlineError
from gateway.home import ControlFile

if TYPE_CHECKING:  # as for the API
    from gateway.control.stream_wire import ChatOrder, CheckOrder, IndexOrder, StreamEvent

PATIENT = httpx2.Timeout(None, connect=2)
"""A chat, a search over changed files or an indexing run takes its time; the gateway has limits of its own."""
FIRST_ANSWER = httpx2.Timeout(20, connect=2)
"""A gateway that has just announced itself still loads its parts: 5 s on a busy machine. Our choice."""

Received = TypeVar("Received")


class RemoteOperator:
    """The operator API over HTTP."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def ask(self, order: Order[Answer]) -> Answer:
        body = TypeAdapter(type(order)).dump_python(order, mode="json")
        try:
            response = await self._client.post(path_of(type(order)), json=body)
        except httpx2.HTTPError as exc:
            raise _connection_lost() from exc
        return _read(answer_of(type(order)), _check_response(response).content)

    async def chat(self, order: "ChatOrder", on_reply: OnReply, on_sign: OnSign = ignore_sign) -> str:
        from gateway.control.stream_wire import ChatSign

        outcome = ""
        async for event in self._events("/control/chat", order):
            match event.event:
                case "earlier" | "reply":
                    await on_reply(event.text, event.event == "reply")
                case "draft" | "tool" | "postponed" as kind:
                    on_sign(ChatSign(kind, event.text))
            outcome = event.text
        return outcome

    async def index(self, order: "IndexOrder", progress: Progress) -> str:
        return await self._follow("/control/index", order, progress)

    async def check(self, order: "CheckOrder", progress: Progress) -> str:
        return await self._follow("/control/check", order, progress)

    async def _follow(self, path: str, order: "IndexOrder | CheckOrder", progress: Progress) -> str:
        """Return the outcome of *order*, reporting its progress."""
        outcome = ""
        async for event in self._events(path, order):
            if event.event == "progress":
                progress(event.done, event.total)
            outcome = event.text
        return outcome

    async def _events(self, path: str, order: "ChatOrder | IndexOrder | CheckOrder") -> AsyncIterator["StreamEvent"]:
        """Yield every event up to the last one; an `error` is raised."""
        from gateway.control.stream_wire import StreamEvent

        try:
            async with self._client.stream("POST", path, json=asdict(order)) as response:
                if response.is_error:
                    await response.aread()
                    _check_response(response)
                async for line in response.aiter_lines():
                    event = _read(StreamEvent, line)
                    if event.event == "error":
                        raise StrandlineError(event.text)
                    yield event
                    if event.event == "done":
                        return
        except httpx2.HTTPError as exc:
            raise _connection_lost() from exc
        raise _connection_lost()


@asynccontextmanager
async def reach_gateway(control: ControlFile) -> AsyncIterator[RemoteOperator | None]:
    """Yield the operator of the gateway that announced *control*; `None` if it no longer answers there."""
    headers = {"Authorization": f"Bearer {control.token}"}
    transport = httpx2.AsyncHTTPTransport(verify=False)  # plain HTTP on loopback: no certificates to load
    async with httpx2.AsyncClient(
        base_url=control.address, headers=headers, timeout=PATIENT, transport=transport
    ) as client:
        yield RemoteOperator(client) if await _is_ours(client) else None


async def _is_ours(client: httpx2.AsyncClient) -> bool:
    """Return whether the listener knows the token; a stale one is worthless to anybody else."""
    try:
        return (await client.get("/control/alive", timeout=FIRST_ANSWER)).status_code == HTTPStatus.OK
    except httpx2.HTTPError:
        return False


def _check_response(response: httpx2.Response) -> httpx2.Response:
    if not response.is_error:
        return response
    try:
        error = str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        error = f"the gateway answered {response.status_code}; its log says why"
    raise StrandlineError(error)


def _read(kind: type[Received], text: str | bytes) -> Received:
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as exc:
        raise StrandlineError("the gateway's response is not understood; is it another version?") from exc


def _connection_lost() -> StrandlineError:
    return StrandlineError("the gateway closed the connection before it answered; accepted messages are kept")
