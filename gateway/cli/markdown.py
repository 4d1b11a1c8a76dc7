"""Markdown in a terminal, drawn by rich, whose narrow tables break long words instead of cutting them off."""

from dataclasses import replace
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, TableElement
from rich.table import Table


class _WholeTable(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                part.columns[:] = [replace(column, overflow="fold") for column in part.columns]
            yield part


class TerminalMarkdown(Markdown):
    """A text in Markdown that is shown whole at any width."""

    elements: ClassVar = {**Markdown.elements, "table_open": _WholeTable}
