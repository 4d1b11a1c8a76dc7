"""Discord's menu of slash commands."""

from collections.abc import Sequence

from discord.http import Route

from adapters.abilities import MenuEntry
from adapters.discord.calls import DiscordCalls
from adapters.discord.wire import CommandField, MenuCommand

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
