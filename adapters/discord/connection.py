"""Login of one bot, shared by listening and sending."""

import asyncio
import logging
from contextlib import AsyncExitStack

import discord
from discord.http import Route

from adapters.channel import ChannelUnavailableError
from adapters.discord.faults import CALL_FAULTS, DiscordFaults

API = "https://discord.com/api/v10"
CALL_TIMEOUT_S = 30.0
"""Timeout of a call, including the SDK's own retries (after 1, 3 and 5 seconds on a 5xx error)."""
LONGEST_RATE_WAIT_S = 5.0
"""The SDK itself waits out rate limits up to this long, however often; longer waits are left to the outbox."""
INTENTS = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)


class Connection:
    """One bot's connection to Discord's REST API, opened on first use."""

    def __init__(self, token: str, faults: DiscordFaults, base_url: str | None) -> None:
        """Take *base_url* in place of Discord's; the SDK keeps one for the whole process, the last one set."""
        Route.BASE = base_url or API
        self._token = token
        self._faults = faults
        self._client: discord.Client | None = None
        self._logging_in = asyncio.Lock()
        self._closed = False

    async def client(self) -> discord.Client:
        """Return the client, logged in. Raises ChannelError."""
        async with self._logging_in:
            if self._closed:
                raise ChannelUnavailableError("the Discord channel is closed")
            if self._client is None:
                self._client = await self._log_in()
            return self._client

    async def close(self) -> None:
        """Close all connections; none is opened afterwards."""
        self._closed = True
        async with self._logging_in:
            if self._client is not None:
                await self._client.close()

    async def _log_in(self) -> discord.Client:
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # no voice support needed
        client = discord.Client(
            intents=INTENTS,
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,
        )
        client.http.max_ratelimit_timeout = LONGEST_RATE_WAIT_S  # the SDK's own option accepts no value below 30
        logging.getLogger("discord.http").setLevel(logging.ERROR)  # its warnings contain addresses with tokens
        async with AsyncExitStack() as undo:
            undo.push_async_callback(client.close)
            try:
                async with asyncio.timeout(CALL_TIMEOUT_S):
                    await client.login(self._token)
            except CALL_FAULTS as fault:
                raise self._faults.of_call(fault) from None
            undo.pop_all()
        return client
