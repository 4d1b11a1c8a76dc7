"""Anthropic's Messages API on loopback: `/v1/messages`, streamed, with thoughts, tools and usage.

`python -m tests.fakes.anthropic_stub --port 0 --port-file F` serves a model that repeats its input immediately.
"""

import json
import re
from collections.abc import Iterator, Sequence

from tests.fakes.provider_stub import Body, ProviderStub, Refusal, Reply, main, pieces, unpaired

_FIELDS = {"model", "max_tokens", "messages", "stream", "system", "tools", "tool_choice"}
"""Request fields that we use; the stub refuses others, such as a temperature."""
_BLOCKS = {
    "user": {"text": {"text"}, "image": {"source"}, "tool_result": {"tool_use_id", "content"}},
    "assistant": {"text": {"text"}, "thinking": {"thinking", "signature"}, "tool_use": {"id", "name", "input"}},
}
MARKS = 4
"""Most cache breakpoints in a request."""


class AnthropicStub(ProviderStub):
    """Anthropic's protocol, version 2026-10-21."""

    path = "/v1/messages"
    base = ""
    finishing_events = 2

    def events(self, reply: Reply) -> Sequence[bytes]:
        finish = reply.finish or ("tool_use" if reply.calls else "end_turn")
        fresh = {"input_tokens": reply.input_tokens - reply.cached_tokens - 1, "output_tokens": 1}
        cached = {"cache_creation_input_tokens": 1, "cache_read_input_tokens": reply.cached_tokens}
        end = [
            _event("message_delta", delta={"stop_reason": finish}, usage={"output_tokens": reply.output_tokens}),
            _event("message_stop"),
        ]
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "content": []}
        return [
            _event("message_start", message={**message, "stop_reason": None, "usage": {**fresh, **cached}}),
            _event("ping"),
            *_parts(reply),
            *([_event("error", error={"type": "overloaded_error", "message": "Overloaded"})] if reply.failing else end),
        ]

    def error(self, refusal: Refusal) -> Body:
        return {"type": "error", "error": {"type": refusal.code or "scripted_error", "message": refusal.message}}

    def problems_of(self, body: Body) -> Iterator[str]:
        yield from (f"{name}: Extra inputs are not permitted" for name in body.keys() - _FIELDS)
        if not body.get("stream") or not isinstance(body.get("max_tokens"), int):
            yield "not a stream with max_tokens"
        roles = [message["role"] for message in body["messages"]]
        if roles != [("user", "assistant")[at % 2] for at in range(len(roles))] or not roles:
            yield f"roles do not take turns, the user first: {roles}"
        for message in body["messages"]:
            yield from _problems(message)
        called = {block["name"] for message in body["messages"] for block in message["content"] if "name" in block}
        if called and not body.get("tools"):
            yield "tool_use without tools"
        yield from unpaired(self.plain(body)["messages"])
        if json.dumps(body).count('"cache_control"') > MARKS:
            yield f"more than {MARKS} blocks with cache_control"

    def plain(self, body: Body) -> Body:
        system = [{"role": "system", "content": block["text"]} for block in body.get("system", ())]
        said = [each for message in body["messages"] for each in _plain(message)]
        return {**body, "messages": [*system, *said], "tools": [*map(_plain_tool, body.get("tools", ()))]}


def _problems(message: Body) -> Iterator[str]:
    kinds = [block["type"] for block in message["content"]]
    if kinds != sorted(kinds, key=lambda kind: kind != ("tool_result" if message["role"] == "user" else "thinking")):
        yield f"results and thoughts come first: {kinds}"
    for block in message["content"]:
        if block.keys() - {"type", "cache_control"} != _BLOCKS[message["role"]].get(block["type"]):
            yield f"{block['type']} of {message['role']} with {sorted(block)}"
        elif block["type"] == "text" and not block["text"].strip():
            yield "text content blocks must contain non-whitespace text"
        elif block["type"] == "thinking" and "cache_control" in block:
            yield "thinking blocks cannot have cache_control"
        elif block["type"] == "tool_use" and not isinstance(block["input"], dict):
            yield "input is not an object"
        elif not re.fullmatch(r"[a-zA-Z0-9_-]+", block.get("id", block.get("tool_use_id", "x"))):
            yield "id should match the pattern ^[a-zA-Z0-9_-]+$"


def _plain(message: Body) -> Iterator[Body]:
    content = message["content"]
    text = "".join(block["text"] for block in content if block["type"] == "text")
    if message["role"] == "assistant":
        calls = [_plain_call(block) for block in content if block["type"] == "tool_use"]
        yield {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        return
    for block in content:
        if block["type"] == "tool_result":
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}
    pictures = [_plain_picture(block["source"]) for block in content if block["type"] == "image"]
    if text or pictures:
        yield {"role": "user", "content": [{"type": "text", "text": text}, *pictures] if pictures else text}


def _plain_call(block: Body) -> Body:
    function = {"name": block["name"], "arguments": json.dumps(block["input"])}
    return {"id": block["id"], "type": "function", "function": function}


def _plain_picture(source: Body) -> Body:
    return {"type": "image_url", "image_url": {"url": f"data:{source['media_type']};{source['type']},{source['data']}"}}


def _plain_tool(tool: Body) -> Body:
    description = tool.get("description")
    return {"function": {"name": tool["name"], "description": description, "parameters": tool["input_schema"]}}


def _parts(reply: Reply) -> Iterator[bytes]:
    blocks: list[tuple[Body, list[Body]]] = []
    if reply.thought:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.thought, 6)]
        deltas.append({"type": "signature_delta", "signature": "signed"})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if reply.text:
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(reply.text, 6)]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for call in reply.calls:
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(call.arguments, 8)]]
        blocks.append(({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        yield _event("content_block_start", index=index, content_block=block)
        yield from (_event("content_block_delta", index=index, delta=delta) for delta in deltas)
        yield _event("content_block_stop", index=index)


def _event(kind: str, **data: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


if __name__ == "__main__":
    main(AnthropicStub)
