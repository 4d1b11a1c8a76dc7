"""Marks of turns: visible ids that reveal nothing about other chats.

A reply to our question for a note's new text is `/correct` with that mark and the reply's words.
"""

import hashlib

from adapters.channel import InboundMessage, Via
from gateway.admission.internal_channels import is_inner
from gateway.admission.routing import principal
from gateway.stores.codec import address_key, message_key
from workspaces.lazy_pattern import lazy_pattern

_BYTES = 6
"""Length of a mark: among a hundred thousand turns of one conversation the chance of a collision is one in fifty
thousand."""
QUESTION = "Reply to this with the corrected text, or write `/correct {mark}` and the text."
_ASKED = lazy_pattern(r"Reply to this with the corrected text, or write `?(/correct [0-9a-f]{12})`? and the text\.")


def mark_of(message: InboundMessage) -> str:
    """Return the mark of the turn that answers *message*: 12 hex digits, derived from its origin and its id."""
    return _hash_facts(message_key(message.address, message.id))


def chat_mark(message: InboundMessage) -> str:
    """Return the mark of the chat of *message*: 12 hex digits, the same for all of its messages."""
    return _hash_facts(address_key(message.address))


def author_mark(message: InboundMessage) -> str | None:
    """Return the mark of the sender of *message*: 12 hex digits; `None` for one without an id, and for our own."""
    return _hash_facts(principal(message)) if message.sender.id and not is_inner(message) else None


def _hash_facts(facts: str) -> str:
    return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=_BYTES).hexdigest()


def answered_command(message: InboundMessage) -> str | None:
    """Return the command that *message* gives by replying to our question for a note's new text; pure."""
    quote = message.quote
    if message.via is not Via.TEXT or quote is None or not quote.is_ours or not message.text.strip():
        return None
    asked = _ASKED.match(quote.text)
    return f"{asked[1]} {message.text}" if asked else None
