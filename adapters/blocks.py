"""This file gives another form to what no chat message shows well: a table becomes aligned code, long code a file.

Everything here is pure: the same Markdown gives the same pieces after a restart, and delivery counts on that.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from adapters.channel import Upload

LONG_CODE = 6_000
"""A code block of more UTF-16 units comes as a file: about three messages on Discord (our choice)."""

FENCE = "```"
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
    """Return *markdown* with one kind of line end: positions in tokens count every kind."""
    return _LINE_ENDS.sub("\n", markdown)


def code_as_files(markdown: str, longest: int = LONG_CODE) -> Iterator[str | Upload]:
    """Yield *markdown* in pieces: code of more than *longest* UTF-16 units as a file, behind a line that names it."""
    markdown = plain_lines(markdown)
    lines, done, count = markdown.split("\n"), 0, 0
    for token in MarkdownIt("commonmark").parse(markdown) if _units(markdown) > longest else ():
        if token.type == "fence" and token.level == 0 and token.map and _units(token.content) > longest:
            count += 1
            name = f"code-{count}.{_extension(token.info)}"
            begin, end = token.map
            yield "\n".join([*lines[done:begin], f"`{name}` ({token.content.count(chr(10)):,} lines), as a file:"])
            yield Upload(name, token.content.encode())
            done = end
    yield "\n".join(lines[done:])


def tables_as_code(markdown: str) -> str:
    """Return *markdown* with every table as a code block whose columns are aligned."""
    markdown = plain_lines(markdown)
    if "|" not in markdown:  # to read Markdown takes a millisecond, and few answers hold a table
        return markdown
    lines, done = markdown.split("\n"), 0
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    fitted: list[str] = []
    for number, token in enumerate(tokens):
        if token.type == "table_open" and token.map and not token.level:
            begin, end = token.map
            fitted += [*lines[done:begin], FENCE, *table_lines(tokens[number:]), FENCE]
            done = end
    return "\n".join(fitted + lines[done:])


def table_lines(tokens: Sequence[Token]) -> list[str]:
    """Return the lines of the table that *tokens* begin with, its columns aligned."""
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(token.content)
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    head, *body = [" | ".join(map(_padded, row, widths)).rstrip() for row in rows]
    return [head, "-+-".join("-" * width for width in widths), *body]


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _width(text: str) -> int:
    """Return how many columns *text* takes where every letter is as wide as another, or twice that."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _extension(info: str) -> str:
    language = info.split(maxsplit=1)[0].lower() if info.split() else ""
    extension = _EXTENSIONS.get(language, language)
    return extension if _EXTENSION.fullmatch(extension) else "txt"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
