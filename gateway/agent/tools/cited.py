"""Paths of reading tools that are citations: lines as a search names them."""

from gateway.errors import ToolError
from workspaces.citations import cited_lines
from workspaces.workspace import TextFile


def located(path: str, first: int | None, lines: int | None) -> tuple[str, int | None, int | None]:
    """Return path, first line and number of lines of *path*, which may be a citation such as `MEMORY.md#L3-L5`.

    Arguments that were given hold instead of its lines. Raises ToolError for a citation of an earlier day.
    """
    cited = cited_lines(path)
    if cited is None:
        return path, first, lines
    if cited.day is not None:
        raise ToolError(f"path: only present lines can be read; leave out @{cited.day}")
    if first is not None:
        return cited.path, first, lines
    return cited.path, max(cited.lines.start, 1), lines or max(len(cited.lines), 1)


def beyond_end(file: TextFile) -> str:
    """Return a sentence for a model that asked for lines after the end of *file*; empty if it did not."""
    return f"{file.path} has only {file.total_lines} lines" if file.first_line > max(file.total_lines, 1) else ""
