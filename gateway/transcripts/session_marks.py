"""Marks in the store of the conversations that have records: what tells a lost transcript from a new one."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from gateway.admission.routing import SessionKey
from gateway.errors import StoreError
from gateway.stores.disk import disk_trouble, sync_folder
from gateway.stores.ports import Store


class LostTranscript(Struct, frozen=True):
    """A transcript without a record that can be read, of a conversation that had some."""

    key: SessionKey
    path: Path
    since: str
    """Since when there were records, as far as the store knows: ISO 8601, UTC."""
    kept_as: Path | None
    """Where its bytes are kept; `None` if there were none."""

    @property
    def day(self) -> str:
        """The day of `since`."""
        return self.since.partition("T")[0]

    def __str__(self) -> str:
        kept = f"; its old content is kept as {self.kept_as}" if self.kept_as else ""
        what = "had no readable record" if self.kept_as else "was missing or empty"
        return f"{self.path} {what}, although it had records since {self.day}{kept}"


OnLost = Callable[[LostTranscript], Awaitable[None]]
"""Told of a transcript that is lost, before the conversation goes on. Raises StoreError."""


class SessionMarks:
    """Which conversations have records, by the store's word."""

    def __init__(self, store: Store, removed: Path, on_lost: OnLost) -> None:
        """*removed* is where the folders of removed agents go: what lies there is not lost."""
        self._store = store
        self._removed = removed
        self.on_lost = on_lost

    async def since(self, key: SessionKey) -> str:
        """Return since when the conversation of *key* has records; empty if none are known. Raises StoreError."""
        return await self._store.get(_name(key)) or ""

    async def begun(self, key: SessionKey, at: datetime) -> None:
        """Mark the conversation of *key*; where that cannot be stored, its next opening does."""
        with suppress(StoreError):
            await self._store.put(_name(key), f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")

    async def over(self, key: SessionKey) -> None:
        """Take the mark away: the transcript goes where it belongs, or its loss was told. Raises StoreError."""
        if await self.since(key):
            await self._store.put(_name(key), "")

    def was_removed(self, key: SessionKey, file: str) -> bool:
        """Say whether the owner removed the agent of *key* with this conversation; it blocks."""
        return any(self._removed.glob(f"{key.agent}-*/sessions/{file}"))


def set_aside(path: Path, at: datetime) -> Path | None:
    """Keep the bytes of a transcript without records beside it, under the time *at*; it blocks.

    Returns where they are, `None` if there are none. Raises StoreError.
    """
    kept_as = path.with_name(f"{path.name}.{at.astimezone(UTC):%Y%m%dT%H%M%S%fZ}.lost")
    try:
        if not path.exists() or path.stat().st_size == 0:
            return None
        path.rename(kept_as)
        sync_folder(path.parent)
    except OSError as exc:
        raise disk_trouble(path, exc) from exc
    return kept_as


def _name(key: SessionKey) -> str:
    return f"session:{key}"
