"""Top-level blocks of an answer's Markdown: a block that cannot be formatted does not affect the others."""

import re
from collections.abc import Iterator

from markdown_it.token import Token
from msgspec import Struct

from adapters.formatting.blocks import BLOCK_PARSER, plain_lines, table_lines

LONGEST_BLOCK = 20_000
"""A longer block is shown as written: a converter may take time that grows faster than its input."""
_DEEP = re.compile(r"^(?:[ \t]{0,8}(?:[-+*>]|\d{1,9}[.)])){24}", re.MULTILINE)
"""The converter indents each level of a list by two columns more: 5,000 levels made 4,274 messages."""


class Block(Struct, frozen=True):
    """An independent part of an answer."""

    text: str
    is_apart: bool
    """A blank line stands before it."""
    is_code: bool = False
    language: str = ""
    is_plain: bool = False
    """Shown as written: too long or too deep for formatting, or a definition that no link uses."""


def outline(markdown: str) -> Iterator[Block]:
    """Yield the blocks of *markdown* in order; a table is aligned code."""
    markdown = plain_lines(markdown)
    lines, done = markdown.split("\n"), 0
    tokens = BLOCK_PARSER.parse(markdown)
    for number, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        begin, end = token.map
        yield from _text_between(lines, done, begin)
        while end > begin and not lines[end - 1].strip() and token.type != "fence":
            end -= 1
        yield _block(tokens, number, lines, begin, end)
        done = end
    yield from _text_between(lines, done, len(lines))


def _text_between(lines: list[str], begin: int, end: int) -> Iterator[Block]:
    """Yield text outside all blocks: definitions that no link uses."""
    while begin < end and not lines[begin].strip():
        begin += 1
    text = "\n".join(lines[begin:end])
    if text:
        yield Block(text.strip(), _is_apart(lines, begin), is_plain=True)


def _block(tokens: list[Token], number: int, lines: list[str], begin: int, end: int) -> Block:
    token, is_apart = tokens[number], _is_apart(lines, begin)
    if token.type == "table_open":
        rows = table_lines(map(tokens.__getitem__, range(number, len(tokens))))
        return Block("\n".join(rows), is_apart, is_code=True)
    if token.type in ("fence", "code_block"):
        language = (token.info.split() or [""])[0]
        return Block(token.content.removesuffix("\n"), is_apart, is_code=True, language=language)
    text = "\n".join(lines[begin:end])
    return Block(text, is_apart, is_plain=len(text) > LONGEST_BLOCK or _DEEP.search(text) is not None)


def _is_apart(lines: list[str], begin: int) -> bool:
    return begin > 0 and not lines[begin - 1].strip()
