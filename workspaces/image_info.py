"""Type and size of a picture from its first bytes, for the types that models accept.

Only the necessary header fields are read, and nothing is decoded: JPEG (ITU T.81, B.2), PNG (ISO 15948, 11.2.2), GIF
(GIF89a, 18) and WebP (RFC 9649, 2.5 to 2.7). A library that does more would decode files sent by strangers.
"""

from collections.abc import Callable

from msgspec import Struct

_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG markers with the size."""
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers without a length field."""
_FILL = 0xFF
"""Fill byte, which may precede a marker any number of times."""
_MOST_MARKERS = 10_000
"""Most markers read: cameras and editors write some hundred. Megabytes of them would take seconds."""
_MASK14 = 0x3FFF


class PictureFacts(Struct, frozen=True):
    """Header data of a picture."""

    mime: str
    width: int
    """In pixels."""
    height: int


def picture_facts(data: bytes) -> PictureFacts | None:
    """Return the header data of *data*, a file or enough of its start; `None` if it is none of the four, or broken."""
    for mime, magic, size_of in _KINDS:
        if data.startswith(magic):
            try:
                width, height = size_of(data)
            except (IndexError, ValueError):
                return None
            return PictureFacts(mime, width, height) if width and height else None
    return None


def _png(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR":
        raise ValueError("no header")
    return _number(data, 16, 4, "big"), _number(data, 20, 4, "big")


def _gif(data: bytes) -> tuple[int, int]:
    return _number(data, 6, 2, "little"), _number(data, 8, 2, "little")


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    for _ in range(_MOST_MARKERS):
        if data[at] != 0xFF:
            raise ValueError("no marker")
        marker = data[at + 1]
        if marker in _FRAMES:
            return _number(data, at + 7, 2, "big"), _number(data, at + 5, 2, "big")
        if marker == _FILL:
            at += 1
        elif marker in _BARE:
            at += 2
        else:
            at += 2 + max(_number(data, at + 2, 2, "big"), 2)
    raise ValueError("no end of markers")


def _webp(data: bytes) -> tuple[int, int]:
    if data[8:12] != b"WEBP":
        raise ValueError("another kind of RIFF file")
    match data[12:16]:
        case b"VP8X":
            return _number(data, 24, 3, "little") + 1, _number(data, 27, 3, "little") + 1
        case b"VP8L":
            bits = _number(data, 21, 4, "little")
            return (bits & _MASK14) + 1, (bits >> 14 & _MASK14) + 1
        case b"VP8 ":
            return _number(data, 26, 2, "little") & _MASK14, _number(data, 28, 2, "little") & _MASK14
    raise ValueError("no known chunk")


def _number(data: bytes, at: int, size: int, order: str) -> int:
    piece = data[at : at + size]
    if len(piece) < size:
        raise ValueError("cut off")
    return int.from_bytes(piece, "big" if order == "big" else "little")


_KINDS: tuple[tuple[str, bytes, Callable[[bytes], tuple[int, int]]], ...] = (
    ("image/jpeg", b"\xff\xd8\xff", _jpeg),
    ("image/png", b"\x89PNG\r\n\x1a\n", _png),
    ("image/gif", b"GIF87a", _gif),
    ("image/gif", b"GIF89a", _gif),
    ("image/webp", b"RIFF", _webp),
)
"""Each type with its signature and the function that reads width and height."""
