"""Search of all that a gateway wrote for the keys that a test gave it."""

import base64
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pygit2

from tests.fakes.botapi import TOKEN

KEYS = (TOKEN, "a-key-for-tests")
"""The keys that nearly every test configures (`tests/journeys/house.py`)."""
CONFIG = "config.toml"
_FOR_KEYS = {CONFIG, "secrets.toml"}
"""The files that may hold a key: the second one is there for it."""


def forms(key: str) -> Iterator[str]:
    """Give *key* as it may stand in a text."""
    yield key
    yield json.dumps(key)[1:-1]
    yield json.dumps(key, ensure_ascii=False)[1:-1]
    yield quote(key, safe="")
    for before in range(3):
        yield base64.b64encode(b"u:p"[:before] + key.encode() + b" and more").decode()
        yield base64.urlsafe_b64encode(b"u:p"[:before] + key.encode()).decode()


def traces(keys: Iterable[str]) -> list[bytes]:
    """Return what would be left of a key: all of it, or the middle of its base64."""
    keys = list(keys)
    whole = [form for key in keys for form in (key, json.dumps(key)[1:-1], quote(key, safe=""))]
    middles = [form[8:-16] for key in keys for form in list(forms(key))[4:]]
    return [each.encode() for each in dict.fromkeys([*whole, *middles]) if len(each) >= 8]


def leaks_in_homes(folder: Path, keys: Iterable[str] = KEYS) -> list[str]:
    """Return where *keys* stand in the homes below *folder*: in files but the configuration, and in objects of git."""
    searched = traces(keys)
    homes = [Path(place) for place, _, names in os.walk(folder) if CONFIG in names]  # a killed worker's files may go
    return [leak for home in homes for leak in _leaks_in(home, searched)]


def _leaks_in(home: Path, searched: list[bytes]) -> Iterator[str]:
    for place, folders, names in os.walk(home):
        if {"objects", "refs"} <= set(folders):
            yield from _found(place, _objects(Path(place)), searched)
        for name in names:
            file = Path(place, name)
            if name not in _FOR_KEYS and file.is_file() and not file.is_symlink():
                yield from _found(str(file.relative_to(home)), _written(file), searched)


def _found(place: str, content: bytes, searched: list[bytes]) -> Iterator[str]:
    return (f"{place}: {trace.decode()}" for trace in searched if trace in content)


def _objects(git_dir: Path) -> bytes:
    """Return the objects of a repository, unpacked, whether anything leads to them or not."""
    objects = pygit2.Odb(str(git_dir / "objects"))
    return b"\0".join(_readable(objects, each) for each in objects)


def _readable(objects: pygit2.Odb, each: pygit2.Oid) -> bytes:
    try:
        return objects.read(each)[1]
    except (KeyError, pygit2.GitError):
        return b""  # a test broke it


def _written(file: Path) -> bytes:
    """Return the parts of *file* that were written: an index is a large file with little in it."""
    parts: list[bytes] = []
    end = 0
    with suppress(FileNotFoundError), file.open("rb", buffering=0) as source:
        while True:
            try:
                begin = os.lseek(source.fileno(), end, os.SEEK_DATA)
            except OSError:
                return b"".join(parts)
            end = os.lseek(source.fileno(), begin, os.SEEK_HOLE)
            os.lseek(source.fileno(), begin, os.SEEK_SET)
            parts.append(source.read(end - begin))
    return b""  # it went meanwhile
