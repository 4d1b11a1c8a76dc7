"""Commands of a gateway: those of every plug-in that can be loaded."""

from msgspec import Struct

from gateway.commands.command import NAME, Command
from gateway.commands.resources import CommandResources
from gateway.plugins import COMMANDS, Plugin, each_of, unique


class LoadedCommands(Struct, frozen=True):
    """The commands of a gateway, and the plug-ins that it could not use."""

    commands: list[Command]
    """By name, without `/help`."""
    faults: list[str]
    """One sentence each."""


def load_commands(parts: CommandResources) -> LoadedCommands:
    """Return the commands of all plug-ins. Raises ConfigError if Strandline's own are not installed."""
    offers, faults = each_of(COMMANDS, lambda plugin: _commands_of(plugin, parts))
    kept, clashes = unique([(plugin, f"/{command.name}", command) for plugin, command in offers])
    return LoadedCommands(sorted(kept, key=lambda command: command.name), [*faults, *clashes])


def _commands_of(plugin: Plugin, parts: CommandResources) -> list[Command]:
    """Return the commands of *plugin*. Raises PluginError for any that could not be called."""
    commands = plugin.call(Command, parts)
    for command in commands:
        if not NAME.fullmatch(command.name) or command.name in RESERVED:
            raise plugin.fault(f"{command.name!r} is no name for a command")
    return commands


RESERVED = frozenset({"help", "start"})
"""Answered by the registry itself; clients of Telegram send the second when somebody opens the chat."""
