"""Reverting or rewording of one change of a text, whatever was written around it; pure.

Texts are compared line by line, and later changes by others stay. If others changed the very lines that the change
wrote, or the place from which it removed some, nothing is done and EditError is raised.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from workspaces.errors import EditError
from workspaces.lazy_pattern import lazy_pattern
from workspaces.line_ranges import line_ranges
from workspaces.notes import list_item

_LINE = lazy_pattern(r"[^\n]*\n|[^\n]+")
_ITEM = lazy_pattern(r"(?P<margin>[ \t]*)(?P<bullet>[-*+] )?(?P<time>\d\d:\d\d )?.*", re.DOTALL)
_HEADING = lazy_pattern(r"\ufeff? {0,3}#{1,6}(\s|$)")
_TOUCHED = "it has changed there since, so nothing was written"


class _Hunk(Struct, frozen=True):
    """Lines removed by a change, and the lines in their place."""

    old: Sequence[str]
    new: Sequence[str]
    at: int
    """The number, from 0, of the first line of `new` in the text after the change."""


class _ChangedLines(Struct, frozen=True):
    """Lines written by a change that belong together: a list item, or a stretch of prose."""

    at: int
    """The number, from 0, of the first one in the text after the change."""
    lines: list[str]


def passages(before: str | None, after: str | None) -> tuple[str, ...]:
    """Return the passages written by the change from *before* to *after*, without headings; `None` is no file."""
    return tuple("".join(each.lines).rstrip("\r\n") for each in _passages(_hunks(before, after)))


def reverted_text(before: str | None, after: str | None, now: str | None) -> str | None:
    """Return the text *now* without the change from *before* to *after*; `None` stands for no file.

    If others added to the text, headings from the change stay: the additions may belong below them. Raises EditError if
    *now* differs from the change's result in that place.
    """
    if now == after:
        return before
    if now == before:
        raise EditError("it already has its earlier text")
    lines, places = _lines(now), _places(_lines(after), _lines(now))
    for hunk in reversed(_hunks(before, after)):  # from the end, so that earlier positions stay valid
        if not hunk.new:
            at = _gap(hunk.at, places, len(_lines(after)), len(lines))
            lines[at:at] = hunk.old
        elif hunk.old:
            at = _run(range(hunk.at, hunk.at + len(hunk.new)), places)
            lines[at : at + len(hunk.new)] = hunk.old
        else:
            for passage in reversed(list(_passages([hunk]))):
                at, end = _standing(passage, lines, places)
                del lines[at:end]
    return "".join(lines)


def with_added_items(before: str, after: str, now: str) -> str:
    """Return the text *now* with the list items that the change from *before* to *after* added.

    Each stands behind the nearest line above it that is still there, no higher than its heading; what is there already
    is not added again. Raises EditError if the change did anything else, or its place is gone.
    """
    old, new, lines = _lines(before), _lines(after), _lines(now)
    places = _places(old, lines)
    for is_same, of_old, of_new in reversed(list(line_ranges(old, new))):
        if is_same:
            continue
        added = new[of_new.start : of_new.stop]
        if of_old or not all(not line.strip() or line.startswith("- ") for line in added):
            raise EditError(_TOUCHED)
        at = _behind(of_old.start, old, places)
        if at and not lines[at - 1].endswith("\n"):
            raise EditError(_TOUCHED)
        if lines[at : at + len(added)] != added:
            lines[at:at] = added
    return "".join(lines)


def corrected_text(before: str | None, after: str | None, now: str | None, words: str) -> str:
    """Return the text *now* with *words* in place of the one passage written by the change from *before*.

    A list item stays one, with its time. Raises EditError if the change wrote no passage, or several, or if *now*
    differs from its result; ValueError for empty *words*.
    """
    written = list(_passages(_hunks(before, after)))
    if len(written) != 1:
        raise EditError(f"{len(written) or 'no'} passages were written, and only one alone can be corrected")
    (passage,) = written
    lines = _lines(now)
    at, end = _standing(passage, lines, _places(_lines(after), lines))
    lines[at:end] = [rewritten_line(passage.lines[0], words)]
    return "".join(lines)


def rewritten_line(line: str, words: str) -> str:
    """Return *words* with the start of *line*: an item with its time, or plain text with its margin."""
    begun = _ITEM.match(line)
    margin, bullet, time = (begun["margin"], begun["bullet"], begun["time"]) if begun else ("", None, None)
    item = list_item(words, time or "")
    text = "".join(f"{margin}{each}" for each in _lines(item if bullet else item.removeprefix("- ")))
    return text.replace("\n", "\r\n") if line.endswith("\r\n") else text


def without_item_mark(line: str) -> str:
    """Return *line* without what `rewritten_line` keeps of it."""
    begun = _ITEM.match(line)
    kept = sum(len(begun[part] or "") for part in ("margin", "bullet", "time")) if begun else 0
    return line[kept:].strip()


def _hunks(before: str | None, after: str | None) -> list[_Hunk]:
    old, new = _lines(before), _lines(after)
    return [
        _Hunk(old[of_old.start : of_old.stop], new[of_new.start : of_new.stop], of_new.start)
        for is_same, of_old, of_new in line_ranges(old, new)
        if not is_same
    ]


def _passages(hunks: Sequence[_Hunk]) -> Iterator[_ChangedLines]:
    for hunk in hunks:
        present: _ChangedLines | None = None
        for number, line in enumerate(hunk.new, hunk.at):
            if not line.strip() or _HEADING.match(line):
                if present is not None:
                    yield present
                present = None
            elif present is None or _begins(line, present.lines[0]):
                if present is not None:
                    yield present
                present = _ChangedLines(number, [line])
            else:
                present.lines.append(line)
        if present is not None:
            yield present


def _begins(line: str, first: str) -> bool:
    """Tell whether *line* is a separate item beside the one that *first* begins."""
    item, above = _ITEM.match(line), _ITEM.match(first)
    return bool(item and above and item["bullet"] and len(item["margin"]) <= len(above["margin"]))


def _standing(passage: _ChangedLines, lines: Sequence[str], places: Mapping[int, int]) -> tuple[int, int]:
    """Return the start and end of *passage* in *lines*, alone: nobody has extended it."""
    at = _run(range(passage.at, passage.at + len(passage.lines)), places)
    end = at + len(passage.lines)
    if end < len(lines) and lines[end].strip() and lines[end][0] in " \t":
        raise EditError(_TOUCHED)
    return at, end


def _run(wanted: range, places: Mapping[int, int]) -> int:
    """Return the present position of the *wanted* lines, one after the other."""
    at = places.get(wanted.start)
    if at is None or any(places.get(line) != at + number for number, line in enumerate(wanted)):
        raise EditError(_TOUCHED)
    return at


def _behind(line: int, old: Sequence[str], places: Mapping[int, int]) -> int:
    """Return the present position behind the nearest line above *line* of *old* that still stands."""
    for above in range(line - 1, -1, -1):
        if above in places:
            return places[above] + 1
        if _HEADING.match(old[above]):
            break
    raise EditError(_TOUCHED)


def _gap(line: int, places: Mapping[int, int], total: int, now: int) -> int:
    """Return the present end of the text before *line*, if nothing was inserted; *total* and *now* are lengths."""
    above = places.get(line - 1) if line else -1
    below = places.get(line) if line < total else now
    if above is None or below != above + 1:
        raise EditError(_TOUCHED)
    return below


def _places(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Return the position in *new* of each line of *old* that is still there."""
    equal = (ranges for is_same, *ranges in line_ranges(old, new) if is_same)
    return {before: now for ranges in equal for before, now in zip(*ranges, strict=True)}


def _lines(text: str | None) -> list[str]:
    return _LINE.findall(text or "")
