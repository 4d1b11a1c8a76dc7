"""This file marks turns: by its mark a turn is named where people can see it, and it tells nothing of other chats."""

import hashlib

from adapters.channel import InboundMessage
from gateway.stores.codec import message_key

_BYTES = 6
"""Of a mark: among a hundred thousand turns of one conversation the chance of two alike is one in fifty thousand."""


def mark_of(message: InboundMessage) -> str:
    """Return the mark of the turn that answers *message*: 12 hex digits, made of where it came from and of its id."""
    facts = message_key(message.address, message.id)
    return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=_BYTES).hexdigest()
