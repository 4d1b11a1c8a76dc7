"""Protocol between the gateway and its memory worker: length-prefixed JSON frames over a pipe.

JSON, because only texts and a few numbers are sent: vectors are created and stored in the worker. Parsing it runs no
code, it preserves every lone surrogate, and at 1–10 kB a frame it costs microseconds.

A request has `id`, `op`, `folder` and the operation's arguments; a reply has `id` and one of `done` (the result),
`busy` (still working, restart the timeout) or `failed` (a reason).
"""

import json
import struct
from collections.abc import Iterator
from datetime import date
from typing import Any

from workspaces.access import Scope
from workspaces.memory.entry import Document

LARGEST = 64 * 1024 * 1024
"""A longer frame is a fault in the stream, not a message."""

Frame = dict[str, Any]
"""A JSON object: the boundary of static types."""

AS_OF = "as_of"
"""Within an agent's index folder, the folder of indexes of earlier days: each lives for one search, shares the agent's
embeddings, and is stored and embedded on this machine, even if a server or provider serves the others.
"""

HOUSE = "house"
"""Within an agent's index folder, the index of the lines that stay on the owner's machines: it is stored and embedded
on this one, and no query of it leaves.
"""

_LENGTH = struct.Struct(">I")


class WireError(Exception):
    """The stream between gateway and worker is corrupt."""


def encode(frame: Frame) -> bytes:
    """Encode *frame*, preceded by its length."""
    body = json.dumps(frame, separators=(",", ":")).encode()
    return _LENGTH.pack(len(body)) + body


class Decoder:
    """Decodes a stream of bytes, cut anywhere, into frames."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take *data* and yield the completed frames. Raises WireError for a foreign stream."""
        self._pending += data
        while len(self._pending) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._pending)
            if length > LARGEST:
                raise WireError(f"a frame of {length} bytes")
            end = _LENGTH.size + length
            if len(self._pending) < end:
                return
            body = bytes(self._pending[_LENGTH.size : end])
            del self._pending[:end]
            yield _frame(body)


def _frame(body: bytes) -> Frame:
    try:
        frame = json.loads(body)
    except ValueError as exc:
        raise WireError("a frame that is not JSON") from exc
    if not isinstance(frame, dict):
        raise WireError("a frame that is not an object")
    return frame


def document_out(document: Document) -> Frame:
    """Encode a document for the worker."""
    return {
        "path": document.path,
        "scope": document.scope,
        "text": document.text,
        "date": day_out(document.date),
        "digest": document.digest,
        "lines": document.lines,
        "others": document.others,
    }


def document_in(frame: Frame) -> Document:
    """Decode a document in the worker."""
    return Document(
        path=frame["path"],
        scope=Scope(frame["scope"]),
        text=frame["text"],
        date=day_in(frame["date"]),
        digest=frame["digest"],
        lines=tuple(frame["lines"]),
        others=tuple(frame["others"]),
    )


def scopes_out(scopes: frozenset[Scope] | None) -> list[str] | None:
    """Encode the scopes of a search; `None` means every scope, the empty list none."""
    return None if scopes is None else sorted(scopes)


def scopes_in(scopes: list[str] | None) -> frozenset[Scope] | None:
    """Decode the scopes of a search."""
    return None if scopes is None else frozenset(map(Scope, scopes))


def day_out(day: date | None) -> str | None:
    return day.isoformat() if day else None


def day_in(day: str | None) -> date | None:
    return date.fromisoformat(day) if day else None
