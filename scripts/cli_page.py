"""`python -m scripts.cli_page`: write docs/cli.md, the help of every command as the program prints it."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import typer

from gateway.cli.main import COMMANDS

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
COLUMNS = 80
_HEAD = """# Commands of the program

Generated from the program's own help by `python -m scripts.cli_page`; the [README](../README.md) shows the ten that
most people need. Every command takes `--home DIR` (default: `$STRANDLINE_HOME`, else `~/.strandline`), before or after
its name. Commands talk to the running gateway; without one, they open the home themselves.

| Exit status | Meaning |
|---|---|
| 0 | done |
| 1 | failed |
| 2 | wrong configuration or usage |
| 3 | another process owns the home or works in a workspace |
| 130 | interrupted |
"""


def page() -> str:
    """Return docs/cli.md: a section a subject, and the help of each command at 80 columns."""
    parts = [_HEAD]
    for subject, entries in groupby(COMMANDS, lambda entry: entry.subject):
        parts.append(f"## {subject}\n")
        for entry in entries:
            parts += (f"### `{words}`\n\n```text\n{text}\n```\n" for words, text in _helps(entry.load(), None))
    return "\n".join(parts)


def _helps(command: Any, parent: Any) -> Iterator[tuple[str, str]]:
    """Yield the words and the help of *command*, or of those below it."""
    name = f"strandline {command.name}" if parent is None else command.name
    context = typer.Context(command, info_name=name, parent=parent, terminal_width=COLUMNS)
    if not hasattr(command, "commands") or command.invoke_without_command:
        yield context.command_path, command.get_help(context)
    for inner in getattr(command, "commands", {}).values():
        yield from _helps(inner, context)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
