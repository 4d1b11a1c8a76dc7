"""Model for tests of long conversations, with a script each for turns, flushes and summaries."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.agent.entries import ReplyEntry, ResultEntry, Usage, UserEntry
from gateway.agent.models.port import ModelRequest, OnText
from gateway.agent.window.compact import HEADINGS
from gateway.errors import ModelError
from gateway.sessions.flush import AGAIN, PROMPT
from tests.fakes.model import call, says

Answer = Callable[[ModelRequest], str | ReplyEntry | ModelError]

SUMMARY = "\n".join(f"## {heading}\n- none" for heading in HEADINGS)


def always(answer: str | ReplyEntry | ModelError) -> Answer:
    """Return a script of one line."""
    return lambda _: answer


def notes(text: str) -> Answer:
    """Return a script that notes *text*, and then answers NO_REPLY."""
    return lambda request: "NO_REPLY" if _is_result(request) else says("", call("add_note", text=text))


def _is_result(request: ModelRequest) -> bool:
    return isinstance(request.entries[-1], ResultEntry)


_AGREES, _SILENT, _SUMS_UP, _NAMES = always("Yes."), always("NO_REPLY"), always(SUMMARY), always("a-talk")


@dataclass
class KeepingModel:
    """Recognises the kind of each request."""

    turn: Answer = _AGREES
    flush: Answer = _SILENT
    summary: Answer = _SUMS_UP
    slug: Answer = _NAMES
    window_tokens: int = 16_000
    name: str = "scripted"
    turns: list[ModelRequest] = field(default_factory=list)
    flushes: list[ModelRequest] = field(default_factory=list)
    summaries: list[ModelRequest] = field(default_factory=list)

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        said = self._script(request)(request)
        if isinstance(said, ModelError):
            raise said
        return ReplyEntry(said, (), self.name, Usage()) if isinstance(said, str) else said

    async def close(self) -> None:
        """No-op."""

    def _script(self, request: ModelRequest) -> Answer:
        if request.stable.startswith("Summarise"):
            self.summaries.append(request)
            return self.summary
        if request.stable.startswith("Name the conversation"):
            return self.slug
        if any(isinstance(entry, UserEntry) and entry.text.startswith((PROMPT, AGAIN)) for entry in request.entries):
            self.flushes.append(request)
            return self.flush
        self.turns.append(request)
        return self.turn
