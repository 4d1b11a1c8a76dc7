"""The wire format of OpenAI's chat API, as far as an agent supports it.

Other parameters (temperature, lengths, penalties) are accepted and ignored: an agent has settings of its own.
Parameters that would change the shape of the answer are rejected.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from pydantic import BaseModel, Field, ValidationError

from adapters.channel import Attachment
from gateway.agent.entries import Usage
from gateway.web.errors import HttpError
from gateway.web.images import ImageCaps, image

LONGEST_PREFACE = 100_000
"""Characters of a program's system messages, which are kept in the conversation whole: a user's text becomes a file."""
_SAID = ("text", "image_url")


class _ImageUrl(BaseModel):
    url: str


class _ContentPart(BaseModel):
    type: str
    text: str | None = None
    image_url: _ImageUrl | None = None


class _CompletionMessage(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[_ContentPart] | None = None


class _StreamOptions(BaseModel):
    include_usage: bool = False


class _Format(BaseModel):
    type: str


class _CompletionBody(BaseModel):
    model: str
    messages: list[_CompletionMessage] = Field(min_length=1, max_length=10_000)
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    user: str | None = None
    n: int | None = 1
    tools: list[object] | None = None
    functions: list[object] | None = None
    response_format: _Format | None = None


class Completion(Struct, frozen=True):
    """A client's request."""

    model: str
    """The agent's name."""
    text: str
    """The client's message: the last one. The agent itself remembers earlier ones."""
    system: str
    """The client's system prompt; the agent treats it as words of the client."""
    user: str | None
    stream: bool
    include_usage: bool
    images: tuple[Attachment, ...] = ()
    """Images of the last message; those of earlier ones came with theirs."""


def completion(body: bytes, caps: ImageCaps) -> Completion:
    """Read a request. Raises HttpError 400, which names the field."""
    try:
        asked = _CompletionBody.model_validate_json(body)
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_input=False, include_context=False)[0]
        param = _param(fault["loc"])
        raise HttpError(400, f"{param or 'the body'}: {fault['msg']}", param=param) from exc
    _refuse_other_shapes(asked)
    last = len(asked.messages) - 1
    if asked.messages[last].role != "user":
        raise HttpError(400, "the last message must be the user's", param=f"messages[{last}].role")
    images = tuple(_images(asked.messages[last], f"messages[{last}]", caps))
    text = _text(asked.messages[last], f"messages[{last}]", _SAID)
    if not text.strip() and not images:
        raise HttpError(400, "the last message is empty", param=f"messages[{last}].content")
    preface = "\n\n".join(
        _text(message, f"messages[{place}]")
        for place, message in enumerate(asked.messages)
        if message.role in {"system", "developer"}
    )
    if len(preface) > LONGEST_PREFACE:
        said = f"the system messages have {len(preface):,} characters and may have {LONGEST_PREFACE:,}"
        raise HttpError(400, said, param="messages", code="system_too_long")
    include_usage = asked.stream_options is not None and asked.stream_options.include_usage
    return Completion(asked.model, text, preface, asked.user, bool(asked.stream), include_usage, images)


def _refuse_other_shapes(asked: _CompletionBody) -> None:
    if asked.n not in {None, 1}:
        raise HttpError(400, "an agent gives one answer; n must be 1", param="n")
    for name in ("tools", "functions"):
        if getattr(asked, name):
            raise HttpError(400, "an agent has its own tools and does not use those of a client", param=name)
    if asked.response_format is not None and asked.response_format.type != "text":
        raise HttpError(400, "an agent answers in text", param="response_format.type")


def _text(message: _CompletionMessage, place: str, taken: Sequence[str] = ("text",)) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    for number, part in enumerate(message.content):
        if part.type not in taken:
            kind, only = f"a part of type {part.type!r}"[:80], " and ".join(taken)
            raise HttpError(400, f"only {only} is accepted here, not {kind}", param=f"{place}.content[{number}].type")
    return "\n".join(part.text or "" for part in message.content if part.type == "text")


def _images(message: _CompletionMessage, place: str, caps: ImageCaps) -> Iterator[Attachment]:
    parts = [] if message.content is None or isinstance(message.content, str) else message.content
    shown = [(number, part) for number, part in enumerate(parts) if part.type == "image_url"]
    if len(shown) > caps.count:
        said = f"a message may contain at most {caps.count} images; attachments.per_message sets it"
        raise HttpError(400, said, param=f"{place}.content", code="too_many_images")
    for number, part in shown:
        param = f"{place}.content[{number}].image_url"
        if part.image_url is None:
            raise HttpError(400, "the part has no image_url", param=param)
        yield image(part.image_url.url, f"{param}.url", caps)


def _param(loc: Sequence[int | str]) -> str | None:
    """Return the location of a fault as OpenAI writes it, without pydantic's tags for kinds of content."""
    param = ""
    for step in loc:
        if isinstance(step, int):
            param += f"[{step}]"
        elif step != "str" and not step.startswith("list["):
            param += f".{step}" if param else step
    return param or None


# --- answers


class Shape(Struct, frozen=True):
    """Fields shared by all parts of one answer."""

    id: str
    model: str
    created: int
    """Seconds since 1970."""

    def whole(self, text: str, usage: Usage) -> dict[str, object]:
        message: dict[str, object] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return self._object("chat.completion", [choice]) | {"usage": tokens(usage)}

    def chunk(self, delta: Mapping[str, str], finish: str | None = None) -> dict[str, object]:
        """Return a piece of the answer."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._object("chat.completion.chunk", [choice])

    def usage_chunk(self, usage: Usage) -> dict[str, object]:
        """Return the last chunk, for a client that requests usage."""
        return self._object("chat.completion.chunk", []) | {"usage": tokens(usage)}

    def _object(self, kind: str, choices: list[dict[str, object]]) -> dict[str, object]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}


def tokens(usage: Usage) -> dict[str, object]:
    """Return the usage of a turn, all of its model's replies together."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def models(agents: Sequence[str]) -> dict[str, object]:
    return {"object": "list", "data": [model(agent) for agent in agents]}


def model(agent: str) -> dict[str, object]:
    return {"id": agent, "object": "model", "created": 0, "owned_by": "strandline"}
