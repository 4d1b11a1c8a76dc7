"""Splitting of a document into searchable entries, each with its true line numbers.

An entry is one unit of writing: a list item, a paragraph, a turn of a dialogue, a table row, a block of code. Its
headings are its section, and the previous entry is its context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from enum import StrEnum
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from workspaces.lazy_pattern import lazy_pattern
from workspaces.memory.entry import Document, Entry
from workspaces.memory.text.dates import date_in
from workspaces.memory.text.dialogue import is_turn
from workspaces.memory.text.tokens import terms

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

CHUNK_TOKENS = 400
"""A longer passage is split; the chunk size of the reference memory systems."""
OVERLAP_TOKENS = 80
"""Overlap of the parts of a split passage."""
TELLING_WORDS = 3
"""A heading without content is an entry if it has this many words: "Interests" above nothing carries no information."""
_BYTES_A_TOKEN = 4
"""UTF-8 bytes: for English words and single Han characters this comes close to real tokenizers."""

_DEEPEST = 100
"""Levels of nested lists and quotes; the parser's own limit is 20. Below a deeper one it drops the rest of the
document, which is then split into windows instead.
"""

_FRONT_MATTER = lazy_pattern(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_COMMENT = lazy_pattern(r"<!--.*?(?:(?P<end>-->)|\Z)", re.DOTALL)
"""An unclosed one is text, and is scanned once: without it the pattern would rescan from each "<!--"."""
_SENTENCE_END = lazy_pattern(r"\n\s*\n|(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n")


class Chunking(StrEnum):
    """Unit of splitting a document."""

    ENTRIES = "entries"
    """By list item, paragraph, turn, row."""
    WINDOWS = "windows"
    """Plain windows of 400 tokens, 80 of them shared with the previous window, ignoring structure except headings."""


class _ChunkText(Struct, frozen=True):
    """A text whose line n is line `line + n` of the document, with its context."""

    line: int
    text: str
    section: tuple[str, ...]
    header: str = ""
    """The head of a row's table."""


def entries_of(document: Document, chunking: Chunking = Chunking.ENTRIES) -> list[Entry]:
    """Split *document* into entries, in order; front matter, comments and blank text give none."""
    text = document.text.replace("\r\n", "\n").replace("\r", "\n")
    text = _FRONT_MATTER.sub(lambda match: "\n" * match[0].count("\n"), text)
    passages = _passages(text) if chunking is Chunking.ENTRIES else _windows(text)
    parts = [part for passage in passages for part in _parts(passage)]
    return [
        _entry(document, position, part, parts[position - 1] if position else None)
        for position, part in enumerate(parts)
    ]


def token_count(text: str) -> int:
    """Return the approximate number of tokens in *text*, in any script."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN)


def _entry(document: Document, position: int, part: _ChunkText, before: _ChunkText | None) -> Entry:
    context = part.header
    if not context and before is not None and before.section == part.section:
        context = before.text
    return Entry(
        path=document.path,
        scope=document.scope,
        position=position,
        start_line=_true_line(document, part.line),
        end_line=_true_line(document, part.line + part.text.count("\n")),
        text=part.text,
        section=" > ".join(part.section),
        date=_section_date(part.section) or document.date,
        context=context,
        is_others=any(part.line < line <= part.line + part.text.count("\n") + 1 for line in document.others),
    )


def _true_line(document: Document, place: int) -> int:
    """Return the line number in the file of the document's line *place* (from 0)."""
    return document.lines[place] if document.lines else place + 1


def _section_date(section: Sequence[str]) -> date | None:
    return next((day for heading in reversed(section) if (day := _heading_date(heading))), None)


_heading_date = lru_cache(maxsize=64)(date_in)
"""Every entry asks for its section's headings: with a thousand entries, a sixth of the time."""


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table").disable(["inline", "reference"])


def _passages(text: str) -> Iterator[_ChunkText]:
    reader, tokens = _Reader(text.split("\n")), _parser().parse(text)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        yield from _windows(text)
        return
    for token in tokens:
        yield from reader.take(token)
    yield from reader.end()


