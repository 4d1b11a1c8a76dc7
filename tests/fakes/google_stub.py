"""Google's Gemini API on loopback: `streamGenerateContent` of a model, with thoughts, tools and usage.

`python -m tests.fakes.google_stub --port 0 --port-file F` serves a model that repeats its input immediately.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.fakes.provider_stub import Body, ProviderStub, Refusal, Reply, main, pieces, unpaired

_FIELDS = {"contents", "systemInstruction", "tools", "generationConfig"}
_KINDS = {"text", "inlineData", "functionCall", "functionResponse"}
_FOREIGN = {"parametersJsonSchema", "args", "response"}
"""Fields with names not defined by Google."""
SIGNATURE = "c2lnbmVk"
"""`signed`, in the encoding used beside a call."""


class GoogleStub(ProviderStub):
    """Google's protocol, version v1beta, of a model called `stub`."""

    path = "/v1beta/models/stub:streamGenerateContent"
    base = ""
    finishing_events = 1

    def events(self, reply: Reply) -> Sequence[bytes]:
        usage = {
            "promptTokenCount": reply.input_tokens,
            "candidatesTokenCount": reply.output_tokens - 1,
            "thoughtsTokenCount": 1,
            "cachedContentTokenCount": reply.cached_tokens,
        }
        finish = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reply.finish or "STOP"}
        whole = {"candidates": [{"index": 0, **finish}], "usageMetadata": usage}
        return [*_parts(reply), _event(self.error(Refusal(503)) if reply.failing else whole)]

    def error(self, refusal: Refusal) -> Body:
        details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": refusal.code}]
        error = {"code": refusal.status, "message": refusal.message, "status": "SCRIPTED"}
        return {"error": {**error, "details": details} if refusal.code else error}

    def problems_of(self, body: Body) -> Iterator[str]:
        body = _camel(body)
        yield from (f"unknown field {name!r}" for name in body.keys() - _FIELDS)
        contents = body["contents"]
        if not contents or contents[0]["role"] != "user":
            yield "contents do not begin with the user"
        for at, content in enumerate(contents):
            yield from _problems(content, contents[at + 1] if at + 1 < len(contents) else {"parts": []})
        yield from unpaired(self.plain(body)["messages"])

    def plain(self, body: Body) -> Body:
        body = _camel(body)
        system = [
            {"role": "system", "content": part["text"]} for part in body.get("systemInstruction", {}).get("parts", ())
        ]
        said = [each for content in body["contents"] for each in _plain(content)]
        offered = [each for tool in body.get("tools", ()) for each in tool["functionDeclarations"]]
        tools = [{"function": {**each, "parameters": each["parametersJsonSchema"]}} for each in offered]
        return {**body.get("generationConfig", {}), "messages": [*system, *said], "tools": tools}


def _camel(value: Any) -> Any:
    """Return *value* with names as in the documentation: the API accepts both forms, and the client sends both."""
    if isinstance(value, list):
        return [_camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    names = {name: re.sub(r"_([a-z])", lambda found: found[1].upper(), name) for name in value}
    return {names[name]: each if names[name] in _FOREIGN else _camel(each) for name, each in value.items()}


def _problems(content: Body, following: Body) -> Iterator[str]:
    if content["role"] not in {"user", "model"} or not content["parts"]:
        yield f"{content['role']} with {len(content['parts'])} parts"
    for part in content["parts"]:
        if len(part.keys() & _KINDS) != 1 or part.keys() - _KINDS - {"thoughtSignature"}:
            yield f"part with {sorted(part)}"
        elif "text" in part and not part["text"].strip():
            yield "text is empty"
    calls = [part for part in content["parts"] if "functionCall" in part]
    results = [part for part in following["parts"] if "functionResponse" in part]
    if calls and "thoughtSignature" not in calls[0]:
        yield "Function call is missing a thought_signature"
    if calls and not len(calls) == len(results) == len(following["parts"]):
        yield "the number of function response parts is not that of the function call parts"
    if [each["functionCall"]["name"] for each in calls] != [each["functionResponse"]["name"] for each in results]:
        yield "function responses of other functions"


def _plain(content: Body) -> Iterator[Body]:
    parts = content["parts"]
    text = "".join(part.get("text", "") for part in parts)
    if content["role"] == "model":
        calls = [_plain_call(part["functionCall"]) for part in parts if "functionCall" in part]
        yield {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        return
    for part in parts:
        if result := part.get("functionResponse"):
            yield {"role": "tool", "tool_call_id": result["id"], "content": result["response"]["output"]}
    pictures = [_plain_picture(part["inlineData"]) for part in parts if "inlineData" in part]
    if text or pictures:
        yield {"role": "user", "content": [{"type": "text", "text": text}, *pictures] if pictures else text}


def _plain_call(call: Body) -> Body:
    function = {"name": call["name"], "arguments": json.dumps(call["args"])}
    return {"id": call["id"], "type": "function", "function": function}


def _plain_picture(data: Body) -> Body:
    return {"type": "image_url", "image_url": {"url": f"data:{data['mimeType']};base64,{data['data']}"}}


def _parts(reply: Reply) -> Iterator[bytes]:
    if reply.thought:
        yield _said(json.dumps({"text": reply.thought, "thought": True}))
    for piece in pieces(reply.text, 6):
        yield _said(json.dumps({"text": piece}))
    for place, call in enumerate(reply.calls):
        named = "".join(f'"{key}": {json.dumps(value)}, ' for key, value in (("id", call.id),) if value)
        signed = "" if place else f', "thoughtSignature": "{SIGNATURE}"'
        yield _said(
            f'{{"functionCall": {{{named}"name": {json.dumps(call.name)}, "args": {call.arguments or "{}"}}}{signed}}}'
        )


def _said(part: str) -> bytes:
    """Return the event of one part; the arguments in it need not be JSON."""
    return (
        f'data: {{"candidates": [{{"index": 0, "content": {{"role": "model", "parts": [{part}]}}}}]}}\r\n\r\n'.encode()
    )


def _event(data: Body) -> bytes:
    return f"data: {json.dumps(data)}\r\n\r\n".encode()


if __name__ == "__main__":
    main(GoogleStub)
