"""Fetching of messages missed during a gap longer than Discord's own replay covers."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from discord.http import Route
from msgspec import Struct
from pydantic import ValidationError

from adapters.channel import ChannelUnavailableError
from adapters.discord.calls import DiscordCalls
from adapters.discord.parse import EPOCH
from adapters.discord.wire import MemberData, MessageData, Numbered

PAGE = 100
"""Messages fetched per call; Discord's maximum."""
_TIME_SHIFT = 22
"""An id begins with the milliseconds since `EPOCH`, above 22 bits of other data."""


class CatchUp(Struct, frozen=True):
    """Limits of catching up, and the chats it covers."""

    age: timedelta = timedelta(hours=24)
    """Oldest message to fetch; zero turns catching up off."""
    most: int = 100
    """Most messages fetched for one chat; the latest win."""
    groups: frozenset[str] = frozenset()
    """The allowed server channels, by id, including their threads and posts."""


class Unheard(Struct, frozen=True):
    """A chat that may hold missed messages."""

    channel: str
    """Id of a channel, a thread or a direct chat."""
    after: int
    """Id of the last message received."""
    server: str | None = None
    """Id of its server; `None` for a direct chat."""


class MissedMessages(Struct, frozen=True):
    """Missed messages from a chat's history."""

    messages: Sequence[MessageData | None] = ()
    """Oldest first, in their current version; `None` for an unreadable one."""
    is_cut: bool = False
    """More messages exist that are older than the limit or could not be fetched."""


def moment_of(message_id: int) -> datetime:
    """Return the time at which a message was written."""
    return EPOCH + timedelta(milliseconds=message_id >> _TIME_SHIFT)


def first_id_of(moment: datetime) -> int:
    """Return the lowest id that a message of *moment* can have."""
    return max(0, (moment - EPOCH) // timedelta(milliseconds=1)) << _TIME_SHIFT


class Histories:
    """Reads the histories of one bot's chats."""

    def __init__(self, calls: DiscordCalls, rule: CatchUp) -> None:
        self._calls = calls
        self._rule = rule

    async def since(self, chat: Unheard, own_id: str, until: float) -> MissedMessages:
        """Return other people's messages in *chat* after the last one received, within the configured limits.

        The history is read from its end: when it is cut, people still wait for answers to the latest messages. Deleted
        messages are missing, and edited ones come in their current version. A history that cannot be read, or not
        before the loop's clock reaches *until*, affects only itself: the part already read counts, and the listener
        goes on.
        """
        members: dict[str, MemberData | None] = {}
        messages: list[MessageData | None] = []
        try:
            async with asyncio.timeout_at(until):
                newest_first, is_cut = await self._newest_first(chat, own_id)
                for each in reversed(newest_first):
                    messages.append(await self._message(each, chat.server, members))  # noqa: PERF401  # one by one
        except (ChannelUnavailableError, TimeoutError):
            return MissedMessages(messages, is_cut=True)
        return MissedMessages(messages, is_cut)

    async def _newest_first(self, chat: Unheard, own_id: str) -> tuple[list[Numbered], bool]:
        oldest = first_id_of(datetime.now(UTC) - self._rule.age)
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

    async def _message(
        self, each: Numbered, server: str | None, members: dict[str, MemberData | None]
    ) -> MessageData | None:
        """Return a message from a history in the form of a live event: with its server and member data.

        Raises ChannelUnavailableError.
        """
        try:
            message = MessageData.model_validate(each.model_dump())
        except ValidationError:
            return None
        if server is None or message.webhook_id:
            return message.model_copy(update={"guild_id": server})
        person = message.author.id
        if person not in members:
            route = Route("GET", "/guilds/{guild_id}/members/{user_id}", guild_id=server, user_id=person)
            members[person] = await self._calls.read(MemberData, route)
        return message.model_copy(update={"guild_id": server, "member": members[person]})


def _newest(each: Numbered) -> int:
    return -int(each.id)
