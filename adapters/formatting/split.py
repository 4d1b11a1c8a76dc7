"""Splitting of formatted text into message parts: at line ends, else at spaces, else between two characters."""

import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import structs

from adapters.channel import Body, Entity

MOST_ENTITIES = 100
"""Telegram silently drops the formatting beyond a message's hundredth entity."""
_JOINERS = "\u200d\ufe0e\ufe0f"
_LONGEST_CLUSTER = 16


def split(text: str, entities: Sequence[Entity], limit: int, most: int = MOST_ENTITIES) -> Iterator[Body]:
    """Yield *text* in parts of at most *limit* UTF-16 units and *most* entities each; blank parts are left out.

    Formatting that crosses a cut continues in the next part. If more than *most* entities overlap one character, the
    outer ones stay.
    """
    waiting = sorted(entities, key=lambda found: (found.offset, -found.length))[::-1]
    open_ones: list[Entity] = []
    begin = offset = 0
    while begin < len(text):
        room, begun = _room(open_ones, waiting, offset, limit, most)
        end = begin + cut_at(text, begin, room)
        part = text[begin:end]
        after = offset + units(part)
        begun += [waiting.pop() for _ in range(_count_before(waiting, after))]
        if part.strip():
            yield Body(part, tuple(_clipped_entity(found, offset, after) for found in begun[:most]))
        open_ones = [found for found in begun[:most] if found.offset + found.length > after]
        begin, offset = end, after


def plain_parts(text: str, limit: int) -> tuple[Body, ...]:
    """Return *text* unchanged, in parts of at most *limit* UTF-16 units; none for blank text.

    It costs one pass over the text, for answers whose formatting is refused or takes too long.
    """
    return tuple(split(valid_unicode(text), (), limit))


def valid_unicode(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, which no encoding accepts."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def units(text: str) -> int:
    """Return the length of *text* in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def cut_at(text: str, begin: int, room: int) -> int:
    """Return the number of characters from *begin* that fill a part of at most *room* UTF-16 units."""
    window = text[begin : begin + room].encode("utf-16-le")[: 2 * room].decode("utf-16-le", "ignore")
    if begin + len(window) >= len(text):
        return len(window)
    early = len(window) // 4
    for mark, least in [("\n", early), (" ", early), ("\n", 0), (" ", 0)]:
        found = window.rfind(mark, least)
        if found > 0:
            return found + 1
    return _whole_cluster(text, begin, len(window)) or 1


def _room(
    open_ones: list[Entity], waiting: list[Entity], offset: int, limit: int, most: int
) -> tuple[int, list[Entity]]:
    """Return the size limit of the part at *offset* in units, and the entities open at its start."""
    begun = list(open_ones)
    while waiting and waiting[-1].offset <= offset:
        begun.append(waiting.pop())
    free = max(most - len(begun), 0)
    if free < len(waiting):
        limit = min(limit, waiting[-1 - free].offset - offset)
    return limit, begun


def _count_before(waiting: Sequence[Entity], end: int) -> int:
    count = 0
    while count < len(waiting) and waiting[-1 - count].offset < end:
        count += 1
    return count


def _clipped_entity(found: Entity, begin: int, end: int) -> Entity:
    first, last = max(found.offset, begin), min(found.offset + found.length, end)
    return structs.replace(found, offset=first - begin, length=last - first)


def _whole_cluster(text: str, begin: int, length: int) -> int:
    """Return *length* or slightly less, so that no accent or part of an emoji begins the next part."""
    cut = begin + length
    for at in range(cut, max(begin, cut - _LONGEST_CLUSTER), -1):
        if text[at] not in _JOINERS and not unicodedata.combining(text[at]) and text[at - 1] not in _JOINERS[0]:
            return at - begin
    return length
