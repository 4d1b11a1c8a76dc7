"""Settings of attachments, and of the signs of a turn in progress."""

from pydantic import Field

from gateway.agent.receipts import ReceiptLevel
from gateway.settings.section import Section


class AttachmentSettings(Section):
    """Limits for one message; `[limits]` has the limits of storage altogether."""

    max_mb: int = Field(default=20, ge=1, le=2_000)
    per_message: int = Field(default=10, ge=0, le=100)
    paste_chars: int = Field(default=50_000, ge=10_000, le=10_000_000)
    """Longer texts are stored as files."""
    pictures: int = Field(default=4, ge=0, le=20)
    """Pictures of one message shown to a model with vision."""
    picture_mb: int = Field(default=4, ge=1, le=20)
    """Larger ones are only described."""


class SignSettings(Section):
    """Signs that people see beside an answer, besides the channel's own."""

    reaction: str = Field(default="off", min_length=1, max_length=16)
    """An emoji set on the message meanwhile, or `off`."""
    receipts: ReceiptLevel = ReceiptLevel.SHORT
    """The line below an answer about what its turn did."""
