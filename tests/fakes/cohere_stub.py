"""Cohere's chat API on loopback: `/v2/chat`, streamed, with plans, tools and usage.

Requests are checked against Cohere's published schema if it is present beside the repository. `python -m
tests.fakes.cohere_stub --port 0 --port-file F` serves a model that repeats its input immediately.
"""

import functools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from jsonschema import Draft202012Validator

from tests.fakes.provider_stub import Body, ProviderStub, Refusal, Reply, main, pieces, unpaired

SCHEMA_FILE = Path(__file__).parents[3] / "shared" / "data" / "cohere-openapi.json"
_CHAT = "#/paths/~1v2~1chat/post/requestBody/content/application~1json/schema"


class CohereStub(ProviderStub):
    """Cohere's chat protocol, version 2."""

    path = "/v2/chat"
    base = ""
    finishing_events = 2

    def events(self, reply: Reply) -> Sequence[bytes]:
        finish = reply.finish or ("TOOL_CALL" if reply.calls else "COMPLETE")
        tokens = {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens}
        usage = {"billed_units": tokens, "tokens": tokens, "cached_tokens": reply.cached_tokens}
        message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        return [
            _event("message-start", id="stub-1", delta={"message": message}),
            *_parts(reply),
            _event("message-end", delta={"finish_reason": finish, "usage": usage}),
            b"data: [DONE]\n\n",
        ]

    def error(self, refusal: Refusal) -> Body:
        return {"message": refusal.message, "id": "stub-error"}

    def problems_of(self, body: Body) -> Iterator[str]:
        validator = _validator()
        if validator is not None:
            yield from (f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(body))
        if not body.get("stream"):
            yield "not a stream"
        yield from unpaired(body["messages"])


def _parts(reply: Reply) -> Iterator[bytes]:
    for piece in pieces(reply.plan, 6):
        yield _event("tool-plan-delta", delta={"message": {"tool_plan": piece}})
    if reply.text:
        yield _event("content-start", index=0, delta={"message": {"content": {"type": "text", "text": ""}}})
        for piece in pieces(reply.text, 6):
            yield _event("content-delta", index=0, delta={"message": {"content": {"text": piece}}})
        yield _event("content-end", index=0)
    for index, call in enumerate(reply.calls):
        begin = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield _event("tool-call-start", index=index, delta={"message": {"tool_calls": begin}})
        for piece in pieces(call.arguments, 8):
            part = {"function": {"arguments": piece}}
            yield _event("tool-call-delta", index=index, delta={"message": {"tool_calls": part}})
        yield _event("tool-call-end", index=index)


def _event(kind: str, **data: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


@functools.cache
def _validator() -> Draft202012Validator | None:
    if not SCHEMA_FILE.exists():
        return None
    return Draft202012Validator({**json.loads(SCHEMA_FILE.read_text("utf-8")), "$ref": _CHAT})


if __name__ == "__main__":
    main(CohereStub)
