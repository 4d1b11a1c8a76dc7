"""Catch-up after a new connection: fetches messages sent to each chat since the last one received."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime

from adapters.abilities import Keeps
from adapters.channel import Address, Count
from adapters.discord.calls import DiscordCalls
from adapters.discord.heard import LastMessageTracker
from adapters.discord.missed import CatchUp, Histories, MissedMessages, Unheard, moment_of
from adapters.discord.places import ChannelDirectory
from adapters.discord.wire import GatewayEvent, Guild, MessageData

MISSED = "discord_missed"
"""The reason code of a chat with more missed messages than are fetched."""
CATCH_UP_S = 20.0
"""Timeout for all histories together: the SDK drops a connection that is not read for a minute."""

Take = Callable[[MessageData | None], Awaitable[None]]
"""Processes a message like a live event; `None` is an unreadable one."""


class CatchUpFetcher:
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
