"""The operator of a gateway in another process, reached through its `run/control.json`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from http import HTTPStatus
from typing import TypeVar

import httpx2
from pydantic import TypeAdapter, ValidationError

from gateway.admission.explain import Explanation
from gateway.control.admission_wire import PairAnswer, PairOrder, RouteOrder, SilencesAnswer, SilencesOrder
from gateway.control.browsers import BrowserAnswer, BrowserOrder
from gateway.control.cron_wire import CronAnswer, CronOrder
from gateway.control.operator_api import OnReply, Progress
from gateway.control.status_wire import MemoryStatus, Status
from gateway.control.tools_wire import ToolAnswer, ToolOrder
from gateway.control.wire import (
    AgentOrder,
    ApprovalAnswer,
    ApprovalOrder,
    ChatOrder,
    HistoryAnswer,
    HistoryOrder,
    MemorySearchAnswer,
    MemorySource,
    OriginOrder,
    QuarantineAnswer,
    QuarantineOrder,
    SearchOrder,
    SessionsAnswer,
    SessionsOrder,
    StreamEvent,
    Why,
)
from gateway.errors import StrandlineError
from gateway.home import ControlFile

PATIENT = httpx2.Timeout(None, connect=2)
"""A chat, a search over changed files or an indexing run takes its time; the gateway has limits of its own."""
FIRST_ANSWER_S = 2.0

Answer = TypeVar("Answer")


class RemoteOperator:
    """The operator API over HTTP."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def status(self) -> Status:
        return await self._ask("GET", "/control/status", None, Status)

    async def search(self, order: SearchOrder) -> MemorySearchAnswer:
        return await self._ask("POST", "/control/memory/search", order, MemorySearchAnswer)

    async def why(self, order: AgentOrder) -> Why:
        return await self._ask("POST", "/control/memory/why", order, Why)

    async def origin(self, order: OriginOrder) -> MemorySource:
        return await self._ask("POST", "/control/memory/origin", order, MemorySource)

    async def memory_status(self, order: AgentOrder) -> MemoryStatus:
        return await self._ask("POST", "/control/memory/status", order, MemoryStatus)

    async def history(self, order: HistoryOrder) -> HistoryAnswer:
        return await self._ask("POST", "/control/history", order, HistoryAnswer)

    async def sessions(self, order: SessionsOrder) -> SessionsAnswer:
        return await self._ask("POST", "/control/sessions", order, SessionsAnswer)

    async def quarantine(self, order: QuarantineOrder) -> QuarantineAnswer:
        return await self._ask("POST", "/control/quarantine", order, QuarantineAnswer)

    async def approvals(self, order: ApprovalOrder) -> ApprovalAnswer:
        return await self._ask("POST", "/control/approvals", order, ApprovalAnswer)

    async def browsers(self, order: BrowserOrder) -> BrowserAnswer:
        return await self._ask("POST", "/control/browsers", order, BrowserAnswer)

    async def cron(self, order: CronOrder) -> CronAnswer:
        return await self._ask("POST", "/control/cron", order, CronAnswer)

    async def tools(self, order: ToolOrder) -> ToolAnswer:
        return await self._ask("POST", "/control/tools", order, ToolAnswer)

    async def pair(self, order: PairOrder) -> PairAnswer:
        return await self._ask("POST", "/control/pair", order, PairAnswer)

    async def explain(self, order: RouteOrder) -> Explanation:
        return await self._ask("POST", "/control/route", order, Explanation)

    async def silences(self, order: SilencesOrder) -> SilencesAnswer:
        return await self._ask("POST", "/control/silences", order, SilencesAnswer)

    async def chat(self, order: ChatOrder, on_reply: OnReply) -> str:
        outcome = ""
        async for event in self._events("/control/chat", order):
            if event.event in {"earlier", "reply"}:
                await on_reply(event.text, event.event == "reply")
            outcome = event.text
        return outcome

    async def index(self, order: AgentOrder, progress: Progress) -> str:
        outcome = ""
        async for event in self._events("/control/memory/index", order):
            if event.event == "progress":
                progress(event.done, event.total)
            outcome = event.text
        return outcome

    async def _ask(self, method: str, path: str, order: object | None, kind: type[Answer]) -> Answer:
        try:
            response = await self._client.request(
                method, path, json=None if order is None else TypeAdapter(type(order)).dump_python(order, mode="json")
            )
        except httpx2.HTTPError as exc:
            raise _gone() from exc
        return _read(kind, _checked(response).content)

    async def _events(self, path: str, order: ChatOrder | AgentOrder) -> AsyncIterator[StreamEvent]:
        """Yield every event up to the last one; an `error` is raised."""
        try:
            async with self._client.stream("POST", path, json=asdict(order)) as response:
                if response.is_error:
                    await response.aread()
                    _checked(response)
                async for line in response.aiter_lines():
                    event = _read(StreamEvent, line)
                    if event.event == "error":
                        raise StrandlineError(event.text)
                    yield event
                    if event.event == "done":
                        return
        except httpx2.HTTPError as exc:
            raise _gone() from exc
        raise _gone()


@asynccontextmanager
async def reached(control: ControlFile) -> AsyncIterator[RemoteOperator | None]:
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
        return (await client.get("/control/alive", timeout=FIRST_ANSWER_S)).status_code == HTTPStatus.OK
    except httpx2.HTTPError:
        return False


def _checked(response: httpx2.Response) -> httpx2.Response:
    if not response.is_error:
        return response
    try:
        error = str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        error = f"the gateway answered {response.status_code}; its log says why"
    raise StrandlineError(error)


def _read(kind: type[Answer], text: str | bytes) -> Answer:
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as exc:
        raise StrandlineError("the gateway's answer is not understood; is it of another version?") from exc


def _gone() -> StrandlineError:
    return StrandlineError("the gateway went away before it had answered; a message that it accepted is kept")
