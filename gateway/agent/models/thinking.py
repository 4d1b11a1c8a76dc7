"""Filter for reasoning that a model writes into its answer between `<think>` tags, in streams too.

Servers without a reasoning parser send it as plain content. A tag counts at the beginning of a line and outside code; a
closing tag alone ends reasoning whose opening tag the server's own template wrote. An opening tag further down that is
never closed is text, and comes back at the end.
"""

import re

from gateway.agent.models.stream_filter import StreamFilter
from workspaces.lazy_pattern import lazy_pattern

_TAGS = r"(?:think|thinking|thought|thoughts|reasoning|seed:think)"
_TOKEN = lazy_pattern(
    rf"(?P<open><{_TAGS}>)|(?P<close></{_TAGS}>)|(?P<fence>```)|(?P<tick>`)|(?P<line>\n)", re.IGNORECASE
)
"""Each alternative is bounded, so reading is linear."""
_LONGEST_TAG = len("</seed:think>")


class ThinkingFilter(StreamFilter):
    """Leaves reasoning out."""

    def __init__(self) -> None:
        super().__init__(_TOKEN, _LONGEST_TAG)
        self._thought: list[str] = []
        """Text from an unclosed opening tag on, the tag included."""
        self._is_thinking = False
        self._is_first = True
        """Only blanks were returned so far."""
        self._begins_anew = False
        """Reasoning ended before any word of the answer: the blank lines behind it are dropped too."""
        self._is_line_start = True
        self._is_answer_lost = False

    def takes_back(self) -> bool:
        """Return, once, whether all text returned so far was reasoning: a closing tag came without an opening one."""
        is_lost, self._is_answer_lost = self._is_answer_lost, False
        return is_lost

    def end(self) -> str:
        """Return the rest: text that was held back, and text after a tag that was never closed."""
        left = self._rest()
        if self._is_thinking and not self._is_first:
            left += "".join(self._thought)
        self._thought, self._is_thinking = [], False
        return left

    def _token(self, token: re.Match[str], shown: list[str]) -> None:
        in_code = self._is_code
        if token["close"] and not in_code:
            self._close(shown)
        elif token["open"] and not in_code and self._is_line_start and not self._is_thinking:
            self._is_thinking, self._thought = True, [token[0]]
        else:
            if not self._is_thinking:
                self._note_code(token)
            self._take(token[0], shown)
            self._is_line_start = token["line"] is not None

    def _close(self, shown: list[str]) -> None:
        if self._is_thinking:
            self._is_thinking, self._thought = False, []
        else:
            shown.clear()
            self._is_answer_lost = self._is_first = True
        self._begins_anew = self._is_first
        self._is_line_start = True

    def _take(self, text: str, shown: list[str]) -> None:
        if self._is_thinking:
            self._thought.append(text)
            return
        if self._begins_anew:
            text = text.lstrip()
            self._begins_anew = not text
        if text.strip():
            self._is_first = self._is_line_start = False
        if text:
            shown.append(text)