class _Reader:
    """Walks the block tokens of one document and collects passages: one open list item at a time."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._headings: list[tuple[int, str]] = []
        self._is_heading = False
        """The next text is a heading's."""
        self._bare_heading: _ChunkText | None = None
        self._item: _ChunkText | None = None
        self._depth = 0
        self._head: _ChunkText | None = None
        self._has_rows = False

    def take(self, token: Token) -> Iterator[_ChunkText]:
        """Read one token and yield the completed passages."""
        match token.type:
            case "list_item_open" | "list_item_close":
                yield from self._close_item()
                self._depth += token.nesting
            case "heading_open":
                yield from self._close_item()
                yield from self._open_heading(token)
            case "thead_open" | "tr_open" | "table_close":
                yield from self._close_item()
                yield from self._table(token)
            case "inline" | "fence" | "code_block" | "html_block":
                yield from self._block(token)

    def end(self) -> Iterator[_ChunkText]:
        """Yield the passages still open at the end of the document."""
        yield from self._close_item()
        yield from self._close_heading()

    @property
    def _section(self) -> tuple[str, ...]:
        return tuple(title for _, title in self._headings if title)

    def _table(self, token: Token) -> Iterator[_ChunkText]:
        """Yield each row with the table's head, or the head if no row has words."""
        if token.type == "table_close":
            if self._head and not self._has_rows:
                yield self._finish_passage(self._head)
            self._head = None
        elif token.type == "thead_open":
            self._head, self._has_rows = self._row(token), False
        elif self._head and token.map and token.map[0] != self._head.line and (row := self._row(token)).text:
            self._has_rows = True
            yield self._finish_passage(structs.replace(row, header=self._head.text))

    def _row(self, token: Token) -> _ChunkText:
        line = (token.map or [0])[0]
        return _ChunkText(line, self._lines[line].strip(" \t|>"), self._section)

    def _finish_passage(self, passage: _ChunkText) -> _ChunkText:
        self._bare_heading = None
        return passage

    def _open_heading(self, token: Token) -> Iterator[_ChunkText]:
        level = int(token.tag[1])
        if self._headings and self._headings[-1][0] >= level:
            yield from self._close_heading()
        self._headings = [heading for heading in self._headings if heading[0] < level] + [(level, "")]
        self._bare_heading = None
        self._is_heading = True

    def _close_heading(self) -> Iterator[_ChunkText]:
        if self._bare_heading:
            yield self._bare_heading
        self._bare_heading = None

    def _block(self, token: Token) -> Iterator[_ChunkText]:
        if token.map is None or self._head:
            return
        if token.type == "inline" and self._is_heading:
            self._is_heading = False
            self._name_heading(token)
            return
        passage = self._passage(token)
        if self._depth and self._item:
            self._item = _join_texts(self._item, passage)
        elif self._depth:
            self._item = self._finish_passage(passage)
        else:
            yield from map(self._finish_passage, _turns(passage))

    def _name_heading(self, token: Token) -> None:
        level, _ = self._headings.pop()
        heading = self._passage(token)
        title = " ".join(heading.text.split())
        self._headings.append((level, title))
        self._bare_heading = heading if len(terms(title)) >= TELLING_WORDS else None

    def _passage(self, token: Token) -> _ChunkText:
        first, end = token.map or (0, 0)
        if token.type in {"fence", "code_block"}:
            return _ChunkText(first + (token.type == "fence"), token.content, self._section)
        # The parser strips Unicode white space, a line of no-break spaces too: such lines before the text count.
        while end > first and not self._lines[end - 1].strip().strip(">").strip():
            end -= 1
        first = max(first, end - 1 - token.content.rstrip("\n").count("\n"))
        return _ChunkText(first, _without_comments(token.content), self._section)

    def _close_item(self) -> Iterator[_ChunkText]:
        if self._item:
            yield self._item
        self._item = None


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda match: "\n" * match[0].count("\n") if match["end"] else match[0], text)


def _join_texts(first: _ChunkText, second: _ChunkText) -> _ChunkText:
    gap = max(1, second.line - first.line - first.text.count("\n"))
    return structs.replace(first, text=first.text + "\n" * gap + second.text)


def _turns(passage: _ChunkText) -> Iterator[_ChunkText]:
    lines = passage.text.split("\n")
    if len(lines) > 1 and all(map(is_turn, lines)):
        yield from (
            structs.replace(passage, line=passage.line + number, text=line) for number, line in enumerate(lines)
        )
    else:
        yield passage


def _windows(text: str) -> Iterator[_ChunkText]:
    lines = text.split("\n")
    starts = [token.map[0] for token in _parser().parse(text) if token.type == "heading_open" and token.map]
    yield _ChunkText(0, "\n".join(lines[: (starts or [len(lines)])[0]]), ())
    for first, last in pairwise([*starts, len(lines)]):
        yield _ChunkText(first, "\n".join(lines[first:last]), (lines[first].strip("# \t"),))


def _parts(passage: _ChunkText) -> Iterator[_ChunkText]:
    passage = _trim(passage)
    if not passage.text:
        return
    if token_count(passage.text) <= CHUNK_TOKENS:
        yield passage
        return
    for start, end in _spans(passage.text):
        part = _trim(
            structs.replace(
                passage, line=passage.line + passage.text.count("\n", 0, start), text=passage.text[start:end]
            )
        )
        if part.text:
            yield part


def _trim(passage: _ChunkText) -> _ChunkText:
    text = passage.text.rstrip()
    blank = len(text) - len(text.lstrip())
    return structs.replace(passage, line=passage.line + text.count("\n", 0, blank), text=text[blank:])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the bounds of overlapping parts of *text*, at sentence boundaries where there are any."""
    borders = [0, *_borders(text), len(text)]
    sizes = [token_count(text[a:b]) for a, b in pairwise(borders)]
    first = 0
    while first < len(sizes):
        last, size = first, 0
        while last < len(sizes) and (last == first or size + sizes[last] <= CHUNK_TOKENS):
            size += sizes[last]
            last += 1
        yield borders[first], borders[last]
        if last == len(sizes):
            return
        first = max(first + 1, _stepped_back(sizes, last))


def _stepped_back(sizes: Sequence[int], last: int) -> int:
    size = 0
    while last and size + sizes[last - 1] <= OVERLAP_TOKENS:
        last -= 1
        size += sizes[last]
    return last


def _borders(text: str) -> Iterator[int]:
    """Yield possible cuts of *text*: sentence ends, and word boundaries in a sentence that is too long."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    start = 0
    for end in [*ends, len(text)]:
        while token_count(text[start:end]) > OVERLAP_TOKENS:
            start = _word_border(text, start, end)
            yield start
        if start < end < len(text):
            yield end
        start = max(start, end)


def _word_border(text: str, start: int, end: int) -> int:
    reach = start
    budget = OVERLAP_TOKENS * _BYTES_A_TOKEN
    while reach < end and budget > 0:
        budget -= len(text[reach].encode("utf-8", "replace"))
        reach += 1
    space = max(text.rfind(" ", start + 1, reach), text.rfind("\n", start + 1, reach))
    return space + 1 if space > start else reach
