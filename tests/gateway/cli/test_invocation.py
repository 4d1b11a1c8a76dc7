"""What commands print as JSON."""

from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from gateway.cli.invocation import plain_fields


class Taken(Struct, frozen=True):
    """A record with what JSON cannot hold."""

    at: datetime
    file: Path
    parts: tuple[str, ...]


def test_fields_are_printed_as_before() -> None:
    """Moments stay as they are, and are printed with a blank as in other answers; paths are texts."""
    at = datetime(2026, 11, 29, 7, tzinfo=UTC)
    assert plain_fields(Taken(at, Path("a/b"), ("x",))) == {"at": at, "file": "a/b", "parts": ("x",)}
