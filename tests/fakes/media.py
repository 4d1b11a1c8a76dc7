"""In-memory chat platform with files, buttons, menus and reactions."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from adapters.abilities import MenuEntry
from adapters.channel import Address, Attachment, AttachmentKind, ChannelError, FetchRefusedError
from strandline.testing.adapter import FakeAdapter

PIECE = 65_536


@dataclass
class MediaAdapter(FakeAdapter):
    """Implements every ability that the gateway uses, and records the calls."""

    upload_limit: int = 1_000_000
    caption_limit: int = 30
    stored: dict[str, bytes] = field(default_factory=dict)
    """The platform's files, by the reference in an attachment."""
    fetch_faults: list[ChannelError] = field(default_factory=list)
    """Faults of the next fetches, each before its first piece."""
    fetched: list[str] = field(default_factory=list)
    reactions: list[tuple[str, str]] = field(default_factory=list)
    menus: list[tuple[tuple[MenuEntry, ...], tuple[str, ...]]] = field(default_factory=list)
    menu_faults: list[ChannelError] = field(default_factory=list)

    def has(
        self, content: bytes, name: str, *, kind: AttachmentKind = AttachmentKind.DOCUMENT, says_size: bool = True
    ) -> Attachment:
        """Put a file on the platform; return the attachment of its message."""
        ref = f"file-{len(self.stored)}"
        self.stored[ref] = content
        return Attachment(kind, ref, name, "text/plain", len(content) if says_size else None)

    async def fetch(self, attachment: Attachment) -> AsyncIterator[bytes]:
        self.fetched.append(attachment.ref)
        if self.fetch_faults:
            raise self.fetch_faults.pop(0)
        content = self.stored.get(attachment.ref)
        if content is None:
            raise FetchRefusedError("there is no such file")
        for start in range(0, len(content), PIECE):
            await asyncio.sleep(0)
            yield content[start : start + PIECE]

    async def react(self, address: Address, message_id: str, emoji: str) -> None:
        self.reactions.append((message_id, emoji))

    async def show_menu(self, entries: Sequence[MenuEntry], owners: Sequence[str]) -> None:
        if self.menu_faults:
            raise self.menu_faults.pop(0)
        self.menus.append((tuple(entries), tuple(owners)))
