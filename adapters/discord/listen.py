"""Listener on Discord's gateway; an event is acknowledged only when its content is durable.

When a session is resumed, Discord replays the events after the sequence number that the client sends. The SDK's own
loop sends the last number received. Ours sends the last one passed on, so that events that were not durable come again.
"""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import discord
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import Route
from pydantic import ValidationError
from yarl import URL

from adapters.channel import (
    Address,
    ChannelError,
    ChannelUnavailableError,
    ChatKind,
    Count,
    InboundMessage,
    Receive,
    Via,
)
from adapters.discord.calls import DiscordCalls
from adapters.discord.catching_up import CatchUpFetcher
from adapters.discord.connection import CALL_TIMEOUT_S
from adapters.discord.faults import CALL_FAULTS
from adapters.discord.interactions import parse_interaction
from adapters.discord.parse import DiscordBot, IgnoredEvent, parse_edit, parse_message
from adapters.discord.places import ChannelDirectory, ChatLocation
from adapters.discord.session import GatewaySession, GatewaySessionStore
from adapters.discord.wire import Channel, Deletion, GatewayEvent, Interaction, MessageData, Role

logger = logging.getLogger(__name__)

GATEWAY = "wss://gateway.discord.gg/"
HANG_UP_S = 1.0
"""Timeout for the other side's closing handshake."""
ACKNOWLEDGED_WITHIN_S = 3.0
"""Discord expects the acknowledgement of a command within this time; later it tells the user that the app failed."""
NOT_ACKNOWLEDGED = "discord_not_acknowledged"
"""The reason code of a command that was accepted but not acknowledged in time: its answer comes all the same."""
_CREATED = "MESSAGE_CREATE"
_SAID = {_CREATED, "MESSAGE_UPDATE"}
_DELETED = {"MESSAGE_DELETE", "MESSAGE_DELETE_BULK"}
_KNOWN_ALREADY = 40060
"""Discord's code for a second acknowledgement: the command was replayed after a restart."""
_DEFERRED = {Via.SLASH: 5, Via.BUTTON: 6}
"""Types of acknowledgement: show that an answer is pending, or show nothing."""


