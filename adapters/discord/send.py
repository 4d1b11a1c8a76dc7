"""This file sends to Discord, which takes a nonce: the same key sent twice within some minutes is one message."""

import asyncio
import hashlib
from functools import partial

import discord

from adapters.channel import Address, OutboundMessage, SendRefusedError, Sent
from adapters.discord.connection import Connection
from adapters.discord.faults import CALL_FAULTS, Faults


class Sending:
    """Sends for one bot."""

    def __init__(self, connection: Connection, faults: Faults, timeout_s: float) -> None:
        self._connection = connection
        self._faults = faults
        self._timeout_s = timeout_s

    async def send(self, message: OutboundMessage) -> Sent:
        """Send *message*, naming nobody, with no preview of its links. Raises ChannelError."""
        channel = await self._channel(message.address)
        post = partial(
            channel.send,
            message.body.text,
            nonce=nonce_of(message.key),
            allowed_mentions=discord.AllowedMentions.none(),
            suppress_embeds=True,
        )
        reference = _reference(message)
        try:
            async with asyncio.timeout(self._timeout_s):
                sent = await (post() if reference is None else post(reference=reference))
        except CALL_FAULTS as fault:
            raise self._faults.of_send(fault) from None
        return Sent(str(sent.id))

    async def show_typing(self, address: Address) -> None:
        """Show for about ten seconds that we write. Raises ChannelError."""
        channel = await self._channel(address)
        try:
            async with asyncio.timeout(self._timeout_s):
                await channel.typing()
        except CALL_FAULTS as fault:
            raise self._faults.of_call(fault) from None

    async def _channel(self, address: Address) -> discord.PartialMessageable:
        number = _number(_channel_id(address))
        return (await self._connection.client()).get_partial_messageable(number)


def nonce_of(key: str) -> str:
    """Return *key* as a nonce: Discord takes 25 characters at most, and keys may be longer."""
    return hashlib.blake2b(key.encode(), digest_size=12).hexdigest()


def _channel_id(address: Address) -> str:
    """A thread is a channel of its own."""
    return address.chat if address.thread is None else address.thread


def _reference(message: OutboundMessage) -> discord.MessageReference | None:
    """A reply whose target is gone goes out as a plain message."""
    if message.reply_to is None:
        return None
    channel_id = _number(_channel_id(message.address))
    return discord.MessageReference(
        message_id=_number(message.reply_to), channel_id=channel_id, fail_if_not_exists=False
    )


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise SendRefusedError(f"Discord knows channels, threads and messages by number, not by {text!r}")
    return int(text)
