"""Interface of a provider's client for a hosted model: yields the pieces of one reply, or raises one of our errors."""

from collections.abc import AsyncGenerator
from typing import Literal, Protocol

from msgspec import Struct

from gateway.agent.entries import Usage
from gateway.agent.models.messages import Seen
from gateway.agent.models.port import ModelRequest


class TextPiece(Struct, frozen=True):
    """More of the text."""

    text: str


class ThoughtPiece(Struct, frozen=True):
    """More reasoning, which is never shown; only its length counts."""

    length: int


class CallPiece(Struct, frozen=True):
    """More of the tool call at one position of the reply; fields without news are empty."""

    place: int
    id: str
    name: str
    arguments: str


class Finish(Struct, frozen=True):
    """The end of the reply: whole, or with the provider's reason why it is not."""

    how: Literal["stop", "length", "filtered", "failed"]


Piece = TextPiece | ThoughtPiece | CallPiece | Finish | Usage


class Provider(Protocol):
    """One provider's client. It retries nothing."""

    def stream(self, request: ModelRequest, temperature: float | None, seen: Seen) -> AsyncGenerator[Piece]:
        """Yield the reply to *request*, with its pictures as they are *seen*; an interrupted one has no `Finish`.

        Raises ModelError, or the errors of its HTTP client when a connection breaks.
        """

    async def close(self) -> None:
        """Release connections."""
