"""This file fetches what was said while nobody listened for longer than Discord would tell it by itself."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from discord.http import Route
from pydantic import ValidationError

from adapters.channel import ChannelUnavailableError
from adapters.discord.calls import Calls
from adapters.discord.parse import EPOCH
from adapters.discord.wire import Member, Message, Numbered

PAGE = 100
"""Messages that Discord gives at a time; its most."""
_TIME_SHIFT = 22
"""An id begins with the milliseconds since `EPOCH`, above 22 bits of other things."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """How far back what was missed is fetched, and where."""

    age: timedelta = timedelta(hours=24)
    """None of it where this is nothing."""
    most: int = 100
    """Messages of one chat, the latest."""
    groups: frozenset[str] = frozenset()
    """The channels of servers that are allowed, by id; their threads and posts are within."""


@dataclass(frozen=True, slots=True)
class Unheard:
    """A chat in which something may have been said that nobody heard."""

    channel: str
    """A channel, a thread or a direct chat, by its id."""
    after: int
    """The last message that was heard."""
    server: str | None = None
    """What it belongs to, by its id; `None` for a direct chat."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a chat's history holds that was not heard."""

    messages: Sequence[Message | None] = ()
    """The oldest first, as they read now; `None` for one that cannot be read."""
    is_cut: bool = False
    """There is more, older than what is fetched, or that could not be fetched."""


def moment_of(message_id: int) -> datetime:
    """Return when a message was written."""
    return EPOCH + timedelta(milliseconds=message_id >> _TIME_SHIFT)


def first_id_of(moment: datetime) -> int:
    """Return the lowest id that a message of *moment* can have."""
    return max(0, (moment - EPOCH) // timedelta(milliseconds=1)) << _TIME_SHIFT


def _now() -> datetime:
    return datetime.now(UTC)


class Histories:
    """Reads the histories of one bot's chats."""

    def __init__(self, calls: Calls, rule: CatchUp, now: Callable[[], datetime] = _now) -> None:
        self._calls = calls
        self._rule = rule
        self._now = now

    async def since(self, chat: Unheard, own_id: str, until: float) -> Found:
        """Return what others than us wrote in *chat* after what was heard, within the rule's bounds.

        It is read from its end: of more than is fetched, the latest is what people still wait for. What was deleted
        is not there, and what was changed is there as it reads now. A history that cannot be had, or not *until* the
        loop's clock is there, costs no more than itself: what was read of it counts, and whoever listens goes on.
        """
        members: dict[str, Member | None] = {}
        messages: list[Message | None] = []
        try:
            async with asyncio.timeout_at(until):
                newest_first, is_cut = await self._newest_first(chat, own_id)
                for each in reversed(newest_first):
                    messages.append(await self._message(each, chat.server, members))  # noqa: PERF401  # one by one
        except (ChannelUnavailableError, TimeoutError):
            return Found(messages, is_cut=True)
        return Found(messages, is_cut)

    async def _newest_first(self, chat: Unheard, own_id: str) -> tuple[list[Numbered], bool]:
        oldest = first_id_of(self._now() - self._rule.age)
        route = Route("GET", "/channels/{channel_id}/messages", channel_id=chat.channel)
        found: list[Numbered] = []
        where: dict[str, str | int] = {"limit": PAGE}
        while True:
            page = sorted(await self._calls.read(list[Numbered], route, params=where) or [], key=_newest)
            for each in page:
                if int(each.id) <= chat.after:
                    return found, False
                if each.author.id == own_id:
                    continue
                if int(each.id) < oldest or len(found) == self._rule.most:
                    return found, True
                found.append(each)
            if len(page) < PAGE:
                return found, False
            where["before"] = page[-1].id

    async def _message(self, each: Numbered, server: str | None, members: dict[str, Member | None]) -> Message | None:
        """Return a message of a history as an event would tell of it: with its server, and what that knows of people.

        Raises ChannelUnavailableError.
        """
        try:
            message = Message.model_validate(each.model_dump())
        except ValidationError:
            return None
        if server is None or message.webhook_id:
            return message.model_copy(update={"guild_id": server})
        person = message.author.id
        if person not in members:
            route = Route("GET", "/guilds/{guild_id}/members/{user_id}", guild_id=server, user_id=person)
            members[person] = await self._calls.read(Member, route)
        return message.model_copy(update={"guild_id": server, "member": members[person]})


def _newest(each: Numbered) -> int:
    return -int(each.id)
