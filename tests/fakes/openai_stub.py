"""OpenAI-compatible server on loopback: `/v1/chat/completions`, streamed, with tools and usage.

`python -m tests.fakes.openai_stub --port 0 --port-file F` serves a model that repeats its input immediately.
"""

import json
from collections.abc import Iterator, Sequence

from tests.fakes.provider_stub import Body, ProviderStub, Refusal, Reply, main, pieces, unpaired

_FIELDS = {"model", "messages", "tools", "tool_choice", "stream", "stream_options", "temperature", "max_tokens"}


class OpenAIStub(ProviderStub):
    """OpenAI's chat protocol."""

    path = "/v1/chat/completions"
    base = "/v1"
    finishing_events = 3

    def events(self, reply: Reply) -> Sequence[bytes]:
        finish = reply.finish or ("tool_calls" if reply.calls else "stop")
        usage = {
            "prompt_tokens": reply.input_tokens,
            "completion_tokens": reply.output_tokens,
            "total_tokens": reply.input_tokens + reply.output_tokens,
            "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
        }
        deltas = [{"role": "assistant", "content": ""}, *_deltas(reply)]
        return [
            *[_event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) for delta in deltas],
            _event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}),
            _event({"choices": [], "usage": usage}),
            b"data: [DONE]\n\n",
        ]

    def error(self, refusal: Refusal) -> Body:
        return {"error": {"message": refusal.message, "type": "scripted", "code": refusal.code, "param": None}}

    def problems_of(self, body: Body) -> Iterator[str]:
        yield from (f"unknown field {name!r}" for name in body.keys() - _FIELDS)
        if not body.get("stream") or not body.get("stream_options", {}).get("include_usage"):
            yield "not a stream with usage"
        yield from unpaired(body["messages"])
        for message in body["messages"]:
            for each in message.get("tool_calls") or []:
                if not isinstance(json.loads(each["function"]["arguments"]), dict):
                    yield "arguments are not an object"


def _deltas(reply: Reply) -> Iterator[Body]:
    for piece in pieces(reply.text, 6):
        yield {"content": piece}
    for index, call in enumerate(reply.calls):
        begin = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield {"tool_calls": [begin]}
        for piece in pieces(call.arguments, 8):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _event(data: Body) -> bytes:
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_795_000_000, "model": "stub", **data}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


if __name__ == "__main__":
    main(OpenAIStub)
