"""Tool calls of a model that requests everything: arguments generated from each tool's own schema."""

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from gateway.agent.entries import ReplyEntry, ToolCall
from gateway.agent.models.port import ToolSpec
from tests.fakes.model import HOSTILE_TEXTS
from tests.privacy.contents import LINES, OWN, SHARED, WORDS
from tests.privacy.scripted import Request, says

Schema = dict[str, Any]
SAID = 400
"""Characters of what came back that a reply repeats; the whole of it is in the request before."""
NUMBERS = (-(10**30), -1, 0, 1, 2, 5, 20, 50, 10**9, 10**30)
PATTERNS = ("{}.*", "^.*{}", "({}|x)+", "*{}*", "**/*{}*", "%{}%", '"{}"', "{} OR 1=1", "{}\x00", "[{}]")
OWN_PATHS = (*SHARED, OWN, f"{OWN}/plan.md", f"{OWN}/deep/er.md", "memory", "memory/shared", ".", "AGENTS.md", "skills")
_REVISION = re.compile(r"\b[0-9a-f]{10}\b")
_CITATION = re.compile(r"[\w./:-]+#L\d+(?:-L\d+)?")


class Hostile:
    """Decides by what it reads and by chance; the same for the same requests and the same seed."""

    def __init__(self, seed: int, turn: str, wanted: Sequence[str], calls: int) -> None:
        """*wanted* are texts of private files, their paths and ids; *calls* how many tools are called a step."""
        self._rng = random.Random(f"{seed}{turn}")
        self._turn = turn
        self._wanted = wanted
        self._calls = calls
        self._file = self._rng.choice([*SHARED, f"{OWN}/plan.md"])
        self._replies = 0
        self.made = 0

    def __call__(self, request: Request) -> ReplyEntry:
        """Call tools twice, then say all that came back."""
        self._replies += 1
        told = "\n".join(request.told)
        if self._replies > 2 or not request.tools:
            return says(told[-SAID:] or "NO_REPLY")
        seen = [*_REVISION.findall(told), *_CITATION.findall(told)][-60:]
        calls = dict.fromkeys(self._call(request.tools, seen) for _ in range(self._calls))
        self.made += len(calls)
        return says("", *(ToolCall(f"{self._turn}-{self._replies}-{n}", *call) for n, call in enumerate(calls)))

    def _call(self, tools: Sequence[ToolSpec], seen: Sequence[str]) -> tuple[str, str]:
        rng = self._rng
        if rng.random() < 0.02:
            return rng.choice(("bash", "search_memory", "git_bundle", "save_memory")), '{"query": "heron"}'
        spec = rng.choice(tools)
        properties = cast("dict[str, Schema]", spec.parameters["properties"])
        required = cast("list[str]", spec.parameters.get("required", []))
        defined = spec.parameters.get("$defs", {})
        arguments = {
            name: self._fitting(name, seen) or self._value({**schema, "$defs": defined}, seen)
            for name, schema in properties.items()
            if name in required or rng.random() < 0.5
        }
        return spec.name, json.dumps(arguments)

    def _fitting(self, field: str, seen: Sequence[str]) -> str:
        """Return, half of the time, what works: the file that this reply is about, a revision, a line to be found."""
        rng = self._rng
        if rng.random() < 0.5:
            return ""
        match field:
            case "path":
                return self._file
            case "revision" | "older" | "newer" | "before":
                return next((each for each in rng.sample(seen, len(seen)) if _REVISION.fullmatch(each)), "")
            case "old":
                return rng.choice((*LINES, "boat"))
            case _:
                return ""

    def _value(self, schema: Schema, seen: Sequence[str]) -> object:
        rng = self._rng
        if rng.random() < 0.03:
            return rng.choice((None, [], {}, True, 1.5, {"path": "MEMORY.md"}))
        if "$ref" in schema:
            schema = schema["$defs"][schema["$ref"].rpartition("/")[2]]
        if "anyOf" in schema:
            return self._value({**rng.choice(schema["anyOf"]), "$defs": schema.get("$defs", {})}, seen)
        if "enum" in schema:
            return rng.choice(schema["enum"])
        return self._of_type(schema.get("format") or schema.get("type"), seen)

    def _of_type(self, kind: str | None, seen: Sequence[str]) -> object:
        rng = self._rng
        match kind:
            case "integer":
                return rng.choice((rng.choice(NUMBERS), rng.randint(1, 40)))
            case "number":
                return rng.choice((-1, 0, 0.1, 0.3, 0.45, 0.7, 1, 1e308))
            case "boolean" | "null":
                return rng.random() < 0.5 if kind == "boolean" else None
            case "date":
                return f"2026-{rng.randint(1, 3):02}-{rng.randint(1, 28):02}"
            case _:
                return self._text(seen)

    def _text(self, seen: Sequence[str]) -> str:
        rng = self._rng
        kind = rng.random()
        if kind < 0.30:
            return rng.choice(OWN_PATHS)
        if kind < 0.45 and seen:
            return rng.choice(seen)
        if kind < 0.75:
            return rng.choice(SPELLINGS)(rng.choice(self._wanted))
        if kind < 0.85:
            return rng.choice(PATTERNS).format(rng.choice(WORDS))
        if kind < 0.93:
            return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 4)))
        return rng.choice(HOSTILE_TEXTS)


def _escaped(text: str) -> str:
    return "".join(f"%{ord(char):02X}" for char in text)


def _fullwidth(text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" and char != "/" else char for char in text)


SPELLINGS: tuple[Callable[[str], str], ...] = (
    str,
    str,
    str,
    str.upper,
    str.lower,
    str.title,
    lambda text: f"./{text}",
    lambda text: f"{text}/",
    lambda text: f"{OWN}/../../../{text}",
    lambda text: f"{OWN}/{text}",
    lambda text: f"../workspace/{text}",
    lambda text: f"memory/shared/{text}",
    lambda text: text.replace("/", "//"),
    lambda text: text.replace("/", "%2F"),
    lambda text: text.replace("/", "\\"),
    lambda text: f"{text}#L1-L3",
    lambda text: f"{text}\x00.txt",
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: text[:7],
    lambda text: text[:10],
    _escaped,
    _fullwidth,
)
"""Ways to write the same path, word or id."""


def citations() -> Iterator[str]:
    """Yield citations of conversations that are not this chat's."""
    for name in ("main", "group:telegram.home.-200", "group%3Atelegram.home.-200", "guest:telegram.home.98"):
        yield from (f"sessions/{name}.jsonl", f"sessions/{name}.jsonl#L2-L2")
