"""Headers of pictures of each type that models accept."""

import struct


def png(width: int, height: int) -> bytes:
    """Return a PNG up to the end of its header."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBBI", 13, b"IHDR", width, height, 8, 2, 0, 0, 0, 0)


def gif(width: int, height: int, version: bytes = b"89a") -> bytes:
    """Return a GIF up to the end of its screen descriptor."""
    return b"GIF" + version + struct.pack("<HHBBB", width, height, 0, 0, 0)


def jpeg(width: int, height: int, frame: int = 0xC0) -> bytes:
    """Return a JPEG with a comment, a table and a restart marker before its frame, and a fill byte."""
    comment = b"\xff\xfe" + struct.pack(">H", 6) + b"\xff\xc0hi"
    table = b"\xff\xc4" + struct.pack(">H", 4) + b"\x00\x00"
    size = b"\xff\xff" + bytes([frame]) + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + comment + table + b"\xff\xd0" + size + b"\xff\xd9"


def webp(width: int, height: int, kind: bytes = b"VP8 ") -> bytes:
    """Return a WebP: lossy, lossless (`VP8L`) or extended (`VP8X`)."""
    match kind:
        case b"VP8X":
            body = b"\x00" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        case b"VP8L":
            body = b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little")
        case _:
            body = b"\x00" * 3 + b"\x9d\x01\x2a" + struct.pack("<HH", width, height)
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk
