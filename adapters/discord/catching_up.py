"""This file looks, when a connection begins anew, for what was said in each chat since it was last heard."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime

from adapters.abilities import Keeps
from adapters.channel import Address, Count
from adapters.discord.calls import Calls
from adapters.discord.heard import HeardKeeper
from adapters.discord.missed import CatchUp, Found, Histories, Unheard, moment_of
from adapters.discord.places import Places
from adapters.discord.wire import Event, Guild, Message

MISSED = "discord_missed"
"""The reason code of a chat in which more was said while we were away than is fetched."""
CATCH_UP_S = 20.0
"""Patience with all histories at once: the SDK gives up a connection that is not read for a minute."""

Take = Callable[[Message | None], Awaitable[None]]
"""Takes a message in as if an event had told of it just now; `None` is one that cannot be read."""


async def _untold(_: Address, __: datetime) -> None:
    """Nobody wants to hear."""


class CatchingUp:
    """Makes up for what one account missed: what Discord tells by itself reaches back some minutes."""

    def __init__(self, account: str, calls: Calls, count: Count, rule: CatchUp, keeps: Keeps | None) -> None:
        self.heard = HeardKeeper(account, keeps if rule.age else None, rule.groups)
        self.tell: Callable[[Address, datetime], Awaitable[None]] = _untold
        """Told of a chat where more was said than is fetched, and until when all was heard."""
        self._account = account
        self._count = count
        self._rule = rule
        self._histories = Histories(calls, rule)

    async def begin(self, event: Event, places: Places, own_id: str, take: Take) -> None:
        """Hand what was missed to *take*, each chat's in order, when *event* begins a connection anew.

        Discord begins one with READY and then tells of each server; one that is resumed tells what was said itself.
        Raises what *take* raises; then it goes on from there the next time.
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
                await self.tell(address, moment_of(self.heard.until))
        await self.heard.keep(at_once=True)

    async def _hand_on(self, found: Found, take: Take) -> None:
        self.heard.is_making_up = True
        try:
            for message in found.messages:
                await take(message)
        finally:
            self.heard.is_making_up = False

    def _unheard(self, event: Event, places: Places) -> Iterator[tuple[Unheard, Address]]:
        """Give the chats that *event* tells of and that may hold something new. Raises pydantic's ValidationError."""
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