class _Socket(DiscordWebSocket):
    """The SDK's connection (HELLO, IDENTIFY, RESUME, heartbeats), with its events unparsed."""

    def __init__(self, socket: Any, *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(socket, loop=loop)
        self.arrived: deque[GatewayEvent] = deque()

    def log_receive(self, data: Any, /) -> None:
        """Store an event; the SDK calls this with the text of every event received."""
        told = json.loads(data)
        if told.get("op") == self.DISPATCH:
            self.arrived.append(GatewayEvent(str(told.get("t")), told.get("d")))


class GatewayListener:
    """Follows one bot's events; keeps its session between calls of `follow`."""

    def __init__(
        self,
        calls: DiscordCalls,
        count: Count,
        session_store: GatewaySessionStore,
        catching_up: CatchUpFetcher,
        gateway_url: str | None,
    ) -> None:
        self.catching_up = catching_up
        self._calls = calls
        self._faults = calls.faults
        self._count = count
        self._gateway = gateway_url or GATEWAY
        self._session_store = session_store
        self._places = ChannelDirectory()
        self._tell_deleted: Callable[[Address, str], Awaitable[None]] | None = None
        self._session: GatewaySession | None = None
        self._has_recalled = False

    def on_deleted(self, tell: Callable[[Address, str], Awaitable[None]]) -> None:
        """Call *tell* from now on with each deleted message of a server's channel."""
        self._tell_deleted = tell

    async def follow(self, receive: Receive) -> NoReturn:
        """Pass on every message, in order, until cancelled. Raises ChannelError, and the errors of *receive*."""
        client = await self._calls.client()
        if not self._has_recalled:
            self._session = await self._session_store.recall(self._gateway)
            await self.catching_up.heard.recall()
            self._has_recalled = True
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
                    gateway=URL(session.resume_at if session else self._gateway),
                    session=session.id if session else None,
                    sequence=session.sequence if session else None,
                    resume=session is not None,
                )
        except ReconnectWebSocket:
            raise ChannelUnavailableError("Discord closed the connection at once") from None
        except CALL_FAULTS as fault:
            if session:  # the resume address may be gone; the main one knows the session too
                self._session = session.model_copy(update={"resume_at": self._gateway})
            raise self._faults.of_call(fault) from None
        socket._discord_parsers = {}  # otherwise the SDK builds an unused model of every server
        return socket

    async def _read(self, socket: _Socket, client: discord.Client, receive: Receive) -> None:
        """Pass on incoming events; return when a new connection is needed. Raises ChannelError."""
        has_heard = False
        while True:
            try:
                await socket.poll_event()
            except ReconnectWebSocket as wish:
                if not wish.resume:
                    self._session = None
                if wish.resume and has_heard:
                    return
                raise ChannelUnavailableError("Discord ended the session; starting a new one") from None
            except CALL_FAULTS as fault:
                raise self._faults.of_call(fault) from None
            while socket.arrived:
                await self._hand_over(socket.arrived.popleft(), client, receive)
                has_heard = True
            if socket.session_id is not None:
                self._session = GatewaySession(
                    id=socket.session_id,
                    sequence=socket.sequence,
                    resume_at=str(socket.gateway),
                    gateway=self._gateway,
                )
                await self._session_store.keep(self._session)
            await self.catching_up.heard.keep()

    async def _hand_over(self, event: GatewayEvent, client: discord.Client, receive: Receive) -> None:
        bot_id = str(client.application_id if client.user is None else client.user.id)
        try:
            if event.name in _SAID:
                await self._take(event.name, MessageData.model_validate(event.data), bot_id, receive)
            elif event.name == "INTERACTION_CREATE":
                await self._obey(Interaction.model_validate(event.data), bot_id, receive)
            elif event.name in _DELETED:
                await self._pass_on(Deletion.model_validate(event.data))
            else:
                self._places.learn(event, bot_id)
                await self._catch_up(event, bot_id, receive)
        except ValidationError:
            await self._ignore(event.name, IgnoredEvent.UNREADABLE)

    async def _pass_on(self, deletion: Deletion) -> None:
        place = await self._place(deletion.channel_id)
        if self._tell_deleted is None or place is None or place.kind is not ChatKind.GROUP:
            return
        address = Address("discord", self._faults.account, place.chat, place.thread)
        for message_id in filter(None, (deletion.id, *deletion.ids)):
            await self._tell_deleted(address, message_id)

    async def _catch_up(self, event: GatewayEvent, bot_id: str, receive: Receive) -> None:
        async def take(message: MessageData | None) -> None:
            if message is None:
                await self._ignore(_CREATED, IgnoredEvent.UNREADABLE)
            else:
                await self._take(_CREATED, message, bot_id, receive)

        await self.catching_up.begin(event, self._places, bot_id, take)

    async def _obey(self, interaction: Interaction, bot_id: str, receive: Receive) -> None:
        """Pass on the command of an *interaction*, and acknowledge it to Discord."""
        if (channel := interaction.channel) and not self._places.knows(channel.id):
            self._places.note([channel])
        place = await self._place(interaction.channel_id) if interaction.channel_id else None
        found = parse_interaction(interaction, place, self._bot_of(bot_id))
        if isinstance(found, IgnoredEvent):
            await self._ignore("INTERACTION_CREATE", found)
        elif await receive(found) is None:
            await self._acknowledge(interaction, found.via)

    async def _take(self, event: str, message: MessageData, bot_id: str, receive: Receive) -> None:
        """Pass on *message* if it is for the gateway, and note it as received in its chat."""
        found = await self._parsed_message(event, message, bot_id)
        is_admitted = isinstance(found, InboundMessage) and await receive(found) is None
        if isinstance(found, IgnoredEvent):
            await self._ignore(event, found)
        if event == _CREATED and (place := self._places.find(message.channel_id)) is not None:
            self.catching_up.heard.note(place, message.channel_id, message.id, is_admitted=is_admitted)

    async def _ignore(self, event: str, reason: IgnoredEvent) -> None:
        logger.info("event ignored", extra={"account": self._faults.account, "event": event, "reason": reason})
        await self._count(reason)

    async def _parsed_message(
        self, event: str, message: MessageData, bot_id: str
    ) -> InboundMessage | IgnoredEvent | None:
        server = message.guild_id
        if message.mention_roles and server and not self._places.knows_roles(server):
            route = Route("GET", "/guilds/{guild_id}/roles", guild_id=server)
            self._places.note_roles(server, await self._calls.read(list[Role], route) or [], bot_id)
        parse = parse_message if event == _CREATED else parse_edit
        return parse(message, await self._place(message.channel_id), self._bot_of(bot_id))

    def _bot_of(self, bot_id: str) -> DiscordBot:
        return DiscordBot(self._faults.account, bot_id, self._places.own_roles)

    async def _place(self, channel_id: str) -> ChatLocation | None:
        if not self._places.knows(channel_id):
            channel = await self._calls.read(Channel, Route("GET", "/channels/{channel_id}", channel_id=channel_id))
            if channel is None:
                return None
            self._places.note([channel])
        return self._places.find(channel_id)

    async def _acknowledge(self, interaction: Interaction, via: Via) -> None:
        """Acknowledge the command to Discord, which shows it as pending until the answer comes."""
        route = Route(
            "POST",
            "/interactions/{interaction_id}/{interaction_token}/callback",
            interaction_id=interaction.id,
            interaction_token=interaction.token,
        )
        try:
            async with asyncio.timeout(ACKNOWLEDGED_WITHIN_S):
                await self._calls.make(route, json={"type": _DEFERRED[via]})
        except (ChannelError, *CALL_FAULTS) as fault:
            if isinstance(fault, discord.HTTPException) and fault.code == _KNOWN_ALREADY:
                return
            logger.info(
                "command not acknowledged", extra={"account": self._faults.account, "why": type(fault).__name__}
            )
            await self._count(NOT_ACKNOWLEDGED)


async def _hang_up(socket: _Socket) -> None:
    """Close so that the session can be resumed: a code other than 1000 and 1001 preserves it."""
    try:
        async with asyncio.timeout(HANG_UP_S):
            await socket.close(code=4000)
    except (TimeoutError, ConnectionError):
        logger.info("the connection was gone before it was closed")
