"""Connection to one Model Context Protocol server, by the protocol's own library, which nothing else imports."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, CallToolResult, ContentBlock, TextContent, Tool, jsonrpc_message_adapter
from msgspec import Struct, field

from gateway.agent.mcp.offered import MOST_TOOLS, Called, ListedTool
from gateway.agent.mcp.pipe import ALLOWANCE, Pipe, open_pipe
from gateway.agent.mcp.settings import ProgramServer, ServerSettings, Site
from gateway.errors import McpError, first_error

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]

_FAILURES = (
    MCPError,
    RuntimeError,  # raised by the library for an answer of an unexpected kind
    ValueError,
    OSError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    httpx2.HTTPError,
)


class ToolServerLink(Struct):
    """A connection to an initialised server."""

    client: Client
    lost: "Lost"

    async def tools(self) -> list[ListedTool]:
        """Return the tools that the server offers, page by page, up to the limit. Raises McpError."""
        found: list[ListedTool] = []
        cursor = None
        while len(found) <= MOST_TOOLS:
            self.lost.allow()
            try:
                page = await self.client.list_tools(cursor=cursor)
            except _FAILURES as exc:
                raise McpError(f"it does not list its tools ({type(exc).__name__})") from exc
            found += map(_listed_tool, page.tools)
            if not page.next_cursor or page.next_cursor == cursor:
                break
            cursor = page.next_cursor
        return found

    async def call(self, tool: str, arguments: dict[str, object]) -> Called:
        """Return the server's answer to a call of *tool*, by its own name. Raises McpError."""
        self.lost.allow()
        try:
            return _call_result(await self.client.call_tool(tool, arguments))
        except MCPError as exc:
            if exc.code == CONNECTION_CLOSED:
                raise McpError("it broke off") from exc
            return Called(str(exc), has_failed=True)
        except _FAILURES as exc:
            raise McpError(f"its response is not understood ({type(exc).__name__})") from exc


class Lost(Struct):
    """Whether the server disconnected by itself, and why."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    why: str = "it ended"
    pipe: Pipe | None = None

    def allow(self) -> None:
        """Renew the server's allowance."""
        if self.pipe is not None:
            self.pipe.allow()


@asynccontextmanager
async def open_link(settings: ServerSettings) -> AsyncIterator[ToolServerLink]:
    """Yield a connection to the server; raises McpError, or the library's errors, when there is none."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it logs the servers' messages; relevant failures are raised
    lost = Lost()
    place = settings.place
    transport = _program(place, lost) if isinstance(place, ProgramServer) else _site(place, settings.rules.timeout_s)
    try:
        async with Client(transport, cache=None) as client:
            yield ToolServerLink(client, lost)
    except Exception as exc:
        first = first_error(exc)
        if not (isinstance(first, McpError) or lost.event.is_set()):
            raise
        why = str(first) if isinstance(first, McpError) else lost.why
        raise McpError(why, last_line=lost.pipe.last_line if lost.pipe else "") from exc


# --- a program


@asynccontextmanager
async def _program(program: ProgramServer, lost: Lost) -> AsyncIterator[TransportStreams]:
    async with open_pipe(program) as lost.pipe:
        to_us, ours = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        theirs, to_them = anyio.create_memory_object_stream[SessionMessage](0)
        async with to_us, ours, theirs, to_them, anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, lost.pipe, to_us, lost)
            tasks.start_soon(_speak, lost.pipe, to_them)
            tasks.start_soon(lost.pipe.read_complaints)
            yield ours, theirs
            tasks.cancel_scope.cancel()


async def _listen(pipe: Pipe, to_us: Incoming, lost: Lost) -> None:
    """Pass on each line that is a message; other output of the program is ignored."""
    async with to_us:
        try:
            async for line in pipe.lines():
                if (message := _message(line)) is not None:
                    await to_us.send(message)
            if (status := await pipe.status()) is not None:
                lost.why = f"it ended with status {status}"
        except McpError as exc:
            lost.why = str(exc)
        except anyio.BrokenResourceError:  # no reader is left
            return
        finally:
            lost.event.set()


async def _speak(pipe: Pipe, to_them: Outgoing) -> None:
    async for each in to_them:
        try:
            await pipe.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode())
        except OSError:  # it ended, which its reader notices too
            return


def _message(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


# --- an address


@asynccontextmanager
async def _site(site: Site, timeout_s: float) -> AsyncIterator[TransportStreams]:
    headers = {"Authorization": f"Bearer {site.token}"} if site.token else {}
    transport = _Bounded(httpx2.AsyncHTTPTransport())
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout_s, transport=transport) as client,
        streamable_http_client(site.url, http_client=client, max_sse_event_size=ALLOWANCE) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncBaseTransport):
    """Aborts an answer that is longer than the allowance."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = ALLOWANCE
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError(f"the response has more than {ALLOWANCE:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


# --- results


def _listed_tool(tool: Tool) -> ListedTool:
    hints = tool.annotations
    is_closed = hints is not None and hints.read_only_hint is True and hints.open_world_hint is False
    return ListedTool(tool.name, tool.description or "", tool.input_schema, is_closed)


def _call_result(result: CallToolResult) -> Called:
    return Called(_text(result.content), has_failed=bool(result.is_error))


def _text(blocks: Sequence[ContentBlock]) -> str:
    """Return the texts; anything else is named, not shown."""
    return "\n".join(each.text if isinstance(each, TextContent) else f"[{each.type}: not shown]" for each in blocks)
