"""Calls to Discord's REST API other than sends: they may be repeated freely."""

import asyncio
from typing import Any, TypeVar

from discord import Client, Forbidden, NotFound
from discord.http import Route
from pydantic import TypeAdapter, ValidationError

from adapters.channel import Address, ChannelUnavailableError, SendRefusedError
from adapters.discord.connection import Connection
from adapters.discord.faults import CALL_FAULTS, DiscordFaults

T = TypeVar("T")


class DiscordCalls:
    """REST calls of one bot, with one timeout for each."""

    def __init__(self, connection: Connection, faults: DiscordFaults, timeout_s: float) -> None:
        self.faults = faults
        self._connection = connection
        self._timeout_s = timeout_s

    async def client(self) -> Client:
        """Return the SDK's client, logged in. Raises ChannelError."""
        return await self._connection.client()

    async def application_id(self) -> str:
        """Return the id of the bot's application, the owner of its slash commands. Raises ChannelError."""
        return str((await self.client()).application_id)

    async def make(self, route: Route, **content: Any) -> Any:
        """Make the call and return Discord's answer. Raises CALL_FAULTS, and ChannelError if nothing was sent."""
        client = await self.client()
        async with asyncio.timeout(self._timeout_s):
            return await client.http.request(route, **content)

    async def ask(self, route: Route, **content: Any) -> Any:
        """Make the call and return Discord's answer. Raises ChannelError."""
        try:
            return await self.make(route, **content)
        except CALL_FAULTS as fault:
            raise self.faults.of_call(fault) from None

    async def read(self, shape: type[T], route: Route, **content: Any) -> T | None:
        """Make the call and return the answer as *shape*; `None` if it does not exist or we may not see it.

        Raises ChannelError.
        """
        try:
            return TypeAdapter(shape).validate_python(await self.make(route, **content))
        except (Forbidden, NotFound):
            return None
        except ValidationError:
            raise ChannelUnavailableError("Discord's response cannot be read") from None
        except CALL_FAULTS as fault:
            raise self.faults.of_call(fault) from None


def channel_number(address: Address) -> int:
    """Return the id of the channel to write into: a thread has one of its own. Raises SendRefusedError."""
    return number(address.chat if address.thread is None else address.thread)


def number(text: str) -> int:
    """Return a Discord id in the form used in a URL path. Raises SendRefusedError."""
    if not (text.isascii() and text.isdecimal()):
        raise SendRefusedError(f"Discord identifies channels, threads and messages by numbers, not by {text!r}")
    return int(text)
