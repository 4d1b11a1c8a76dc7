"""This file is the configuration's shape for what comes with messages, and for the signs of being at work."""

from pydantic import Field

from gateway.config.section import Section


class AttachmentSettings(Section):
    """How much a message may bring; how much is kept altogether stands in `[limits]`."""

    max_mb: int = Field(default=20, ge=1, le=2_000)
    per_message: int = Field(default=10, ge=0, le=100)
    paste_chars: int = Field(default=50_000, ge=10_000, le=10_000_000)
    """A longer text is kept as files."""
    pictures: int = Field(default=4, ge=0, le=20)
    """Of one message, that a model that sees is shown."""
    picture_mb: int = Field(default=4, ge=1, le=20)
    """A larger one is described alone."""


class SignSettings(Section):
    """What people see while an answer is being written, beside the channel's own sign."""

    reaction: str = Field(default="off", min_length=1, max_length=16)
    """An emoji that stands on the message meanwhile, or `off`."""
