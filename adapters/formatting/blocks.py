"""Conversion of Markdown that chats show badly: tables become aligned code, long code becomes a file.

Everything here is pure: the same Markdown gives the same pieces after a restart, and delivery relies on that.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest

from markdown_it import MarkdownIt
from markdown_it.token import Token

from adapters.channel import Upload
from adapters.formatting.markup import keep_stars

LONG_CODE = 6_000
"""A code block of more UTF-16 units is sent as a file: about three messages on Discord (our choice)."""

FENCE = "```"
BLOCK_PARSER = MarkdownIt("commonmark").enable("table").disable("inline")
"""Parser of the blocks of a message; making one takes as long as reading a short message twice."""
_INLINE = MarkdownIt("commonmark", {"html": False}).enable("strikethrough")
_SHOWN = {"softbreak": " ", "hardbreak": " "}
_LINE_BREAK = re.compile(r"[ \t]{0,9}<br[ \t]{0,9}/?>[ \t]{0,9}", re.IGNORECASE)
_LONGEST_CELL = 2_000
_MOST_PADDING, _FREE_PADDING = 8, 4_000
"""One wide cell beside a thousand narrow ones would fill a hundred messages with spaces."""
_LINE_ENDS = re.compile(r"\r\n?")
_EXTENSIONS = {
    "bash": "sh",
    "c++": "cpp",
    "csharp": "cs",
    "golang": "go",
    "javascript": "js",
    "kotlin": "kt",
    "markdown": "md",
    "python": "py",
    "ruby": "rb",
    "rust": "rs",
    "shell": "sh",
    "typescript": "ts",
    "yaml": "yml",
}
_EXTENSION = re.compile(r"[a-z0-9]{1,8}")


def plain_lines(markdown: str) -> str:
    """Return *markdown* with "\\n" as its only line ending: token positions count every kind."""
    return _LINE_ENDS.sub("\n", markdown)


def code_as_files(markdown: str) -> Iterator[str | Upload]:
    """Yield *markdown* in pieces: code of more than `LONG_CODE` UTF-16 units as a file, after a line with its name."""
    markdown = plain_lines(markdown)
    lines, done, count = markdown.split("\n"), 0, 0
    for token in MarkdownIt("commonmark").disable("inline").parse(markdown) if _units(markdown) > LONG_CODE else ():
        if token.type == "fence" and token.level == 0 and token.map and _units(token.content) > LONG_CODE:
            count += 1
            name = f"code-{count}.{_extension(token.info)}"
            begin, end = token.map
            yield "\n".join(
                [*lines[done:begin], f"`{name}` ({token.content.count(chr(10)):,} lines), attached as a file:"]
            )
            yield Upload(name, token.content.encode())
            done = end
    yield "\n".join(lines[done:])


def table_lines(tokens: Iterable[Token]) -> list[str]:
    """Return the lines of the table at the start of *tokens*, columns aligned unless padding makes it far longer."""
    rows: list[list[list[str]]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(cell_lines(token.content))
    widths = [max(_width(line) for row in rows for line in row[column]) for column in range(len(rows[0]))]
    written = sum(len(line) for row in rows for cell in row for line in cell)
    height = sum(max(map(len, row), default=1) for row in rows)
    if sum(widths) * height > _MOST_PADDING * written + _FREE_PADDING:
        widths = [1] * len(widths)
    head, *body = [list(_row_lines(row, widths)) for row in rows]
    return [*head, "-+-".join("-" * width for width in widths), *chain.from_iterable(body)]


def cell_lines(markdown: str) -> list[str]:
    """Return the lines of a table cell without Markdown marks, which code would show literally."""
    return [_plain(line) for line in _LINE_BREAK.split(markdown)]


def _plain(markdown: str) -> str:
    tokens = (
        _INLINE.parseInline(keep_stars(markdown, r"\*"))[0].children or [] if len(markdown) <= _LONGEST_CELL else []
    )
    plain = "".join(_SHOWN.get(token.type, "") or token.content for token in tokens)
    is_marked = any(token.type.endswith("_open") or token.type == "code_inline" for token in tokens)
    if not is_marked:
        return markdown
    targets = [str(token.attrGet("href")) for token in tokens if token.type == "link_open"]
    return plain + "".join(f" ({target})" for target in targets if target not in plain)


def _row_lines(row: list[list[str]], widths: list[int]) -> Iterator[str]:
    for cells in zip_longest(*row, fillvalue=""):
        yield " | ".join(map(_padded_cell, cells, widths)).rstrip()


def _padded_cell(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _width(text: str) -> int:
    """Return the width of *text* in columns of a fixed-width font, where a wide character takes two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _extension(info: str) -> str:
    language = info.split(maxsplit=1)[0].lower() if info.split() else ""
    extension = _EXTENSIONS.get(language, language)
    return extension if _EXTENSION.fullmatch(extension) else "txt"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
