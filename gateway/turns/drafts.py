"""This file is the draft of an answer while a model writes it: as much of it as a reader may be shown."""

from collections.abc import Callable

from gateway.agent.entries import NO_REPLY
from gateway.schedule.checklist import HEARTBEAT_OK, SILENT_WITH, without_token
from workspaces.secrets import Sieve

Reader = Callable[[str], None]
"""Told the whole text of a draft, at once and in the event loop, whenever it grows or begins anew."""


class Draft:
    """The text of an answer so far. A model's stream is its source, and what a reader hears is never the final word.

    A model that calls tools writes several times in a turn: each time the draft begins anew.
    """

    def __init__(self, tell: Reader) -> None:
        self._tell = tell
        self._text = ""
        self._is_over = False
        self._sieve = Sieve()

    async def __call__(self, piece: str) -> None:
        """Add *piece*, as it streamed in."""
        if self._is_over:
            self._text, self._sieve, self._is_over = "", Sieve(), False
        self._text += self._sieve(piece)
        if not may_be_silence(self._text):
            self._tell(_shown(self._text))

    def end_step(self) -> None:
        """Say that the model's reply is whole: what streams in later belongs to the next one."""
        self._is_over = True


def _shown(text: str) -> str:
    """Return *text* without a last line that may become `HEARTBEAT_OK`: that is never shown."""
    before, _, last = text.rpartition("\n")
    bare = last.strip(" *_`").upper()
    return before.rstrip() if bare and HEARTBEAT_OK.startswith(bare) else without_token(text)


def may_be_silence(text: str) -> bool:
    """Say whether *text*, the beginning of an answer, may become one that no chat is to see."""
    begun = text.strip().upper()
    if begun.startswith(HEARTBEAT_OK):
        return len(begun) - len(HEARTBEAT_OK) <= SILENT_WITH
    return NO_REPLY.startswith(begun) or HEARTBEAT_OK.startswith(begun)
