"""This file knows which of Discord's channels are chats, which are threads within one, and which are neither.

A message names only the channel that it was written in, and a thread is a channel there. What the channel is, Discord
tells when we connect and when something changes; what was never told is asked for.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from adapters.channel import ChatKind
from adapters.discord.wire import Channel, Event, Guild, Role

MOST_PLACES = 20_000
"""Channels that are remembered; of a forgotten one Discord is asked again."""

_DIRECT = 1
_CHATS = {0, 2, 5, 13}
"""Text, voice, announcement and stage channels: people write in all of them."""
_THREADS = {10, 11, 12}
"""Threads of announcements, public ones (a forum's posts too), private ones."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was said."""

    kind: ChatKind
    chat: str
    thread: str | None = None


def place_of(channel: Channel) -> Place | None:
    """Return what *channel* is as a chat; `None` for a group of direct chats, a category and what is new to us."""
    if channel.type == _DIRECT:
        return Place(ChatKind.DIRECT, channel.id)
    if channel.type in _CHATS:
        return Place(ChatKind.GROUP, channel.id)
    if channel.type in _THREADS and channel.parent_id is not None:
        return Place(ChatKind.GROUP, channel.parent_id, channel.id)
    return None


class Places:
    """The channels that Discord has told one bot of."""

    def __init__(self) -> None:
        self._known: dict[str, Place | None] = {}
        self._servers: set[str] = set()
        """Those whose roles we know."""
        self.own_roles: frozenset[str] = frozenset()
        """The roles that Discord made for this bot: clients offer them when somebody types its name."""

    def learn(self, event: Event, bot_id: str) -> None:
        """Take in what *event* says about channels, if it does. Raises pydantic's ValidationError."""
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
        """Remember *channels*."""
        for channel in channels:
            self._known[channel.id] = place_of(channel)
        while len(self._known) > MOST_PLACES:
            del self._known[next(iter(self._known))]

    def note_roles(self, server: str, roles: Iterable[Role], bot_id: str) -> None:
        """Remember which of the *server*'s *roles* is the bot's own."""
        self.own_roles |= {role.id for role in roles if role.tags is not None and role.tags.bot_id == bot_id}
        self._servers.add(server)

    def knows_roles(self, server: str) -> bool:
        """Say whether Discord has told of this server's roles."""
        return server in self._servers

    def knows(self, channel_id: str) -> bool:
        """Say whether Discord has told of this channel."""
        return channel_id in self._known

    def find(self, channel_id: str) -> Place | None:
        """Return what a known channel is; `None` if it is no place to talk, or not known."""
        return self._known.get(channel_id)
