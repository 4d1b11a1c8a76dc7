"""This file tells the owner that an agent cannot write its files: once an incident, and of the next one again."""

import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum

from gateway.errors import StoreError
from workspaces.access import AgentId

OVER_AFTER = timedelta(minutes=10)
"""How long nothing may have failed before a success ends an incident: a disk that is nearly full fails now and then."""
Tell = Callable[[str, str], Awaitable[None]]
"""Takes a key, under which the owner is told once, and the words. Raises StoreError when that cannot be stored."""


class Cause(StrEnum):
    """What cannot be written; when a disk is full, both."""

    FILES = "files"
    HISTORY = "history"


class Alarm:
    """Follows the troubles of one agent's files; `troubled` and `worked` may be called on any thread."""

    def __init__(self, agent: AgentId, tell: Tell, clock: Callable[[], datetime]) -> None:
        self._agent = agent
        self._tell = tell
        self._clock = clock
        self._lock = threading.Lock()
        self._failed_at: dict[Cause, datetime] = {}
        """The causes of the present incident, each with its latest failure."""
        self._untold: tuple[str, str] | None = None

    def troubled(self, cause: Cause, why: str) -> None:
        """Note that something could not be written, and why."""
        now = self._clock()
        with self._lock:
            if not self._failed_at:
                said = (
                    f"Agent {self._agent} has trouble with its files: {why}. It goes on by itself once that is mended."
                )
                self._untold = f"files:{self._agent}:{now.isoformat()}", said
            self._failed_at[cause] = now

    def worked(self, cause: Cause) -> None:
        """Note that something was written."""
        with self._lock:
            failed_at = self._failed_at.get(cause)
            if failed_at is not None and self._clock() - failed_at >= OVER_AFTER:
                del self._failed_at[cause]

    async def ring(self) -> None:
        """Tell the owner, unless he was told of this incident; while the store cannot be written, later."""
        untold = self._untold
        if untold is not None:
            with suppress(StoreError):  # the store tells of its own trouble
                await self._tell(*untold)
                self._untold = None
