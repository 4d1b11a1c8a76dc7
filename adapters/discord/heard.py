"""The last message received from each chat, stored so that a later run can fetch the ones after it."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pydantic import BaseModel, ConfigDict, ValidationError

from adapters.abilities import Keeps
from adapters.channel import ChatKind
from adapters.discord.places import ChatLocation
from adapters.discord.wire import Snowflake

KEPT_EVERY_S = 2.0
"""Longest delay of storing progress: the inbox recognises a message that is fetched twice."""
MOST_CHATS = 500
"""Most channels and threads remembered; the one silent for longest is dropped first."""
MOST_DIRECT = 100
"""Most direct chats remembered: Discord does not list them, so each costs a call."""


class LastMessages(BaseModel):
    """The newest message received in each chat, by channel id; no text."""

    model_config = ConfigDict(frozen=True)
    direct: dict[Snowflake, Snowflake] = {}
    shared: dict[Snowflake, Snowflake] = {}
    latest: Snowflake | None = None
    """The newest message received live; a later one from a history says nothing about other chats."""
    groups: tuple[str, ...] = ()
    """The channels allowed when `latest` was received: messages in others were not for us."""


class LastMessageTracker:
    """Tracks the newest received message of each chat of one account, and stores it for the next run."""

    def __init__(
        self, account: str, keeps: Keeps | None, groups: frozenset[str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """*groups* are the channels allowed now; without *keeps* nothing survives this object."""
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
        """The newest message received live when this connection began; 0 if there never was one."""
        self._is_making_up = False
        """Messages noted now come from a history: other chats' histories may still be unread."""

    async def recall(self) -> None:
        """Load the state of an earlier run."""
        text = await self._keeps.get(self._key) if self._keeps else None
        try:
            marks = LastMessages.model_validate_json(text) if text else None
        except ValidationError:
            return
        if marks is not None:
            self._direct = {chat: int(mark) for chat, mark in marks.direct.items()}
            self._shared = {chat: int(mark) for chat, mark in marks.shared.items()}
            self._latest = int(marks.latest or max([*self._direct.values(), *self._shared.values()], default=0))
            self._groups_at_latest = frozenset(marks.groups)
        self.begin()

    def begin(self) -> None:
        """Note that a new connection begins: in a chat without a mark, messages since then are missed ones."""
        self.until, self._groups_at_until = self._latest, self._groups_at_latest

    def direct_chats(self) -> Iterator[tuple[str, int]]:
        """Yield the direct chats with admitted people, and the newest message received in each."""
        yield from list(self._direct.items())

    def after(self, place: ChatLocation, channel_id: str) -> int | None:
        """Return the id of the last message received in a server's channel; `None` if it is not to be read."""
        if not self.until or place.chat not in self._groups & self._groups_at_until:
            return None
        return self._shared.get(channel_id, self.until)

    @contextmanager
    def making_up(self) -> Iterator[None]:
        """Take the messages noted in this block for missed ones, which come after newer ones."""
        self._is_making_up = True
        try:
            yield
        finally:
            self._is_making_up = False

    def note(self, place: ChatLocation, channel_id: str, message_id: str, *, is_admitted: bool) -> None:
        """Note that a message was passed on: in a direct chat only if its people are admitted."""
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
            if mark > self._latest and not self._is_making_up:
                self._latest, self._groups_at_latest = mark, self._groups
            if len(marks) > most:
                del marks[min(marks, key=marks.__getitem__)]

    async def keep(self, *, at_once: bool = False) -> None:
        """Store the progress since the last call, unless that was a moment ago."""
        is_due = at_once or self._clock() - self._kept_at >= KEPT_EVERY_S
        if self._keeps is None or self._is_kept or not is_due:
            return
        direct = {chat: str(mark) for chat, mark in self._direct.items()}
        shared = {chat: str(mark) for chat, mark in self._shared.items()}
        groups = tuple(sorted(self._groups_at_latest))
        marks = LastMessages(direct=direct, shared=shared, latest=str(self._latest), groups=groups)
        self._is_kept, self._kept_at = True, self._clock()
        await self._keeps.put(self._key, marks.model_dump_json())
