"""Notices to the owner of replies that could not be delivered: the first at once, the others of its hour together."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from gateway.delivery.owner_notices import Notices
from gateway.errors import StoreError
from gateway.runtime.clock import Clock, pause
from gateway.stores.ports import Store
from gateway.stores.remembered import Moment, remember, remembered
from gateway.stores.rows import OutboxRow

log = structlog.get_logger()

KEY = "dead_letters"
"""Key in the store: when the first reply of the hour was given up, and each of them."""
JOINED_FOR = timedelta(hours=1)
LOOK_EVERY_S = 60.0
MOST_CHATS = 20
"""Chats that one notice names. Our choices, all of these."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A reply that was given up."""

    row: int
    chat: str
    place: str
    """The chat with its name, as the owner is told of it."""
    why: str


@dataclass(frozen=True, slots=True)
class LostHour:
    """The replies that were given up within an hour of the first, of which the owner was told."""

    since: Moment
    letters: list[DeadLetter]


class DeadLetters:
    """Takes each reply that is given up: a channel that is down costs two notices an hour, not one a reply."""

    def __init__(self, store: Store, notices: Notices, now: Callable[[], datetime]) -> None:
        """*now* returns the time in the owner's zone."""
        self._store, self._notices, self._now = store, notices, now
        self._lock = asyncio.Lock()

    async def add(self, row: OutboxRow, why: str) -> None:
        """Notify the owner that *row* was given up, or keep it for the notice of its hour. Raises StoreError.

        The same row may come again, after a crash.
        """
        if row.is_notice:
            await self._notices.dead_letter(row, why)
            return
        async with self._lock:
            hour = await self._hour() or LostHour(self._now(), [])
            if not hour.letters:
                await self._notices.dead_letter(row, why)
            if all(each.row != row.id for each in hour.letters):
                chat = row.outgoing.address
                letter = DeadLetter(row.id, str(chat), await self._notices.place(chat), why)
                kept = LostHour(hour.since, [*hour.letters, letter])
                await remember(self._store, KEY, kept)

    async def watch(self, clock: Clock) -> None:
        """Send the notice of each hour once that is over; runs until cancelled."""
        while True:
            try:
                async with self._lock:
                    await self._hour()
            except StoreError as exc:
                log.error("owner not told of replies that could not be delivered", detail=str(exc))
            await pause(clock, LOOK_EVERY_S)

    async def _hour(self) -> LostHour | None:
        """Return the hour that goes on; the notice of one that is over is sent. Raises StoreError."""
        hour = await remembered(self._store, KEY, LostHour)
        if hour is None or hour.since <= self._now() < hour.since + JOINED_FOR:
            return hour
        if more := hour.letters[1:]:
            said = joined_notice(hour.since.astimezone(self._now().tzinfo), more)
            await self._notices.tell_of_lost(f"dead-more:{hour.since.isoformat()}", said, {each.chat for each in more})
        await self._store.put(KEY, "")
        return None


def joined_notice(since: datetime, letters: Sequence[DeadLetter]) -> str:
    """Return what the owner is told of *letters*, which were given up after one that they know of; pure."""
    chats: dict[str, list[DeadLetter]] = {}
    for each in letters:
        chats.setdefault(each.place, []).append(each)
    lines = [f"- {len(lost)} to {place}: {lost[-1].why}" for place, lost in chats.items()]
    if rest := [*chats.values()][MOST_CHATS:]:
        lines[MOST_CHATS:] = [f"- {sum(map(len, rest))} to {len(rest)} other chats"]
    replies = "1 more reply" if len(letters) == 1 else f"{len(letters)} more replies"
    return "\n".join([f"{replies} could not be delivered in the hour from {since:%H:%M}:", *lines])
