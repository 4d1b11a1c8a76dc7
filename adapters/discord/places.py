"""Discord's channels: chats, threads within a chat, and others.

A message names only its own channel, and a thread is a channel there. Discord describes channels when we connect and
when they change; a channel it did not describe is fetched.
"""

from collections.abc import Iterable

from msgspec import Struct, structs

from adapters.channel import ChatKind
from adapters.discord.wire import Channel, GatewayEvent, Guild, Role

MOST_PLACES = 20_000
"""Most channels remembered; a forgotten one is fetched again."""

_DIRECT = 1
_CHATS = {0, 2, 5, 13}
"""Text, voice, announcement and stage channels: people write in all of them."""
_THREADS = {10, 11, 12}
"""Announcement threads, public threads (a forum's posts too), private threads."""


class ChatLocation(Struct, frozen=True):
    """The chat, and the thread if any, of a message."""

    kind: ChatKind
    chat: str
    thread: str | None = None
    name: str = ""
    """The channel's name, for its threads too; empty for a direct chat and where it is not known."""


def place_of(channel: Channel) -> ChatLocation | None:
    """Return the chat of *channel*; `None` for a group of direct chats, a category and unknown types."""
    if channel.type == _DIRECT:
        return ChatLocation(ChatKind.DIRECT, channel.id)
    if channel.type in _CHATS:
        return ChatLocation(ChatKind.GROUP, channel.id, name=f"#{channel.name}" if channel.name else "")
    if channel.type in _THREADS and channel.parent_id is not None:
        return ChatLocation(ChatKind.GROUP, channel.parent_id, channel.id)
    return None


class ChannelDirectory:
    """The channels described by Discord to one bot."""

    def __init__(self, most: int = MOST_PLACES) -> None:
        self._most = most
        self._known: dict[str, ChatLocation | None] = {}
        self._servers: set[str] = set()
        """Servers whose roles are known."""
        self.own_roles: dict[str, str] = {}
        """The roles created by Discord for this bot, by id: clients offer them when somebody types its name."""

    def learn(self, event: GatewayEvent, bot_id: str) -> None:
        """Learn the channels described in *event*. Raises pydantic's ValidationError."""
        match event.name:
            case "GUILD_CREATE":
                guild = Guild.model_validate(event.data)
                self.note([*guild.channels, *guild.threads])
                self.note_roles(guild.id, guild.roles, bot_id)
            case "THREAD_LIST_SYNC":
                self.note(Guild.model_validate(event.data).threads)
            case "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE":
                self.note([Channel.model_validate(event.data)])

    def note(self, channels: Iterable[Channel]) -> None:
        for channel in channels:
            self._known[channel.id] = place_of(channel)
        while len(self._known) > self._most:
            del self._known[next(iter(self._known))]

    def note_roles(self, server: str, roles: Iterable[Role], bot_id: str) -> None:
        """Remember the bot's own role among the *server*'s *roles*."""
        own = (role for role in roles if role.tags is not None and role.tags.bot_id == bot_id)
        self.own_roles |= {role.id: role.name for role in own}
        self._servers.add(server)

    def knows_roles(self, server: str) -> bool:
        """Tell whether this server's roles are known."""
        return server in self._servers

    def knows(self, channel_id: str) -> bool:
        """Tell whether this channel is known."""
        return channel_id in self._known

    def find(self, channel_id: str) -> ChatLocation | None:
        """Return the chat of a known channel; `None` if it is not a chat, or unknown."""
        place = self._known.get(channel_id)
        parent = self._known.get(place.chat) if place and place.thread else None
        return structs.replace(place, name=parent.name) if place and parent else place
