"""Catch-up after a new connection: fetches messages sent to each chat since the last one received."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from discord.http import Route
from pydantic import ValidationError

from adapters.abilities import Keeps
from adapters.channel import Address, ChannelUnavailableError, Count
from adapters.discord.connection import DiscordCalls
from adapters.discord.heard import LastMessageTracker
from adapters.discord.parse import EPOCH
from adapters.discord.places import ChannelDirectory
from adapters.discord.wire import GatewayEvent, Guild, MemberData, MessageData, Numbered

PAGE = 100
"""Messages fetched per call; Discord's maximum."""
_TIME_SHIFT = 22
"""An id begins with the milliseconds since `EPOCH`, above 22 bits of other data."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Limits of catching up, and the chats it covers."""

    age: timedelta = timedelta(hours=24)
    """Oldest message to fetch; zero turns catching up off."""
    most: int = 100
    """Most messages fetched for one chat; the latest win."""
    groups: frozenset[str] = frozenset()
    """The allowed server channels, by id, including their threads and posts."""


@dataclass(frozen=True, slots=True)
class Unheard:
    """A chat that may hold missed messages."""

    channel: str
    """Id of a channel, a thread or a direct chat."""
    after: int
    """Id of the last message received."""
    server: str | None = None
    """Id of its server; `None` for a direct chat."""


@dataclass(frozen=True, slots=True)
class MissedMessages:
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


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Histories:
    """Reads the histories of one bot's chats."""

    def __init__(self, calls: DiscordCalls, rule: CatchUp, now: Callable[[], datetime] = _utc_now) -> None:
        self._calls = calls
        self._rule = rule
        self._utc_now = now

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
        oldest = first_id_of(self._utc_now() - self._rule.age)
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


MISSED = "discord_missed"
"""The reason code of a chat with more missed messages than are fetched."""
CATCH_UP_S = 20.0
"""Timeout for all histories together: the SDK drops a connection that is not read for a minute."""

Take = Callable[[MessageData | None], Awaitable[None]]
"""Processes a message like a live event; `None` is an unreadable one."""


class CatchingUp:
    """Fetches the messages that one account missed: Discord's own replay covers only some minutes."""

    def __init__(self, account: str, calls: DiscordCalls, count: Count, rule: CatchUp, keeps: Keeps | None) -> None:
        self.heard = LastMessageTracker(account, keeps if rule.age else None, rule.groups)
        self._tell: Callable[[Address, datetime], Awaitable[None]] | None = None
        self._account = account
        self._count = count
        self._rule = rule
        self._histories = Histories(calls, rule)

    def on_missed(self, tell: Callable[[Address, datetime], Awaitable[None]]) -> None:
        """Call *tell* from now on with a chat whose missed messages were cut, and since when it is incomplete."""
        self._tell = tell

    async def begin(self, event: GatewayEvent, places: ChannelDirectory, own_id: str, take: Take) -> None:
        """Pass missed messages to *take*, each chat's in order, when *event* starts a new connection.

        Discord starts one with READY, followed by one event for each server; a resumed connection replays messages
        itself. Errors raised by *take* pass through; the next call continues from there.
        """
        if not self._rule.age:
            return
        if event.name == "READY":
            self.heard.begin()
        until = asyncio.get_running_loop().time() + CATCH_UP_S
        for chat, address in self._unheard(event, places):
            found = await self._histories.since(chat, own_id, until)
            await self._hand_on(found, take)
            if found.is_cut:
                await self._count(MISSED)
                if self._tell is not None:
                    await self._tell(address, moment_of(self.heard.until))
        await self.heard.keep(at_once=True)

    async def _hand_on(self, found: MissedMessages, take: Take) -> None:
        with self.heard.making_up():
            for message in found.messages:
                await take(message)

    def _unheard(self, event: GatewayEvent, places: ChannelDirectory) -> Iterator[tuple[Unheard, Address]]:
        """Yield the chats in *event* that may hold new messages. Raises pydantic's ValidationError."""
        if event.name == "READY":
            for chat, after in self.heard.direct_chats():
                yield Unheard(chat, after), Address("discord", self._account, chat)
        if event.name != "GUILD_CREATE":
            return
        server = Guild.model_validate(event.data)
        for channel in (*server.channels, *server.threads):
            if (place := places.find(channel.id)) is None:
                continue
            since = self.heard.after(place, channel.id)
            if since is not None and int(channel.last_message_id or 0) > since:
                address = Address("discord", self._account, place.chat, place.thread)
                yield Unheard(channel.id, since, server.id), address
