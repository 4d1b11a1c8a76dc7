"""This file is how a running turn is asked to end before it has an answer."""

import asyncio
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Halt:
    """Ends a turn; a model's call is given up in either case, as it changes nothing."""

    soon: asyncio.Event = field(default_factory=asyncio.Event)
    """A tool that runs is waited for; no other is begun."""
    now: asyncio.Event = field(default_factory=asyncio.Event)
    """A tool that runs is cancelled too."""

    def after_tool(self) -> None:
        """End the turn once the tool that runs has its result."""
        self.soon.set()

    def at_once(self) -> None:
        """End the turn without waiting for anything."""
        self.soon.set()
        self.now.set()
