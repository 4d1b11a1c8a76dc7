"""Model provider on loopback: streams scripted replies, fails on request, and records every request."""

import argparse
import asyncio
import json
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

Body = dict[str, Any]
"""A request's JSON body."""


class Fault(StrEnum):
    """Faults while a reply is sent."""

    NONE = "none"
    RESET = "reset"
    """The connection is reset before any answer."""
    CUT = "cut"
    """The connection breaks in the middle: of the last tool call, if there is one."""
    NO_FINISH = "no finish"
    """The stream ends cleanly but early: without a finish reason."""
    BAD_JSON = "bad JSON"
    """One event in the middle is not JSON."""
    NO_EVENTS = "no events"
    """The stream is empty."""
    GIANT = "giant"
    """The text never ends."""
    HANG = "hang"
    """Nothing follows the first event until the client disconnects."""
    STALL = "stall"
    """Nothing follows the text until the client disconnects."""
    LINGER = "linger"
    """The reply is complete, and the stream does not end until the client disconnects."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to send; the arguments need not be JSON."""

    name: str
    arguments: str
    id: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to stream."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    plan: str = ""
    """Cohere's text before tool calls."""
    thought: str = ""
    """Thoughts of Anthropic's and Google's models before the answer."""
    finish: str | None = None
    """The finish reason, in the provider's own terms; `None`: the usual one."""
    input_tokens: int = 11
    output_tokens: int = 7
    cached_tokens: int = 5
    fault: Fault = Fault.NONE
    failing: bool = False
    """The stream ends with an overload error event instead; for Anthropic and Google."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP error."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "scripted"
    code: str | None = None


Step = str | Reply | Refusal
Script = Callable[[Body], Step]


def steps(*script: Step) -> Script:
    """Return a script with one step per request, which refuses requests beyond its end."""
    rest = iter(script)
    return lambda _: next(rest, Refusal(400, message="the script has no step left"))


def call(name: str, call_id: str = "call_1", **arguments: object) -> Call:
    """Return a call of the tool *name*."""
    return Call(name, json.dumps(arguments), call_id)


class ProviderStub(ABC):
    """A provider's chat endpoint; `url` is the base URL for its SDK."""

    path: str
    base: str
    finishing_events: int

    def __init__(self, script: Script, port: int = 0) -> None:
        self.bodies: list[Body] = []
        """Each request, in terms of OpenAI's protocol, so that tests treat every provider alike."""
        self.raw: list[Body] = []
        """Each request as received."""
        self.headers: list[Mapping[str, str]] = []
        self.callers: list[int] = []
        """Client port of each request: one per connection."""
        self.problems: list[str] = []
        """Faults that the provider would have found in a request."""
        self.models: Sequence[str] = ()
        """Names in its list of models; without any it has no list."""
        self.url = ""
        self._script = script
        self._port = port
        application = web.Application(client_max_size=64_000_000)
        application.router.add_post(self.path, self._answer)
        application.router.add_get(f"{self.base}/models", self._list)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}{self.base}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    @abstractmethod
    def events(self, reply: Reply) -> Sequence[bytes]:
        """Return the stream of *reply*, event by event; the last `finishing_events` mark its end."""

    @abstractmethod
    def error(self, refusal: Refusal) -> Body:
        """Return the body of an HTTP error."""

    @abstractmethod
    def problems_of(self, body: Body) -> Iterator[str]:
        """Yield the faults that the provider would refuse in *body*."""

    def plain(self, body: Body) -> Body:
        """Return *body* in terms of OpenAI's protocol; Cohere's are the same as far as tests need."""
        return body

    async def _list(self, _: web.Request) -> web.Response:
        if not self.models:
            raise web.HTTPNotFound
        return web.json_response({"object": "list", "data": [{"id": each, "object": "model"} for each in self.models]})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body: Body = await request.json()
        plain = self.plain(body)
        self.raw.append(body)
        self.bodies.append(plain)
        self.headers.append(dict(request.headers))
        self.callers.append(request.transport.get_extra_info("peername")[1] if request.transport else 0)
        problems = list(self.problems_of(body))
        self.problems += problems
        step: Step = Refusal(400, message="; ".join(problems)) if problems else self._script(plain)
        match step:
            case Refusal():
                return web.json_response(self.error(step), status=step.status, headers=step.headers)
            case Reply(fault=Fault.RESET):
                _abort(request)
                return web.Response()
            case Reply():
                return await self._stream(request, step)
            case text:
                return await self._stream(request, Reply(text))

    async def _stream(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            for event in self._sent(reply):
                await response.write(event)
        except ConnectionError:
            return response  # the client disconnected
        match reply.fault:
            case Fault.CUT:
                _abort(request)
            case Fault.HANG | Fault.STALL | Fault.LINGER:
                await asyncio.Event().wait()
        return response

    def _sent(self, reply: Reply) -> Iterator[bytes]:
        events = list(self.events(reply))
        body = events[: -self.finishing_events]
        match reply.fault:
            case Fault.NONE | Fault.LINGER:
                yield from events
            case Fault.CUT:
                yield from body[:-2]
            case Fault.NO_FINISH | Fault.STALL:
                yield from body
            case Fault.BAD_JSON:
                yield from body[: len(body) // 2]
                yield b'data: {"broken\n\n'
                yield from events[len(body) // 2 + 1 :]
            case Fault.GIANT:
                while True:
                    yield body[len(body) // 2]
            case Fault.HANG:
                yield events[0]


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def pieces(text: str, size: int) -> list[str]:
    """Return *text* in pieces, as a provider streams it."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def unpaired(messages: Sequence[Body]) -> Iterator[str]:
    """Yield violations of the rules for tool calls: each is followed by its result, and no result stands alone."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"result for {message['tool_call_id']!r} without a call"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        yield from (f"call {call_id!r} without a result" for call_id in waiting)
        waiting = [each["id"] for each in message.get("tool_calls") or []]
    yield from (f"call {call_id!r} without a result" for call_id in waiting)


def without_note(content: str) -> str:
    """Return a person's text without the gateway's note before it."""
    return content.rpartition("[End of the note]\n\n")[2]


def instant(body: Body) -> Step:
    """Repeat the last input immediately, by `notify` in a turn without a request: the model of benches."""
    said = next(message["content"] for message in reversed(body["messages"]) if message["role"] == "user")
    answer = f"You said: {without_note(said if isinstance(said, str) else str(said[0]['text']))}"
    if '"notify"' not in json.dumps(body.get("tools", [])):
        return answer
    return "" if body["messages"][-1]["role"] == "tool" else Reply(calls=(call("notify", text=answer),))


async def _serve(make: Callable[[Script, int], ProviderStub], port: int, port_file: Path) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with make(instant, port) as stub:
        draft = port_file.with_suffix(".part")
        draft.write_text(stub.url.split(":")[2].split("/")[0])
        draft.replace(port_file)
        print("ready", flush=True)
        await stop.wait()


def main(make: Callable[[Script, int], ProviderStub]) -> None:
    """Serve the instant model until a signal arrives; write the port to a file, then print `ready`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path, required=True)
    options = parser.parse_args()
    asyncio.run(_serve(make, options.port, options.port_file))
