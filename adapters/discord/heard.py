"""This file keeps how far each chat was heard, so that a later run can look for what was said after that."""

import math
import time
from collections.abc import Callable, Iterator

from pydantic import BaseModel, ConfigDict, ValidationError

from adapters.abilities import Keeps
from adapters.channel import ChatKind
from adapters.discord.places import Place
from adapters.discord.wire import Snowflake

KEPT_EVERY_S = 2.0
"""How far what is kept may lag behind: what is fetched twice is known by the inbox."""
MOST_CHATS = 500
"""Channels and threads that are remembered; the one that was silent for longest makes way."""
MOST_DIRECT = 100
"""Direct chats that are remembered: Discord lists none, so each costs a call."""


class Marks(BaseModel):
    """The newest message that was heard in each chat, by the channel's id; no text."""

    model_config = ConfigDict(frozen=True)
    direct: dict[Snowflake, Snowflake] = {}
    shared: dict[Snowflake, Snowflake] = {}
    latest: Snowflake | None = None
    """The newest message that was heard as it was said; a later one, of a history, tells nothing of other chats."""
    groups: tuple[str, ...] = ()
    """The channels that were allowed when `latest` was heard: what was said in others was not for us."""


class HeardKeeper:
    """Knows how far one account was heard, and keeps that for the next run."""

    def __init__(
        self, account: str, keeps: Keeps | None, groups: frozenset[str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """*groups* are the channels that are allowed now; without *keeps* nothing outlives this object."""
        self._key = f"discord.heard.{account}"
        self._keeps = keeps
        self._clock = clock
        self._groups = groups
        self._direct: dict[str, int] = {}
        self._shared: dict[str, int] = {}
        self._is_kept = True
        self._kept_at = -math.inf
        self._latest, self._groups_at_latest = 0, groups
        self._groups_at_until = groups
        self.until = 0
        """The newest message that was heard as it was said when this connection began; 0 if there never was one."""
        self.is_making_up = False
        """What is noted now comes from a history: there may be chats whose histories are yet to be read."""

    async def recall(self) -> None:
        """Take up what an earlier run kept."""
        text = await self._keeps.get(self._key) if self._keeps else None
        try:
            marks = Marks.model_validate_json(text) if text else None
        except ValidationError:
            return
        if marks is not None:
            self._direct = {chat: int(mark) for chat, mark in marks.direct.items()}
            self._shared = {chat: int(mark) for chat, mark in marks.shared.items()}
            self._latest = int(marks.latest or max([*self._direct.values(), *self._shared.values()], default=0))
            self._groups_at_latest = frozenset(marks.groups)
        self.begin()

    def begin(self) -> None:
        """Note that another connection begins: of a chat without a mark, what came since then was not heard."""
        self.until, self._groups_at_until = self._latest, self._groups_at_latest

    def direct_chats(self) -> Iterator[tuple[str, int]]:
        """Give the direct chats whose people were let in, and how far each was heard."""
        yield from list(self._direct.items())

    def after(self, place: Place, channel_id: str) -> int | None:
        """Return the id after which nothing was heard in a channel of a server; `None` if nothing is to be heard."""
        if not self.until or place.chat not in self._groups & self._groups_at_until:
            return None
        return self._shared.get(channel_id, self.until)

    def note(self, place: Place, channel_id: str, message_id: str, *, is_admitted: bool) -> None:
        """Note that a message was handed over: in a direct chat only where people were let in."""
        is_direct = place.kind is ChatKind.DIRECT
        if is_direct and not (is_admitted or channel_id in self._direct):
            return
        if not is_direct and place.chat not in self._groups:
            return
        marks, most = (self._direct, MOST_DIRECT) if is_direct else (self._shared, MOST_CHATS)
        mark = int(message_id)
        if mark > marks.get(channel_id, 0):
            marks[channel_id] = mark
            self._is_kept = False
            if mark > self._latest and not self.is_making_up:
                self._latest, self._groups_at_latest = mark, self._groups
            if len(marks) > most:
                del marks[min(marks, key=marks.__getitem__)]

    async def keep(self, *, at_once: bool = False) -> None:
        """Keep what was noted since the last time, unless that was a moment ago."""
        is_due = at_once or self._clock() - self._kept_at >= KEPT_EVERY_S
        if self._keeps is None or self._is_kept or not is_due:
            return
        direct = {chat: str(mark) for chat, mark in self._direct.items()}
        shared = {chat: str(mark) for chat, mark in self._shared.items()}
        groups = tuple(sorted(self._groups_at_latest))
        marks = Marks(direct=direct, shared=shared, latest=str(self._latest), groups=groups)
        self._is_kept, self._kept_at = True, self._clock()
        await self._keeps.put(self._key, marks.model_dump_json())
