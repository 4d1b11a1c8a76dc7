"""Base of filters that leave marks of a model's server out of an answer, however its stream is cut."""

import re
from abc import ABC, abstractmethod


class StreamFilter(ABC):
    """Reads an answer in pieces and returns the words that are meant for the chat."""

    def __init__(self, marks: re.Pattern[str], longest: int) -> None:
        """*marks* finds marks of at most *longest* characters, and the bounds of code as `fence`, `tick` and `line`."""
        self._marks = marks
        self._longest = longest
        self._held = ""
        """The end of the text so far, as long as it may be the beginning of a mark."""
        self._in_fence = self._in_ticks = False

    def add(self, text: str) -> str:
        """Return the part of *text*, and of the text held back before, that is meant for the chat."""
        text = self._held + text
        begin = max(len(text) - self._longest, 0)
        cut = min((at for at in (text.find("<", begin), _ticks_at_end(text)) if at >= 0), default=len(text))
        self._held = text[cut:]
        return self._read(text[:cut])

    @abstractmethod
    def end(self) -> str:
        """Return the rest that is meant for the chat."""

    @abstractmethod
    def _token(self, token: re.Match[str], shown: list[str]) -> None:
        """Read a mark or a bound of code, and append the words for the chat to *shown*."""

    @abstractmethod
    def _take(self, text: str, shown: list[str]) -> None:
        """Read *text* between two marks likewise."""

    def _rest(self) -> str:
        """Return the words for the chat among those held back."""
        left, self._held = self._held, ""
        return self._read(left)

    def _read(self, text: str) -> str:
        shown: list[str] = []
        at = 0
        for token in self._marks.finditer(text):
            self._take(text[at : token.start()], shown)
            self._token(token, shown)
            at = token.end()
        self._take(text[at:], shown)
        return "".join(shown)

    @property
    def _is_code(self) -> bool:
        """Whether the text stands in a fence, or between backticks on one line."""
        return self._in_fence or self._in_ticks

    def _note_code(self, token: re.Match[str]) -> None:
        if token["fence"] and not self._in_ticks:
            self._in_fence = not self._in_fence
        elif token["tick"] and not self._in_fence:
            self._in_ticks = not self._in_ticks
        elif token["line"]:
            self._in_ticks = False


def _ticks_at_end(text: str) -> int:
    """Return the position at which backticks at the end of *text* begin that may go on; -1 if there are none."""
    ticks = len(text) - len(text.rstrip("`"))
    return len(text) - ticks % 3 if ticks % 3 else -1
