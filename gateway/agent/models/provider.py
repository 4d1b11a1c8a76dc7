"""This file is what a provider's client is to a hosted model: pieces of one reply come out, or one of our errors."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Literal, Protocol

from gateway.agent.entries import Usage
from gateway.agent.models.messages import Seen
from gateway.agent.models.port import ModelRequest


@dataclass(frozen=True, slots=True)
class TextPiece:
    """More of the text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtPiece:
    """More of what is shown to nobody; only its length counts."""

    length: int


@dataclass(frozen=True, slots=True)
class CallPiece:
    """More of the tool call at one place of the reply; what a piece does not bring is empty."""

    place: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The reply is whole, or the provider says why it is not."""

    how: Literal["stop", "length", "filtered", "failed"]


Piece = TextPiece | ThoughtPiece | CallPiece | Finish | Usage


class Provider(Protocol):
    """One provider's client. It tries nothing twice."""

    def stream(self, request: ModelRequest, temperature: float | None, seen: Seen) -> AsyncGenerator[Piece]:
        """Yield the reply to *request*, with its pictures as they are *seen*; one that breaks off has no `Finish`.

        Raises ModelError, or what its HTTP client raises when a connection breaks.
        """

    async def close(self) -> None:
        """Release connections."""
