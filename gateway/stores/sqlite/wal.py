"""Committed frames of SQLite's write-ahead log that cannot be read any more.

SQLite takes the log up to the first frame whose checksum is wrong and passes over what follows, without a word. The
formats are those of https://sqlite.org/walformat.html and https://sqlite.org/fileformat2.html#walformat.
"""

import sqlite3
import struct
from pathlib import Path

_HEADER = struct.Struct(">IIIIIIII")
"""Magic, version, page size, checkpoint, two salts, two checksums."""
_FRAME = struct.Struct(">IIIIII")
"""Page, pages of the database after a commit (else 0), two salts, two checksums."""
_MAGICS = {0x377F0682: "<", 0x377F0683: ">"}
"""By the byte order of the words that checksums are made of."""
_MOST_PAGE = 65_536
_LAST_FRAME_AT = 16
"""Where the index of the log says how many frames it takes."""


def lost_frames(database: Path) -> int:
    """Return how many frames, up to the last one that ends a commit, SQLite will pass over; nothing is changed.

    0 where nobody can tell, such as for a database that cannot be opened. It blocks.
    """
    log, index = (database.with_name(database.name + end) for end in ("-wal", "-shm"))
    try:
        committed = _last_commit(log)
        if not committed:
            return 0
        connection = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            with index.open("rb") as file:
                file.seek(_LAST_FRAME_AT)
                (read,) = struct.unpack("=I", file.read(4))
        finally:
            connection.close()
    except (OSError, sqlite3.Error, struct.error, UnicodeDecodeError):
        return 0
    return max(committed - int(read), 0)


def _last_commit(log: Path) -> int:
    """Return the number of the last frame of the log's present life that ends a commit; 0 for none."""
    with log.open("rb") as file:
        first = file.read(_HEADER.size)
        if len(first) < _HEADER.size:
            return 0
        head = _HEADER.unpack(first)
        page, salts = (head[2], head[4:6]) if _is_whole(first) else (_page_size(log), None)
        last = number = 0
        while len(frame := file.read(_FRAME.size)) == _FRAME.size:
            fields = _FRAME.unpack(frame)
            salts = salts or fields[2:4]  # of a log whose header is damaged, the first frame knows its life
            if fields[2:4] != salts or len(file.read(page)) < page:
                break
            number += 1
            last = number if fields[1] else last
    return last


def _is_whole(header: bytes) -> bool:
    magic, *_, one, two = _HEADER.unpack(header)
    order = _MAGICS.get(magic)
    if order is None:
        return False
    first = second = 0
    words = struct.unpack(f"{order}6I", header[:24])
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return (first, second) == (one, two)


def _page_size(log: Path) -> int:
    """Return the size of the database's own pages."""
    with log.with_name(log.name.removesuffix("-wal")).open("rb") as file:
        file.seek(16)
        (size,) = struct.unpack(">H", file.read(2))
    return _MOST_PAGE if size == 1 else int(size)
