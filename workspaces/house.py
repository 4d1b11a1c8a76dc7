"""The mark `house` in texts and folders: what carries it is read on the owner's own machines alone.

A line holds `#house`, and the mark covers its list item with everything indented below it, or its paragraph; in a
heading it covers the section. `house: true` at the beginning of a file, between two lines of `---`, covers the file.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from workspaces.access import ATTACHMENTS_OF_HOUSE, Locality, may_know
from workspaces.lazy_pattern import lazy_pattern
from workspaces.line_ranges import line_ranges
from workspaces.paths import fold

TAG = "#house"
Make = Callable[[str | None], str | None]
"""Makes the new whole text of a file out of the present one; `None` stands for no file."""
_TAG = lazy_pattern(r"#(?<![\w#/&-]#)house(?![\w/-])", re.IGNORECASE)
"""Begins with its `#`, which is looked for in a tenth of the time that a condition before it takes."""
_ITEM = lazy_pattern(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_HEADING = lazy_pattern(r" {0,3}(#{1,6})(?:[ \t]|$)")
_KEY = lazy_pattern(r"house[ \t]*:[ \t]*[\"']?(?:true|yes|on)[\"']?[ \t]*", re.IGNORECASE)


def has_tag(text: str) -> bool:
    """Tell whether *text* holds the mark."""
    return _TAG.search(text) is not None


def tagged(text: str) -> str:
    """Return *text* with the mark at the end of each of its lines that say something."""
    return "\n".join(_tagged_line(line) for line in text.split("\n"))


def tagged_file(text: str) -> str:
    """Return the Markdown file *text* with the mark of a whole file."""
    if is_whole(text):
        return text
    lines = text.removeprefix("\ufeff").split("\n")
    end = _front_matter(lines)
    return "\n".join(["---", "house: true", *(lines[1:] if end else ["---", "", *lines])])


def may_mark(line: str) -> bool:
    """Tell whether *line* of a file holds the mark, or would be that of a whole file at its beginning."""
    return has_tag(line) or _KEY.fullmatch(line.rstrip()) is not None


def is_whole(text: str) -> bool:
    """Tell whether the mark covers all of the file *text*."""
    lines = text.removeprefix("\ufeff").split("\n")
    return any(_KEY.fullmatch(line.rstrip()) for line in lines[1 : _front_matter(lines)])


def house_lines(text: str) -> frozenset[int]:
    """Return the lines of *text*, from 1, that the mark covers."""
    lines = text.split("\n")
    if is_whole(text):
        return frozenset(range(1, len(lines) + 1))
    if not has_tag(text):
        return frozenset()
    covered: set[int] = set()
    for place, line in enumerate(lines):
        if place not in covered and _TAG.search(line):
            covered.update(_covered(lines, place))
    return frozenset(place + 1 for place in covered)


def unmarks(before: str, after: str) -> bool:
    """Tell whether a line that the mark covers in *before* stands in *after* without it, wherever it stood."""
    if not (stays := house_lines(before)):
        return False
    covered = house_lines(after)
    kept, free = _said(before, stays), _said(after, set(range(1, after.count("\n") + 2)) - covered)
    return not kept.isdisjoint(free - _said(before, set(range(1, before.count("\n") + 2)) - stays))


def _said(text: str, lines: Collection[int]) -> set[str]:
    """Return the words of *lines*, from 1, of *text*, without marks."""
    rows = (row for number, row in enumerate(text.split("\n"), 1) if number in lines)
    return {" ".join(re.findall(r"\w+", _TAG.sub("", row).casefold())) for row in rows} - {""}


def blanked(text: str, lines: Collection[int]) -> str:
    """Return *text* with *lines*, from 1, empty: the others keep their numbers."""
    if not lines:
        return text
    return "\n".join("" if number in lines else line for number, line in enumerate(text.split("\n"), 1))


def restored(before: str, after: str, lines: Collection[int]) -> str:
    """Return *after*, written by somebody who saw *before* without *lines*, with these lines where they stood.

    A line that is no longer in what its mark covers, as a heading or an item came between them, gets one of its own.
    """
    if not lines:
        return after
    old, seen, new = before.split("\n"), blanked(before, lines).split("\n"), after.split("\n")
    made: list[tuple[str, bool]] = []  # each line, and whether it is one of *lines*
    for is_same, of_old, of_new in line_ranges(seen, new):
        if is_same:
            made += [(old[place], True) if place + 1 in lines else (seen[place], False) for place in of_old]
        else:
            made += [(new[place], False) for place in of_new]
            made += [(old[place], True) for place in of_old if place + 1 in lines]
    if not after and seen != new:  # emptied
        made = [*(each for each in made if each[0]), ("", False)]
    return _still_marked(made) if house_lines(before) else "\n".join(line for line, _ in made)


def _still_marked(lines: Sequence[tuple[str, bool]]) -> str:
    """Return *lines* as a text in which the mark covers those that say so."""
    covered = house_lines("\n".join(line for line, _ in lines))
    return "\n".join(
        _tagged_line(line) if stays and number not in covered else line for number, (line, stays) in enumerate(lines, 1)
    )


def projected(present: str | None, make: Make, reader: Locality) -> str | None:
    """Return what *make* makes of the text *present* for *reader*: a line that they may not know stays as it is."""
    stays = house_lines(present or "")
    if present is None or may_know(reader, is_house=bool(stays)):
        return make(present)
    return restored(present, make(blanked(present, stays)) or "", stays)


class HouseFolders(Struct, frozen=True):
    """The folders of a workspace whose files carry the mark."""

    folders: tuple[PurePosixPath, ...] = ()

    def hold(self, path: PurePosixPath) -> bool:
        """Tell whether the file or folder at *path* carries the mark; letter case is ignored."""
        parts = tuple(map(fold, path.parts))
        if any(parts[place : place + 2] == ATTACHMENTS_OF_HOUSE.parts for place in (0, 3)):
            return True
        return any(parts[: len(each.parts)] == tuple(map(fold, each.parts)) for each in self.folders)

    def lines(self, path: PurePosixPath, text: str) -> frozenset[int]:
        """Return the lines of the file at *path* with the content *text*, from 1, that the mark covers."""
        return frozenset(range(1, text.count("\n") + 2)) if self.hold(path) else house_lines(text)


def _tagged_line(line: str) -> str:
    return line if not line.strip() or has_tag(line) else f"{line.rstrip()} {TAG}"


def _front_matter(lines: Sequence[str]) -> int:
    """Return the index of the line that closes the front matter; 0 without one."""
    if lines[0].rstrip() != "---":
        return 0
    return next((place for place, line in enumerate(lines) if place and line.rstrip() in {"---", "..."}), 0)


def _covered(lines: Sequence[str], place: int) -> Iterator[int]:
    """Yield the lines, from 0, that the mark in the line *place* covers."""
    if heading := _HEADING.match(lines[place]):
        yield place
        for below in range(place + 1, len(lines)):
            other = _HEADING.match(lines[below])
            if other and len(other[1]) <= len(heading[1]):
                return
            yield below
        return
    first = place
    while first and not _ITEM.match(lines[first]) and lines[first - 1].strip() and not _HEADING.match(lines[first - 1]):
        first -= 1
    item = _ITEM.match(lines[first])
    yield from range(first, place + 1)
    is_open = True
    for below in range(place + 1, len(lines)):
        line = lines[below]
        if not line.strip():
            is_open = False
            yield below
        elif _HEADING.match(line):
            return
        elif (item and len(line) - len(line.lstrip()) > len(item[1])) or (is_open and not _ITEM.match(line)):
            yield below
        else:
            return
