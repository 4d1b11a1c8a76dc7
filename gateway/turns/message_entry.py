"""Entry of a message in its conversation: the form in which a model reads it."""

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from adapters.channel import InboundMessage, OverheardMessage, Via
from gateway.admission.internal_channels import SUBAGENT, is_inner
from gateway.agent.authorship import HEARD
from gateway.agent.entries import UserEntry
from gateway.stores.rows import InboxRow
from workspaces.access import SessionType


def entry_of(row: InboxRow, session_type: SessionType, zone: tzinfo | None) -> UserEntry:
    """Return the message as an entry, with times in the owner's *zone*.

    Quoted words are marked line by line, so they cannot pass as the sender's.
    """
    message = row.message
    text = message.text
    if message.quote:
        author = " ".join(message.quote.author.split())
        text = "\n".join([f"(quoting {author})", *(f"> {line}" for line in message.quote.text.splitlines()), "", text])
    text = "\n".join([*context_lines(message.heard, zone), text])
    name = "" if session_type is SessionType.MAIN else " ".join(message.sender.name.split())
    outside, ours = _holds_others_words(message), is_inner(message)
    return UserEntry(text, message.sent_at, name, str(row.id), from_outside=outside, is_ours=ours)


def _holds_others_words(message: InboundMessage) -> bool:
    is_quoting = message.quote is not None and not message.quote.is_ours
    return bool(message.heard) or is_quoting or message.via is Via.AGENT or message.address.channel == SUBAGENT


def context_lines(heard: Sequence[OverheardMessage], zone: tzinfo | None) -> Iterator[str]:
    """Yield the lines that come before a message, with times in *zone*; none if nothing was *heard*."""
    if not heard:
        return
    yield HEARD
    for each in heard:
        author = " ".join(each.author.replace(":", " ").split()) or "Somebody"
        mark = f"> {each.sent_at.astimezone(zone):%Y-%m-%d %H:%M} {author}:"
        yield from (f"{mark} {line}" for line in each.text.splitlines())
    yield ""
