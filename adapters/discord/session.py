"""Stored gateway session, so that Discord replays messages sent during a restart."""

import math
import time
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict, ValidationError

from adapters.abilities import Keeps

KEPT_EVERY_S = 0.25
"""Longest delay of storing progress: the inbox recognises a replayed message."""


class GatewaySession(BaseModel):
    """Discord's state of one connection; it lasts some minutes beyond it."""

    model_config = ConfigDict(frozen=True)
    id: str
    sequence: int | None
    resume_at: str
    """The gateway address to resume at."""
    gateway: str
    """The configured gateway address at which it began."""


class GatewaySessionStore:
    """Stores one account's session for the next run."""

    def __init__(self, account: str, keeps: Keeps | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Without *keeps* nothing survives this object; *clock* counts seconds."""
        self._key = f"discord.session.{account}"
        self._keeps = keeps
        self._clock = clock
        self._kept: GatewaySession | None = None
        self._kept_at = -math.inf

    async def recall(self, gateway: str) -> GatewaySession | None:
        """Return the session of an earlier run, if it began at *gateway*."""
        text = await self._keeps.get(self._key) if self._keeps else None
        try:
            found = GatewaySession.model_validate_json(text) if text else None
        except ValidationError:
            return None
        self._kept = found if found and found.gateway == gateway else None
        return self._kept

    async def keep(self, session: GatewaySession) -> None:
        """Store a new *session* immediately, and its progress at intervals."""
        if self._keeps is None or session == self._kept:
            return
        is_new = self._kept is None or session.id != self._kept.id
        if is_new or self._clock() - self._kept_at >= KEPT_EVERY_S:
            await self._keeps.put(self._key, session.model_dump_json())
            self._kept, self._kept_at = session, self._clock()
