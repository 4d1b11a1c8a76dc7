"""Removes a passage from transcripts, the only change to stored content; every line keeps its number.

Lines are read as JSON, whatever they record, so that no kind of record is overlooked.
"""

import json
from pathlib import Path

from gateway.stores.disk import disk_trouble, write_durably
from workspaces.redact import Redaction


def redacted(content: bytes, redaction: Redaction) -> tuple[bytes, int]:
    """Return the *content* of a transcript without the passage, and how many lines held it.

    Lines that are not JSON, as a crash may leave them, are treated as text.
    """
    lines = content.split(b"\n")
    clean = [_redacted_line(line, redaction) for line in lines]
    return b"\n".join(clean), sum(old != new for old, new in zip(lines, clean, strict=True))


def redact_file(path: Path, redaction: Redaction) -> int:
    """Replace the file by one without the passage, if it occurs; return how many lines held it. Raises StoreError.

    No other code may write to it meanwhile.
    """
    try:
        clean, count = redacted(path.read_bytes(), redaction)
        if count:
            write_durably(path, [clean])
    except OSError as exc:
        raise disk_trouble(path, exc) from exc
    return count


def _redacted_line(line: bytes, redaction: Redaction) -> bytes:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return str(redaction.over(line.decode("utf-8", "surrogateescape"))).encode("utf-8", "surrogateescape")
    clean = redaction.over(record)
    return (
        line
        if clean == record
        else json.dumps(clean, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    )
