"""Filter for tokens of a model's own chat template that its server passes on as text, in streams too.

A token counts outside code, where a template writes it: one that ends a turn at the end of a line or before another
token, one that begins a turn at the beginning of a line. In a sentence it is text. A turn that begins further down is
an invented one, and is dropped.
"""

import re

from gateway.agent.models.stream_filter import StreamFilter
from workspaces.lazy_pattern import lazy_pattern

_TOKEN = lazy_pattern(
    r"(?P<begin><\|(?:im_start|start_header_id|assistant|user|system)\|>|<start_of_turn>)"
    r"|(?P<end><\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|end_header_id|end|return)\|>"
    r"|<end_of_turn>|<｜end▁of▁sentence｜>|<eos>|</s>)"
    r"|(?P<fence>```)|(?P<tick>`)|(?P<line>\n)"
)
"""Each alternative is bounded, so reading is linear."""
_LONGEST = len("<｜end▁of▁sentence｜>")
_ROLES = frozenset({"", "assistant", "model"})
"""Words behind a token that begins the model's own turn."""
_STRUCK = "</s>"
"""Ends a turn only at the end of the text: further up it is HTML."""


class TemplateTokenFilter(StreamFilter):
    """Leaves the tokens out."""

    def __init__(self) -> None:
        super().__init__(_TOKEN, _LONGEST)
        self._pending = ""
        """A token, and blanks or a role behind it, until the next text tells whether it counts."""
        self._begins = False
        """The pending token begins a turn."""
        self._is_over = False
        self._is_first = self._is_line_start = True

    def end(self) -> str:
        """Return the rest of the text; a token at its end ended the turn."""
        left = self._rest()
        return left if self._is_over else left + self._resolved(counts=True)

    def _token(self, token: re.Match[str], shown: list[str]) -> None:
        if not (token["begin"] or token["end"]) or self._is_code:
            self._note_code(token)
            self._show(self._resolved(counts=token["line"] is not None and self._pending != _STRUCK), shown)
            self._show(token[0], shown)
            self._is_line_start = token["line"] is not None
        elif token["end"]:
            self._show(self._resolved(counts=True), shown)
            self._pending, self._begins = token[0], False
        elif self._is_first or self._is_line_start or self._pending:
            self._is_over = not self._is_first
            self._pending, self._begins = token[0], True
        else:
            self._show(token[0], shown)

    def _take(self, text: str, shown: list[str]) -> None:
        if self._pending and text and (self._begins or not text.strip()):
            self._pending += text
        elif text:
            self._show(self._resolved(counts=False) + text, shown)

    def _resolved(self, *, counts: bool) -> str:
        """Return the pending token as text, and nothing if it *counts* as one of a template."""
        pending, self._pending = self._pending, ""
        role = pending.rpartition(">")[2].strip() if self._begins else ""
        return "" if counts and role in _ROLES else pending

    def _show(self, text: str, shown: list[str]) -> None:
        if text and not self._is_over:
            shown.append(text)
        if text.strip():
            self._is_first = self._is_line_start = False
