"""Groups of commands: imported when they are called, and listed by subject with every help line whole."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from itertools import groupby
from typing import Any, TypeVar, cast

import typer
from msgspec import Struct
from typer.core import TyperGroup
from typer.main import get_command, get_group

from gateway.cli.call import command_of

Function = TypeVar("Function", bound=Callable[..., Any])

WHOLE = 1_000
"""Characters: a limit that no help line reaches, so that lines wrap instead of ending in an ellipsis."""


class CommandEntry(Struct, frozen=True):
    """A command in the list of all commands."""

    name: str
    target: str
    """`module:attribute` of its function, or of its `typer.Typer`."""
    subject: str
    help: str
    """First sentence of its own help, so that the list imports nothing."""

    def load(self) -> Any:
        """Import the command."""
        module, _, attribute = self.target.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            command: Any = get_group(found)
        else:
            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(name=self.name)(command_of(cast("Callable[..., None]", found)))
            command = get_command(app)
        command.name = self.name
        return command


class CommandGroup(TyperGroup):
    """A group that shows the help line of each command whole."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands, a section for each subject."""
        for subject, rows in groupby(self.rows(), lambda row: row[0]):
            with formatter.section(subject):
                formatter.write_dl([(name, line) for _, name, line in rows])

    def rows(self) -> Iterable[tuple[str, str, str]]:
        """Yield subject, name and help line of each command."""
        for name, command in self.commands.items():
            yield "Commands", name, command.get_short_help_str(WHOLE)


class CommandApp(typer.Typer):
    """A group of commands whose functions may take a `Call`."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        return _adding(super().command(name, **settings))

    def callback(self, **settings: Any) -> Callable[[Function], Function]:
        return _adding(super().callback(**settings))


def _adding(add: Callable[[Any], object]) -> Callable[[Function], Function]:
    def added(function: Function) -> Function:
        add(command_of(function))
        return function

    return added


def command_app(description: str, *, runs_alone: bool = False) -> CommandApp:
    """Return an empty group of commands, described by *description*; *runs_alone*: it is a command itself too."""
    return CommandApp(cls=CommandGroup, help=description, no_args_is_help=not runs_alone, rich_markup_mode=None)


def lazy_group(entries: Iterable[CommandEntry]) -> type[CommandGroup]:
    """Return a class of groups with *entries* as commands; each is imported when it is called."""
    table: Mapping[str, CommandEntry] = {entry.name: entry for entry in entries}

    class LazyGroup(CommandGroup):
        """A group whose commands are imported by name."""

        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            self.commands = cast("dict[str, Any]", table)  # its names are suggested for a mistyped one

        def list_commands(self, ctx: Any) -> list[str]:
            """Return the names of all commands."""
            return [*table]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """Import the command, or return `None` if there is none of this name."""
            return table[cmd_name].load() if cmd_name in table else None

        def rows(self) -> Iterable[tuple[str, str, str]]:
            return ((entry.subject, entry.name, entry.help) for entry in table.values())

    return LazyGroup
