"""Settings of a message's attachments."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field


@dataclass(frozen=True, slots=True)
class AttachmentSettings:
    """How much a message may carry; the defaults are ours, but 20 MB is Telegram's limit for bots.

    `[limits]` has the limits of storage altogether.
    """

    max_mb: Annotated[int, Field(ge=1, le=2_000)] = 20
    per_message: Annotated[int, Field(ge=0, le=100)] = 10
    paste_chars: Annotated[int, Field(ge=10_000, le=10_000_000)] = 50_000
    """A longer text is stored as files; a model is shown its beginning and its end."""
    pictures: Annotated[int, Field(ge=0, le=20)] = 4
    """Pictures of one message that a model which accepts images is shown."""
    picture_mb: Annotated[int, Field(ge=1, le=20)] = 4
    """Limit for one picture, which is only described above it; the limit for a whole request is `pictures_mb`."""

    @property
    def file_bytes(self) -> int:
        return self.max_mb * 1024 * 1024

    @property
    def picture_bytes(self) -> int:
        return self.picture_mb * 1024 * 1024
