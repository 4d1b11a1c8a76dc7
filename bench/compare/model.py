"""Loopback model of the comparison: answers at once, calls a tool when it is told to, and keeps what it was sent."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import web

from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Body, Call, Reply, Step

SEARCH, NOTE = "SEARCH", "NOTE"
"""Words before a message for which the model calls a tool."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returned, and how long the gateway took from the call to the next request."""

    text: str
    seconds: float


class CompareModel(OpenAIStub):
    """OpenAI's chat protocol as each gateway uses it: streamed or whole, with any field."""

    def __init__(self, search: Callable[[str], Call], note: Callable[[str], Call]) -> None:
        super().__init__(self._step)
        self._tools = {SEARCH: search, NOTE: note}
        self.results: list[ToolResult] = []
        self.sizes: list[int] = []
        self.missing: set[str] = set()
        """Tools that a gateway did not offer."""
        self.delay_s = 0.0
        """Before each answer."""
        self._called = 0.0

    def problems_of(self, body: Body) -> Iterator[str]:
        """Yield nothing: each gateway may ask as it likes."""
        return iter(())

    def _step(self, body: Body) -> Step:
        if (result := _tool_result(body)) is not None:
            self.results.append(ToolResult(result, time.perf_counter() - self._called))
            return "Done."
        heard = last_of(body)
        for word, tool in self._tools.items():
            if f"{word}: " in heard:
                return self._call(body, tool(heard.rpartition(f"{word}: ")[2].partition("\n")[0].strip()))
        return f"You said: {heard[-2_000:]}"

    def _call(self, body: Body, wanted: Call) -> Step:
        offered = {tool["function"]["name"] for tool in body.get("tools") or []}
        if wanted.name not in offered:
            self.missing.add(wanted.name)
            return f"I have no {wanted.name}."
        self._called = time.perf_counter()
        return Reply(calls=(wanted,))

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body: Body = await request.json()
        self.sizes.append(len(await request.read()))
        await asyncio.sleep(self.delay_s)
        if body.get("stream"):
            with suppress(ConnectionError):  # the gateway was killed meanwhile
                return await super()._answer(request)
            return web.Response()
        self.bodies.append(body)
        return web.json_response(_whole(self._step(body)))


def _tool_result(body: Body) -> str | None:
    """Return what the tools of the model's last step returned; `None` if it called none."""
    results = []
    for message in reversed(body["messages"]):
        if message["role"] == "assistant":
            break
        if message["role"] == "tool":
            results.append(str(message["content"]))
    return "\n".join(results) if results else None


def _text(message: Body) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _whole(step: Step) -> Body:
    reply = step if isinstance(step, Reply) else Reply(str(step))
    message: Body = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [
            {"id": each.id, "type": "function", "function": {"name": each.name, "arguments": each.arguments}}
            for each in reply.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if reply.calls else "stop"}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "stub-1",
        "choices": [choice],
        "usage": usage,
    }


def last_of(body: Body) -> str:
    """Return what people said since the model's last answer, with what a gateway put beside it."""
    messages = body["messages"]
    after = 1 + max((number for number, each in enumerate(messages) if each["role"] == "assistant"), default=-1)
    return "\n".join(_text(each) for each in messages[after:] if each["role"] == "user")


def said(body: Body, role: str, text: str) -> int:
    """Return how many messages of *role* in a request hold *text*."""
    return sum(each["role"] == role and said_anywhere(each, text) for each in body["messages"])


def said_anywhere(body: Body, text: str) -> bool:
    """Return whether *text* stands in a request."""
    return text in json.dumps(body, ensure_ascii=False)
