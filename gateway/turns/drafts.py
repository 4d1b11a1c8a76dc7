"""Draft of an answer while a model writes it, limited to text that may be shown."""

from collections.abc import Callable, Iterable

from gateway.agent.entries import NO_REPLY
from gateway.schedule.checklist import HEARTBEAT_OK, LONGEST_ALONE, SILENT_WITH, without_heartbeat_token
from workspaces.secrets import Sieve

Reader = Callable[[str], None]
"""Called with the whole text of a draft, synchronously in the event loop, whenever it grows or restarts."""
ToolReader = Callable[[str], None]
"""Called with the name of a tool that the answer waits for, synchronously in the event loop."""


class Draft:
    """The text of an answer so far, fed by a model's stream; readers never get the final text from it.

    A model that calls tools writes several times in a turn: each time the draft restarts.
    """

    def __init__(self, tell: Reader, on_tool: ToolReader = lambda _: None) -> None:
        self._tell = tell
        self._on_tool = on_tool
        self._text = ""
        self._is_over = False
        self._sieve = Sieve()

    async def __call__(self, piece: str) -> None:
        """Add *piece* of the stream."""
        if self._is_over:
            self._text, self._sieve, self._is_over = "", Sieve(), False
        self._text += self._sieve(piece)
        if not may_be_silence(self._text):
            self._tell(_visible_text(self._text))

    def end_step(self, tools: Iterable[str] = ()) -> None:
        """Mark the model's reply as complete: later pieces belong to the next one, which waits for *tools*."""
        self._is_over = True
        for tool in tools:
            self._on_tool(tool)


def _visible_text(text: str) -> str:
    """Return *text* without a last line that may become `HEARTBEAT_OK`, which is never shown."""
    before, _, last = text.rpartition("\n")
    bare = last.strip(" *_`").upper() if len(last) <= LONGEST_ALONE else ""
    return before.rstrip() if bare and HEARTBEAT_OK.startswith(bare) else without_heartbeat_token(text)


def may_be_silence(text: str) -> bool:
    """Return whether *text*, the beginning of an answer, may become one that is never shown in a chat."""
    begun = text.strip()[: len(HEARTBEAT_OK) + SILENT_WITH + 1].upper()  # asked for each piece of a long answer
    if begun.startswith(HEARTBEAT_OK):
        return len(begun) - len(HEARTBEAT_OK) <= SILENT_WITH
    return NO_REPLY.startswith(begun) or HEARTBEAT_OK.startswith(begun)
