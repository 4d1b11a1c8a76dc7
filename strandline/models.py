"""A model provider of your own: a client for its models, registered as an entry point of `strandline.models`."""

from gateway.agent.entries import ToolCall, Usage
from gateway.agent.models.messages import Answered, Returned, Seen, UnansweredMessages, voices, with_person_first
from gateway.agent.models.port import ModelRequest, ToolSpec
from gateway.agent.models.provider import CallPiece, Finish, Piece, Provider, TextPiece, ThoughtPiece
from gateway.agent.models.settings import HostedSettings
from gateway.errors import ModelError, ModelOverflowError, ModelRefusedError, ModelUnavailableError

__all__ = [
    "Answered",
    "CallPiece",
    "Finish",
    "HostedSettings",
    "ModelError",
    "ModelOverflowError",
    "ModelRefusedError",
    "ModelRequest",
    "ModelUnavailableError",
    "Piece",
    "Provider",
    "Returned",
    "Seen",
    "TextPiece",
    "ThoughtPiece",
    "ToolCall",
    "ToolSpec",
    "UnansweredMessages",
    "Usage",
    "voices",
    "with_person_first",
]
