"""The model of a world: it follows a script and records the requests to a provider."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from gateway.agent.entries import Entry, ReplyEntry, ResultEntry, ToolCall, TurnNoteEntry, Usage, UserEntry
from gateway.agent.models.messages import readable_text, with_results
from gateway.agent.models.port import ModelRequest, OnText, ToolSpec
from workspaces.access import Locality

BREAK = "please break"
"""A message that makes its turn fail as a defect would."""
_RANDOM_ID = re.compile(r"call_[0-9a-f]{24}")
"""The gateway's own id of a call, such as a command's: drawn at random, so that two worlds never have the same."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request, as `gateway/agent/models/hosted.py` writes it."""

    role: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    """Of a result: which call of which tool."""


@dataclass(frozen=True, slots=True)
class Request:
    """All that a provider is sent."""

    stable: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    temperature: float | None

    @property
    def told(self) -> list[str]:
        """What the tools answered."""
        return [message.text for message in self.messages if message.answers]


Script = Callable[[Request], ReplyEntry]


def says(text: str, *calls: ToolCall) -> ReplyEntry:
    """Return a reply with *text* and *calls*."""
    return ReplyEntry(text, calls, "scripted", Usage())


class Scripted:
    """A model whose script may be changed between two messages."""

    name = "scripted"
    window_tokens = 24_000

    def __init__(self) -> None:
        self.script: Script = lambda _: says("…")
        self.requests: list[Request] = []
        self.reader = Locality.ELSEWHERE

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Follow the script. Raises ZeroDivisionError, which no provider does, where a message says so."""
        messages = tuple(map(_message, with_results(request.entries)))
        sent = Request(request.stable, messages, tuple(request.tools), request.temperature)
        self.requests.append(sent)
        if sent.messages[-1].text.endswith(BREAK):
            raise ZeroDivisionError(sent.messages[-1].text)
        reply = replace(self.script(sent), is_house=self.reader is Locality.HERE and request.is_house)
        await on_text(reply.text)
        return reply

    async def close(self) -> None:
        """Nothing to release."""


def _message(entry: Entry) -> Message:
    match entry:
        case UserEntry():
            return Message("user", readable_text(entry))
        case TurnNoteEntry(text=text):
            return Message("note", text)
        case ReplyEntry(text=text, calls=calls):
            return Message(
                "assistant", text, tuple(replace(call, id=_RANDOM_ID.sub("call", call.id)) for call in calls)
            )
        case ResultEntry(text=text, is_error=is_error):
            return Message(
                "tool",
                f"Error: {text}" if is_error else text,
                (),
                _RANDOM_ID.sub("call", f"{entry.name} {entry.call_id}"),
            )
        case _:
            raise AssertionError(f"{type(entry).__name__} goes to no provider")
