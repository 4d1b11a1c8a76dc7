"""This file follows Discord's gateway, and lets Discord forget an event only when what it carries is durable.

Discord replays, to whoever resumes a session, what came after the sequence number that it is told. The SDK's own loop
tells the last number received. Ours tells the last one handed over, so that what was not yet durable comes again.
"""

import asyncio
import json
import logging
from collections import deque
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import discord
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from pydantic import ValidationError
from yarl import URL

from adapters.channel import ChannelUnavailableError, Count, InboundMessage, Receive
from adapters.discord.connection import CALL_TIMEOUT_S, Connection
from adapters.discord.faults import CALL_FAULTS, Faults
from adapters.discord.parse import BotUser, Ignored, parse_message
from adapters.discord.places import Place, Places
from adapters.discord.wire import Channel, Event, Message

logger = logging.getLogger(__name__)

GATEWAY = "wss://gateway.discord.gg/"
HANG_UP_S = 1.0
"""Patience with the other side's goodbye."""


@dataclass(frozen=True, slots=True)
class _Session:
    """Where Discord is to go on telling."""

    id: str
    sequence: int | None
    gateway: URL


class _Socket(DiscordWebSocket):
    """The SDK's connection (HELLO, IDENTIFY, RESUME, heartbeats), with its events as Discord sent them."""

    def __init__(self, socket: Any, *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(socket, loop=loop)
        self.arrived: deque[Event] = deque()

    def log_receive(self, data: Any, /) -> None:
        """Keep an event; the SDK calls this with the text of everything that comes."""
        told = json.loads(data)
        if told.get("op") == self.DISPATCH:
            self.arrived.append(Event(str(told.get("t")), told.get("d")))


class Listening:
    """Follows one bot's events; keeps its session from one call of `follow` to the next."""

    def __init__(self, connection: Connection, faults: Faults, count: Count, gateway_url: str | None) -> None:
        self._connection = connection
        self._faults = faults
        self._count = count
        self._gateway = URL(gateway_url or GATEWAY)
        self._places = Places()
        self._session: _Session | None = None

    async def follow(self, receive: Receive) -> NoReturn:
        """Hand over every message, in order, until cancelled. Raises ChannelError."""
        client = await self._connection.client()
        while True:
            socket = await self._open(client)
            try:
                await self._read(socket, client, receive)
            finally:
                await _hang_up(socket)

    async def _open(self, client: discord.Client) -> _Socket:
        session = self._session
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                socket = await _Socket.from_client(
                    client,
                    initial=True,
                    gateway=session.gateway if session else self._gateway,
                    session=session.id if session else None,
                    sequence=session.sequence if session else None,
                    resume=session is not None,
                )
        except ReconnectWebSocket:
            raise ChannelUnavailableError("Discord closed the connection at once") from None
        except CALL_FAULTS as fault:
            if session:  # the address to resume at may be gone; the main one knows the session too
                self._session = replace(session, gateway=self._gateway)
            raise self._faults.of_call(fault) from None
        socket._discord_parsers = {}  # else the SDK builds a model of every server, which nobody reads
        return socket

    async def _read(self, socket: _Socket, client: discord.Client, receive: Receive) -> None:
        """Hand over what comes; return when the connection is to be made anew. Raises ChannelError."""
        has_heard = False
        while True:
            try:
                await socket.poll_event()
            except ReconnectWebSocket as wish:
                if not wish.resume:
                    self._session = None
                if wish.resume and has_heard:
                    return
                raise ChannelUnavailableError("Discord ended the session; it is begun anew") from None
            except CALL_FAULTS as fault:
                raise self._faults.of_call(fault) from None
            while socket.arrived:
                await self._hand_over(socket.arrived.popleft(), client, receive)
                has_heard = True
            if socket.session_id is not None:
                self._session = _Session(socket.session_id, socket.sequence, socket.gateway)

    async def _hand_over(self, event: Event, client: discord.Client, receive: Receive) -> None:
        try:
            found = await self._parsed(event, client)
        except ValidationError:
            found = Ignored.UNREADABLE
        if isinstance(found, Ignored):
            logger.info("event ignored", extra={"account": self._faults.account, "event": event.name, "reason": found})
            await self._count(found)
        elif found is not None:
            await receive(found)

    async def _parsed(self, event: Event, client: discord.Client) -> InboundMessage | Ignored | None:
        """Return what *event* is for the gateway; `None` for our own and for what is about channels."""
        bot_id = str(client.application_id if client.user is None else client.user.id)
        match event.name:
            case "MESSAGE_CREATE":
                message = Message.model_validate(event.data)
                me = BotUser(self._faults.account, bot_id, self._places.own_roles)
                return parse_message(message, await self._place(message.channel_id, client), me)
            case "MESSAGE_UPDATE":
                return Ignored.EDITED if Message.model_validate(event.data).edited_timestamp else None
        self._places.learn(event, bot_id)
        return None

    async def _place(self, channel_id: str, client: discord.Client) -> Place | None:
        if not self._places.knows(channel_id):
            try:
                async with asyncio.timeout(CALL_TIMEOUT_S):
                    told = await client.http.get_channel(channel_id)
            except CALL_FAULTS as fault:
                if isinstance(fault, discord.Forbidden | discord.NotFound):
                    return None
                raise self._faults.of_call(fault) from None
            self._places.note([Channel.model_validate(told)])
        return self._places.find(channel_id)


async def _hang_up(socket: _Socket) -> None:
    """Close so that the session can be resumed: a code other than 1000 and 1001 keeps it."""
    try:
        async with asyncio.timeout(HANG_UP_S):
            await socket.close(code=4000)
    except (TimeoutError, ConnectionError):
        logger.info("the connection was gone before it was closed")
