"""This file reads Discord's messages: what was said, by whom, and whether to us. It is pure."""

import re
from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum

from adapters.channel import Address, ChatKind, InboundMessage, Quote, Sender
from adapters.discord.places import Place
from adapters.discord.wire import Content, Message, User

_SAID = {0, 19}
"""The types of message that people write: a message, a reply. The others tell of joins, pins, calls, commands."""
_FORWARD = 1
_MENTION = re.compile(r"<@!?(?P<id>[0-9]+)>")
_UNITS = ((1_000_000, "MB"), (1_000, "kB"), (1, "bytes"))


@dataclass(frozen=True, slots=True)
class BotUser:
    """Who we are on Discord."""

    account: str
    """Our name for this bot, from the configuration."""
    id: str
    roles: frozenset[str] = frozenset()
    """The roles that stand for this bot alone."""


class Ignored(StrEnum):
    """Why an event is no message for the gateway; the value is the reason code that is counted."""

    EDITED = "discord_edited"
    """An edit of an earlier message: not followed yet."""
    NO_TEXT = "discord_no_text"
    """Somebody joined, a pin, an empty poll: nothing that we can read."""
    NO_CHAT = "discord_no_chat"
    """A group of direct chats, or a kind of channel that we do not know."""
    UNREADABLE = "discord_unreadable"
    """Discord sent a shape that we do not know."""


def parse_message(message: Message, place: Place | None, me: BotUser) -> InboundMessage | Ignored | None:
    """Return what *message*, written in *place*, is for the gateway, or why it is nothing.

    `None` for our own, which Discord tells us each time: not worth counting.
    """
    if message.author.id == me.id:
        return None
    if place is None:
        return Ignored.NO_CHAT
    forwarded = _forwarded(message)
    text = _text(message, me)
    if message.type not in _SAID or not (text or forwarded):
        return Ignored.NO_TEXT
    return InboundMessage(
        address=Address("discord", me.account, place.chat, place.thread),
        id=message.id,
        sender=_sender(message),
        kind=place.kind,
        text=text,
        is_for_us=place.kind is ChatKind.DIRECT or _names_us(message, me) or _answers_us(message, me),
        sent_at=message.timestamp.astimezone(UTC),
        quote=Quote("somebody", forwarded) if forwarded else _replied(message, me),
    )


def _sender(message: Message) -> Sender:
    """A webhook writes under any name it likes: it is a program, and nobody's id."""
    if message.webhook_id is not None:
        return Sender("", message.author.username, is_bot=True)
    nick = message.member.nick if message.member else None
    return Sender(message.author.id, nick or _name(message.author), message.author.bot)


def _name(user: User) -> str:
    return user.global_name or user.username


def _text(message: Message, me: BotUser) -> str:
    """Return the words with people's names in them; what calls us at the beginning is said by `is_for_us`."""
    names = {user.id: _name(user) for user in message.mentions}
    words = message.content.strip()
    called = _MENTION.match(words)
    if called and called["id"] == me.id and words[called.end() :].strip():
        words = words[called.end() :].strip()
    named = _MENTION.sub(lambda found: f"@{names[found['id']]}" if found["id"] in names else found[0], words)
    return "\n".join(filter(None, [named, *_beside(message)]))


def _beside(content: Content) -> list[str]:
    """Return a line for each thing beside the words, by its name."""
    files = [f"[attachment: {_line(file.filename)}, {_size(file.size)}]" for file in content.attachments]
    return files + [f"[sticker: {_line(sticker.name)}]" for sticker in content.sticker_items]


def _line(name: str) -> str:
    return " ".join(name.split())


def _size(size: int) -> str:
    unit, sign = next(((unit, sign) for unit, sign in _UNITS if size >= unit), _UNITS[-1])
    return f"{size / unit:.1f} {sign}" if unit > 1 else f"{size} {sign}"


def _forwarded(message: Message) -> str:
    """Return the words that the sender passed on; Discord does not say whose they are."""
    if message.message_reference is None or message.message_reference.type != _FORWARD:
        return ""
    return "\n\n".join(_all(snapshot.message) for snapshot in message.message_snapshots)


def _all(content: Content) -> str:
    return "\n".join(filter(None, [content.content.strip(), *_beside(content)]))


def _replied(message: Message, me: BotUser) -> Quote | None:
    """Return what the message replies to; nothing if that is gone or holds no words."""
    target = message.referenced_message
    if target is None:
        return None
    text = _forwarded(target) or _all(target)
    return Quote(_sender(target).name, text, _is_ours(target, message, me)) if text else None


def _is_ours(target: Message, message: Message, me: BotUser) -> bool:
    """Say whether *target* holds our words, or the sender's own, and not a webhook's or passed on."""
    if target.webhook_id is not None or message.webhook_id is not None or _forwarded(target):
        return False
    return target.author.id in (me.id, message.author.id)


def _names_us(message: Message, me: BotUser) -> bool:
    """A mention is what Discord marks as one; one of everybody is none of us."""
    return any(user.id == me.id for user in message.mentions) or not me.roles.isdisjoint(message.mention_roles)


def _answers_us(message: Message, me: BotUser) -> bool:
    target = message.referenced_message
    return target is not None and target.author.id == me.id and message.type in _SAID
