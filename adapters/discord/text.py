"""Formatting of Markdown for Discord, which supports most of it, in parts that never break a code block.

Everything here is pure: the same Markdown gives the same parts after a restart, and delivery relies on that.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from adapters.channel import Body, Upload
from adapters.formatting.blocks import BLOCK_PARSER, FENCE, code_as_files, plain_lines, table_lines
from adapters.formatting.markup import code_spans, keep_stars
from adapters.formatting.references import with_targets
from adapters.formatting.split import plain_parts, valid_unicode

DISCORD_LIMIT = 2000
"""Longest text of one message for a bot. Counted here in UTF-16 units, which are never fewer than characters."""

_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]{1,32}")
_ROOM_FOR_FENCES = 48
"""A code block that continues in the next part repeats its opening line, at most 36 units, and its end."""
_UNBROKEN = "`\u200b``"
"""Three backticks within code, separated by a zero-width mark, or they would end the block."""
_ITEM = re.compile(r"[\s>]{0,200}+(?:[-*+]|[0-9]{1,9}[.)])\s")
_BLOCKS = ("fence", "code_block", "table_open")


def discord_parts(markdown: str, limit: int = DISCORD_LIMIT) -> tuple[Body, ...]:
    """Return *markdown* as Discord messages of at most *limit* UTF-16 units each; none for blank text.

    Cut at line ends where there are any. A code block that crosses a cut is closed and opened again. Tables, which
    Discord does not support, become aligned code, and long code becomes a file.
    """
    whole = valid_unicode(markdown)
    parts = tuple(part for piece in code_as_files(whole) for part in _parts(piece, limit))
    return parts or plain_parts(whole, limit)


def _parts(piece: str | Upload, limit: int) -> Sequence[Body]:
    if isinstance(piece, Upload):
        return [Body("", upload=piece)]
    return [Body(part) for part in _split(_with_code_tables(with_targets(piece)), limit) if part.strip()]


# --- constructs that Discord does not support


def _with_code_tables(markdown: str) -> str:
    """Write tables and every kind of code block as the one kind of code block that Discord supports."""
    markdown = plain_lines(markdown)
    lines = markdown.split("\n")
    tokens = BLOCK_PARSER.parse(markdown)
    fitted: list[str] = []
    done = 0
    for number, token in enumerate(tokens):
        if token.type in _BLOCKS and token.map is not None and token.map[0] >= done:
            begin, end = token.map
            fitted += [*_prose(lines[done:begin]), *_marker(lines[begin], token)]
            fitted += (
                _code_block(table_lines(map(tokens.__getitem__, range(number, len(tokens)))))
                if token.type == "table_open"
                else _code(token)
            )
            done = end
    return "\n".join(fitted + _prose(lines[done:]))


def _prose(lines: list[str]) -> list[str]:
    """Return *lines* with each star between words escaped, which Discord would take for emphasis."""
    spans = code_spans("\n".join(lines))
    whole = "".join(text if is_code else keep_stars(text, r"\*") for is_code, text in spans)
    return whole.split("\n") if lines else []


def _marker(line: str, token: Token) -> list[str]:
    """Return the list marker on the first line of *token*'s block."""
    found = _ITEM.match(line) if token.level else None
    return [found[0].rstrip()] if found else []


def _code(token: Token) -> list[str]:
    language = token.info.strip()
    known = _LANGUAGE.fullmatch(language)
    above = [language] if language and not known else []
    return _code_block([*above, *token.content.removesuffix("\n").split("\n")], language if known else "")


def _code_block(lines: Sequence[str], language: str = "") -> list[str]:
    return [FENCE + language, *(line.replace(FENCE, _UNBROKEN) for line in lines), FENCE]


# --- parts


class _PartBuilder:
    """Message parts under construction: finished ones, and the lines of the next."""

    def __init__(self, limit: int) -> None:
        self.full: list[str] = []
        self._limit = limit
        self._lines: list[str] = []
        self._size = 0
        self._fence: str | None = None
        """The opening line of the current code block."""

    def add(self, line: str) -> None:
        """Append *line*, to the next part if it does not fit this one together with the end of its code block."""
        after = _fence_after(line, self._fence)
        end = 0 if after is None else _units(FENCE) + 1
        if self._size + _units(line) + end > self._limit:
            self.close()
        self._append(line)
        self._fence = after

    def close(self) -> None:
        """End the part; an open code block continues in the next."""
        is_bare = self._fence is not None and self._lines[-1:] == [self._fence]
        kept = self._lines[:-1] if is_bare else self._lines
        end = [] if self._fence is None or is_bare else [FENCE]
        self.full.append("\n".join([*kept, *end]))
        self._lines, self._size = [], 0
        if self._fence is not None:
            self._append(self._fence)

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._size += _units(line) + 1


def _split(text: str, limit: int) -> Sequence[str]:
    parts = _PartBuilder(limit)
    for line in text.split("\n"):
        *cut_off, last = _pieces(line, limit - _ROOM_FOR_FENCES)
        for piece in cut_off:
            parts.add(piece)
            parts.close()
        parts.add(last)
    parts.close()
    return parts.full


def _fence_after(line: str, fence: str | None) -> str | None:
    """Return the opening line of the code block still open after *line*; in Discord each fence toggles."""
    if line.count(FENCE) % 2 == 0:
        return fence
    if fence is not None:
        return None
    language = line.rpartition(FENCE)[2]
    return FENCE + language if _LANGUAGE.fullmatch(language) else FENCE


def _pieces(line: str, room: int) -> Iterator[str]:
    """Cut a line longer than *room*: at a space if there is one, else within a word, never within a character."""
    while _units(line) > room:
        cut = _last_fit(line, room)
        space = line.rfind(" ", cut // 2, cut)
        if space > 0:
            yield line[:space]
            line = line[space + 1 :]
        else:
            yield line[:cut]
            line = line[cut:]
    yield line


def _last_fit(line: str, room: int) -> int:
    """Return the number of characters of *line* that fit *room*; a run of backticks stays together."""
    cut = len(line.encode("utf-16-le")[: 2 * room].decode("utf-16-le", "ignore"))
    kept = len(line[:cut].rstrip("`")) if line[cut] == "`" else cut
    return kept or cut


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
