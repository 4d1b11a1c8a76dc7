"""Typing indicator, reactions and the menu of slash commands on Discord."""

from collections.abc import Sequence
from typing import Any

from discord.http import Route

from adapters.abilities import MenuEntry
from adapters.channel import Address
from adapters.discord.connection import DiscordCalls, channel_number, number
from adapters.discord.wire import CommandField, MenuCommand, PostedMessage

_MESSAGE = "/channels/{channel_id}/messages/{message_id}"


class DiscordActivity:
    """Typing indicator and reactions of one bot."""

    def __init__(self, calls: DiscordCalls) -> None:
        self._calls = calls

    async def type(self, address: Address) -> None:
        """Show the typing indicator for about ten seconds. Raises ChannelError."""
        route = Route("POST", "/channels/{channel_id}/typing", channel_id=channel_number(address))
        await self._calls.ask(route)

    async def react(self, address: Address, message_id: str, emoji: str) -> None:
        """Make *emoji* our only reaction below the message; remove all if it is empty. Raises ChannelError."""
        where: dict[str, Any] = {"channel_id": channel_number(address), "message_id": number(message_id)}
        message = await self._calls.read(PostedMessage, Route("GET", _MESSAGE, **where))
        ours = [reaction.emoji.name or "" for reaction in message.reactions if reaction.me] if message else []
        for old in ours:
            if old != emoji:
                await self._calls.ask(Route("DELETE", f"{_MESSAGE}/reactions/{{emoji}}/@me", **where, emoji=old))
        if emoji and emoji not in ours:
            await self._calls.ask(Route("PUT", f"{_MESSAGE}/reactions/{{emoji}}/@me", **where, emoji=emoji))


_COMMANDS = "/applications/{application_id}/commands"
_TEXT = 3
_SERVERS, _DIRECT = 0, 1
_LONGEST = 100
"""Longest description, in characters."""


async def show_menu(calls: DiscordCalls, entries: Sequence[MenuEntry]) -> None:
    """Set the bot's global slash commands to *entries*; writes nothing if they are already set.

    Raises ChannelError. Discord shows all of them to everybody: permission is checked when a command is given.
    """
    application = await calls.application_id()
    wanted = [command_of(entry) for entry in entries]
    standing = await calls.read(list[MenuCommand], Route("GET", _COMMANDS, application_id=application)) or []
    if {command.name: command for command in standing} != {command.name: command for command in wanted}:
        content = [command.model_dump(mode="json") for command in wanted]
        await calls.ask(Route("PUT", _COMMANDS, application_id=application), json=content)


def command_of(entry: MenuEntry) -> MenuCommand:
    """Return *entry* as a slash command with one field for all its arguments."""
    field = CommandField(type=_TEXT, name="arguments", description=_short(entry.usage))
    return MenuCommand(
        name=entry.name,
        description=_short(entry.help),
        options=(field,) if entry.usage else (),
        contexts=(_SERVERS, _DIRECT),
        integration_types=(0,),
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
