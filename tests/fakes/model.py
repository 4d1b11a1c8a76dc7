"""Models for tests: one follows a script, one calls every tool with everything."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from gateway.agent.entries import ReplyEntry, ResultEntry, ToolCall, TurnNoteEntry, Usage
from gateway.agent.models.port import ModelRequest, OnText
from gateway.errors import ModelError

Step = str | ReplyEntry | ModelError | Callable[[ModelRequest], "str | ReplyEntry"]
"""A scripted model's next action: a text, a reply, a failure, or a function of the request."""


def note_of(request: ModelRequest) -> str:
    """Return the gateway's note on the turn of *request*; empty without one."""
    notes = [entry.text for entry in request.entries if isinstance(entry, TurnNoteEntry)]
    return notes[-1] if notes else ""


_ids = itertools.count(1)


def says(text: str, *calls: ToolCall, usage: Usage | None = None) -> ReplyEntry:
    """Return a reply with *text* and *calls*."""
    return ReplyEntry(text, calls, "scripted", usage or Usage())


def call(name: str, **arguments: object) -> ToolCall:
    """Return a call of the tool *name* with an id of its own."""
    return ToolCall(f"call_{next(_ids)}", name, json.dumps(arguments))


class ScriptedModel:
    """Does one step of its script per request, streams texts word by word, and records every request."""

    window_tokens = 128_000

    def __init__(self, *script: Step, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self.closed = False
        self._script = iter(script)

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        self.requests.append(request)
        step = next(self._script, None)
        if step is None:
            raise AssertionError(f"the script of {self.name!r} has no step {len(self.requests)}")
        if isinstance(step, ModelError):
            raise step
        said = step(request) if callable(step) else step
        reply = ReplyEntry(said, (), self.name, Usage()) if isinstance(said, str) else said
        for word in filter(None, reply.text.split(" ")):
            await on_text(word)
        return reply

    async def close(self) -> None:
        self.closed = True


HOSTILE_TEXTS = (
    "MEMORY.md",
    "memory.md",
    "MEMORY.MD",
    "./MEMORY.md",
    "memory/../MEMORY.md",
    "../workspace/MEMORY.md",
    "MEMORY.md\x00.txt",
    "ＭEMORY.md",
    "memory",
    "memory/",
    "memory/2026-11-20.md",
    "memory/2026-11-21.md",
    "memory/shared/../2026-11-20.md",
    "memory/shared",
    "USER.md",
    "HEARTBEAT.md",
    ".",
    "..",
    "/",
    "~",
    "/etc/passwd",
    "../../sessions",
    "sessions",
    ".git/HEAD",
    "*",
    "**/*.md",
    "password",
    "secret",
    "everything that you know about your owner",
    "",
    " ",
    "x" * 10_000,
    "\u202emd.YROMEM",
)
"""Texts that request data withheld from groups, or that break careless parsers."""

HOSTILE_NUMBERS = (-1, 0, 1, 10, 10**9, 10**30)
_WRONG: tuple[object, ...] = (None, True, 1.5, [], {}, [["MEMORY.md"]], {"path": "MEMORY.md"})


class HostileModel:
    """Calls every offered tool with every kind of argument, then repeats all its input."""

    name = "hostile"
    window_tokens = 128_000

    def __init__(self, extra_texts: Iterable[str] = (), extra_tools: Iterable[str] = ("bash", "memory_search")) -> None:
        self.requests: list[ModelRequest] = []
        self._texts = (*HOSTILE_TEXTS, *extra_texts)
        self._extra_tools = tuple(extra_tools)

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        self.requests.append(request)
        told = [entry.text for entry in request.entries if isinstance(entry, ResultEntry)]
        if told:
            text = "\n".join([request.stable, note_of(request), *told])
            await on_text(text)
            return ReplyEntry(text, (), self.name, Usage())
        return ReplyEntry("", tuple(self._calls(request)), self.name, Usage())

    async def close(self) -> None:
        """No-op."""

    def _calls(self, request: ModelRequest) -> Iterator[ToolCall]:
        for spec in request.tools:
            for arguments in dict.fromkeys(self._arguments(spec.parameters)):
                yield ToolCall(f"hostile_{next(_ids)}", spec.name, arguments)
        for name in self._extra_tools:
            yield call(name, query="MEMORY.md", path="MEMORY.md")

    def _arguments(self, schema: Mapping[str, object]) -> Iterator[str]:
        properties = schema.get("properties")
        fields = list(properties) if isinstance(properties, dict) else []
        yield from ("", "{}", "not JSON", "[]", "null", '"MEMORY.md"', '{"unknown": "MEMORY.md"}', "[" * 10_000)
        for value in (*self._texts, *HOSTILE_NUMBERS, *_WRONG):
            yield json.dumps(dict.fromkeys(fields, value))
            for field in fields:
                yield json.dumps({field: value})
                yield json.dumps({other: value if other == field else 1 for other in fields})
                yield json.dumps({other: value if other == field else "MEMORY.md" for other in fields})
