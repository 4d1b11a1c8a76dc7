"""Cancellation of a running turn before it has an answer."""

import asyncio

from msgspec import Struct, field


class Halt(Struct, frozen=True):
    """Request to end a turn. A model call is abandoned in either case, as it changes nothing."""

    soon: asyncio.Event = field(default_factory=asyncio.Event)
    """The running tool may finish; no other starts."""
    now: asyncio.Event = field(default_factory=asyncio.Event)
    """The running tool is cancelled too."""

    def after_tool(self) -> None:
        """End the turn once the running tool has returned."""
        self.soon.set()

    def at_once(self) -> None:
        """End the turn without waiting."""
        self.soon.set()
        self.now.set()
