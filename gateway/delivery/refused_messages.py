"""Messages that a platform refused: others to send in their place, plainest last; everything here is pure."""

from collections.abc import Sequence

from msgspec import structs

from adapters.channel import Body, OutboundMessage
from adapters.formatting.split import plain_parts
from gateway.delivery.rendering import PLAIN_UNITS

RESENT_PLAIN = "resent_plain"
"""Counted for each message that was refused, and went out as plain text."""
NOT_SHOWN = (
    "I have a message for you that this chat does not accept, not even as plain text. It is kept in our "
    "conversation: ask me to reword or split it."
)


def plainly(message: OutboundMessage, why: str) -> Sequence[OutboundMessage]:
    """Return *message* without formatting, target, buttons and file, in short parts; none if it is that already.

    In place of a file it says *why* that was refused: those who read it there can often mend it.
    """
    file = message.body.upload
    lines = [message.body.text, *([f"[file: {file.name}; it could not be sent here: {why}]"] if file else [])]
    bodies = plain_parts("\n".join(filter(None, lines)), PLAIN_UNITS)
    plain = [
        structs.replace(message, body=body, key=f"{message.key}.plain{number}", reply_to=None, buttons=())
        for number, body in enumerate(bodies)
    ]
    is_same = [(each.body, message.reply_to, message.buttons) for each in plain] == [(message.body, None, ())]
    return [] if is_same else plain


def refusal_notice(message: OutboundMessage) -> OutboundMessage:
    """Return the sentence that says, in place of *message*, that it cannot be shown."""
    return structs.replace(message, body=Body(NOT_SHOWN), key=f"{message.key}.instead", reply_to=None, buttons=())
