"""This file makes the calls to Discord's REST API that are not sends: they may be made again at will."""

import asyncio
from typing import Any, TypeVar

from discord import Client, Forbidden, NotFound
from discord.http import Route
from pydantic import TypeAdapter, ValidationError

from adapters.channel import Address, ChannelUnavailableError, SendRefusedError
from adapters.discord.connection import Connection
from adapters.discord.faults import CALL_FAULTS, Faults

T = TypeVar("T")


class Calls:
    """Calls for one bot, each with the same patience."""

    def __init__(self, connection: Connection, faults: Faults, timeout_s: float) -> None:
        self.faults = faults
        self._connection = connection
        self._timeout_s = timeout_s

    async def client(self) -> Client:
        """Return the SDK's client, logged in. Raises ChannelError."""
        return await self._connection.client()

    async def application_id(self) -> str:
        """Return the id of the bot's application, which slash commands belong to. Raises ChannelError."""
        return str((await self.client()).application_id)

    async def make(self, route: Route, **content: Any) -> Any:
        """Make the call and return Discord's answer. Raises CALL_FAULTS, and ChannelError before anything goes out."""
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
        """Make the call and return the answer in its *shape*; `None` for what is not there or not for us to see.

        Raises ChannelError.
        """
        try:
            return TypeAdapter(shape).validate_python(await self.make(route, **content))
        except (Forbidden, NotFound):
            return None
        except ValidationError:
            raise ChannelUnavailableError("Discord's answer cannot be read") from None
        except CALL_FAULTS as fault:
            raise self.faults.of_call(fault) from None


def channel_number(address: Address) -> int:
    """Return the channel to write into: a thread is one of its own. Raises SendRefusedError."""
    return number(address.chat if address.thread is None else address.thread)


def number(text: str) -> int:
    """Return an id of Discord's as it stands in a path. Raises SendRefusedError."""
    if not (text.isascii() and text.isdecimal()):
        raise SendRefusedError(f"Discord knows channels, threads and messages by number, not by {text!r}")
    return int(text)
