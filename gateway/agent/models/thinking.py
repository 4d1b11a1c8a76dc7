"""Filter for reasoning that a model writes into its answer between `<think>` tags, in streams too.

Servers without a reasoning parser send it as plain content. A tag counts at the beginning of a line and outside code; a
closing tag alone ends reasoning whose opening tag the server's own template wrote. An opening tag further down that is
never closed is text, and comes back at the end.
"""

import re

_TAGS = r"(?:think|thinking|thought|thoughts|reasoning|seed:think)"
_TOKEN = re.compile(
    rf"(?P<open><{_TAGS}>)|(?P<close></{_TAGS}>)|(?P<fence>```)|(?P<tick>`)|(?P<line>\n)", re.IGNORECASE
)
"""Each alternative is bounded, so reading is linear."""
_LONGEST_TAG = len("</seed:think>")


class CodeState:
    """Tells whether a text that is read token by token is in code: in a fence, or between backticks on one line."""

    def __init__(self) -> None:
        self._in_fence = self._in_ticks = False

    @property
    def is_code(self) -> bool:
        return self._in_fence or self._in_ticks

    def note(self, token: re.Match[str]) -> None:
        """Follow *token*, whose groups `fence`, `tick` and `line` tell which of these it is, if any."""
        if token["fence"] and not self._in_ticks:
            self._in_fence = not self._in_fence
        elif token["tick"] and not self._in_fence:
            self._in_ticks = not self._in_ticks
        elif token["line"]:
            self._in_ticks = False


class ThinkingFilter:
    """Reads an answer in pieces and returns the words that are meant for the chat."""

    def __init__(self) -> None:
        self._held = ""
        """The end of the text so far, as long as it may be the beginning of a tag."""
        self._thought: list[str] = []
        """Text from an unclosed opening tag on, the tag included."""
        self._is_thinking = False
        self._is_first = True
        """Only blanks were returned so far."""
        self._begins_anew = False
        """Reasoning ended before any word of the answer: the blank lines behind it are dropped too."""
        self._is_line_start = True
        self._code = CodeState()
        self._is_answer_lost = False

    def takes_back(self) -> bool:
        """Return, once, whether all text returned so far was reasoning: a closing tag came without an opening one."""
        is_lost, self._is_answer_lost = self._is_answer_lost, False
        return is_lost

    def add(self, text: str) -> str:
        """Return the part of *text*, and of the text held back before, that is meant for the chat."""
        text = self._held + text
        cut = cut_position(text, _LONGEST_TAG)
        self._held = text[cut:]
        return self._read(text[:cut])

    def end(self) -> str:
        """Return the rest: text that was held back, and text after a tag that was never closed."""
        left = self._read(self._held)
        self._held = ""
        if self._is_thinking and not self._is_first:
            left += "".join(self._thought)
        self._thought, self._is_thinking = [], False
        return left

    def _read(self, text: str) -> str:
        shown: list[str] = []
        at = 0
        for token in _TOKEN.finditer(text):
            self._take(text[at : token.start()], shown)
            self._token(token, shown)
            at = token.end()
        self._take(text[at:], shown)
        return "".join(shown)

    def _token(self, token: re.Match[str], shown: list[str]) -> None:
        in_code = self._code.is_code
        if token["close"] and not in_code:
            self._close(shown)
        elif token["open"] and not in_code and self._is_line_start and not self._is_thinking:
            self._is_thinking, self._thought = True, [token[0]]
        else:
            if not self._is_thinking:
                self._code.note(token)
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


def cut_position(text: str, longest: int) -> int:
    """Return where *text*, a part of a stream, can be cut: before the beginning of a tag of at most *longest*
    characters, or of backticks, that may go on."""
    begin = max(len(text) - longest, 0)
    return min((at for at in (text.find("<", begin), _ticks_at_end(text)) if at >= 0), default=len(text))


def _ticks_at_end(text: str) -> int:
    """Return the position at which backticks at the end of *text* begin that may go on; -1 if there are none."""
    ticks = len(text) - len(text.rstrip("`"))
    return len(text) - ticks % 3 if ticks % 3 else -1
