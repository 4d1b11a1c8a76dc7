"""Assembles the pieces of one reply, and checks that it is whole."""

import json
from collections.abc import Collection, Iterator
from uuid import uuid4

from msgspec import Struct, field

from gateway.agent.entries import NO_REPLY, ReplyEntry, ToolCall, Usage
from gateway.agent.models.errors import unusable_reply
from gateway.agent.models.provider import CallPiece, Finish, Piece, TextPiece, ThoughtPiece
from gateway.agent.models.template_tokens import TemplateTokenFilter
from gateway.agent.models.thinking import ThinkingFilter
from gateway.agent.models.written_calls import is_written_call
from gateway.errors import ModelFloodError, ModelRefusedError, WrittenCallError

TEXT_CAP = 400_000
"""Longest reply, in characters, arguments included: more than any model writes in one go."""
CUT_NOTE = "\n\n[The reply was cut here: the model reached its output limit.]"


class _PartialCall(Struct):
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Assembly:
    """The reply of the model called *name*, which may call *tools*, as far as it has arrived; without words if it
    *may be empty*."""

    def __init__(self, name: str, tools: Collection[str] = (), *, may_be_empty: bool = False) -> None:
        self._name = name
        self._tools = tools
        self._may_be_empty = may_be_empty
        self._text: list[str] = []
        self._thinking = ThinkingFilter()
        self._tokens = TemplateTokenFilter()
        self._calls: dict[int, _PartialCall] = {}
        self._usage = Usage()
        self._finish: Finish | None = None
        self._size = 0

    def add(self, piece: Piece) -> str:
        """Add *piece*; return the text that it shows. Raises ModelFloodError past the longest reply."""
        match piece:
            case TextPiece(text=text):
                self._grow(len(text))
                return self._show(self._thinking.add(text))
            case CallPiece():
                call = self._calls.setdefault(piece.place, _PartialCall())
                call.id = call.id or piece.id
                call.name = call.name or piece.name
                call.arguments.append(piece.arguments)
                self._grow(len(piece.name) + len(piece.arguments))
            case ThoughtPiece(length=length):
                self._grow(length)
            case Finish():
                self._finish = piece
            case Usage():
                self._usage = piece
        return ""

    def _show(self, text: str) -> str:
        """Append *text* without template tokens; earlier text is dropped if it turns out to have been reasoning."""
        if self._thinking.takes_back():
            self._text.clear()
            self._tokens = TemplateTokenFilter()
        text = self._tokens.add(text)
        self._text.append(text)
        return text

    def _grow(self, length: int) -> None:
        self._size += length
        if self._size > TEXT_CAP:
            raise ModelFloodError(TEXT_CAP)

    def entry(self, taken: Collection[str]) -> ReplyEntry:
        """Return the whole reply; its calls get ids outside of *taken*, those of the history.

        Raises ModelUnavailableError if it is not whole, and ModelRefusedError if the provider held it back.
        """
        self._show(self._thinking.end())
        self._text.append(self._tokens.end())
        text, calls = "".join(self._text), tuple(self._whole_calls(set(taken)))
        self._check(text, calls)
        is_cut = self._finish == Finish("length") and not calls
        if not text.strip() and not calls:
            text = NO_REPLY
        return ReplyEntry(text + CUT_NOTE if is_cut else text, calls, self._name, self._usage)

    def _check(self, text: str, calls: tuple[ToolCall, ...]) -> None:
        """Check that the reply has a finish reason: a stream that breaks off cleanly raises nothing in the clients."""
        if self._finish is None:
            raise unusable_reply(self._name, "the reply was cut off")
        if self._finish.how == "failed":
            raise unusable_reply(self._name, "the provider reports an error within the reply")
        if not text.strip() and not calls:
            if self._finish.how == "filtered":
                raise ModelRefusedError(f"{self._name}: the provider's content filter stopped the reply")
            if self._may_be_empty and self._finish.how == "stop":
                return
            raise unusable_reply(self._name, "the reply is empty")
        if not calls and is_written_call(text, self._tools):
            raise WrittenCallError(self._name)
        for call in calls:
            self._check_arguments(call)

    def _check_arguments(self, call: ToolCall) -> None:
        try:
            json.loads(call.arguments)
        except (ValueError, RecursionError) as exc:
            raise unusable_reply(self._name, "the arguments of a tool call are not JSON") from exc

    def _whole_calls(self, taken: set[str]) -> Iterator[ToolCall]:
        """Yield the calls; servers that number the calls of each reply anew get ids that are unique in the history."""
        for _, call in sorted(self._calls.items()):
            call_id = call.id
            if not call_id or call_id in taken:
                call_id = f"call_{uuid4().hex[:24]}"
            taken.add(call_id)
            yield ToolCall(call_id, call.name, "".join(call.arguments) or "{}")
