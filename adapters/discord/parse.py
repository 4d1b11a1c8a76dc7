"""This file reads Discord's messages: what was said, by whom, and whether to us. It is pure."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from adapters.channel import Address, Attachment, AttachmentKind, ChatKind, InboundMessage, Quote, Sender, Via
from adapters.discord import wire
from adapters.discord.places import Place
from adapters.discord.wire import Content, Member, Message, User

_SAID = {0, 19}
"""The types of message that people write: a message, a reply. The others tell of joins, pins, calls, commands."""
_FORWARD = 1
EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
"""Discord counts milliseconds from here."""
_MENTION = re.compile(r"<@!?(?P<id>[0-9]+)>")
_KINDS = {"image": AttachmentKind.PHOTO, "audio": AttachmentKind.AUDIO, "video": AttachmentKind.VIDEO}
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

    NO_TEXT = "discord_no_text"
    """Somebody joined, a pin, a poll: nothing that we can read."""
    HIDDEN = "discord_hidden"
    """A message in a server without anything in it: Discord hides what it holds from a bot that may not read it."""
    NO_COMMAND = "discord_no_command"
    """A control that is none of ours: a menu of choices, a form, a button below somebody else's message."""
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
    if message.type not in _SAID or not (text or forwarded or message.attachments):
        return Ignored.HIDDEN if _is_hidden(message) else Ignored.NO_TEXT
    return InboundMessage(
        address=Address("discord", me.account, place.chat, place.thread),
        id=message.id,
        sender=_sender(message),
        kind=place.kind,
        text=text,
        is_for_us=place.kind is ChatKind.DIRECT or _names_us(message, me) or _answers_us(message, me),
        sent_at=message.timestamp.astimezone(UTC),
        quote=Quote("somebody", forwarded) if forwarded else _replied(message, me),
        attachments=tuple(_attachment(file, message) for file in message.attachments),
        space=message.guild_id,
    )


def parse_edit(message: Message, place: Place | None, me: BotUser) -> InboundMessage | Ignored | None:
    """Return what a change of *message* is for the gateway; `None` if nobody changed its words.

    Discord also tells of a message when a preview was added to it or when it was pinned: it has the time of its last
    edit then, and with it the id of that edit, which the inbox knows.
    """
    if message.edited_timestamp is None:
        return None
    found = parse_message(message, place, me)
    if not isinstance(found, InboundMessage):
        return found
    edited = message.edited_timestamp.astimezone(UTC)
    number = (edited - EPOCH) // timedelta(milliseconds=1)
    return replace(found, id=f"{message.id}.e{number}", via=Via.EDIT, target=message.id)


def _is_hidden(message: Message) -> bool:
    """Say whether *message* has nothing in it at all, as no message of a person's can be."""
    is_plain = message.type in _SAID and message.guild_id is not None and message.webhook_id is None
    held = (message.content, message.embeds, message.components, message.poll, message.message_snapshots)
    return is_plain and not (any(held) or message.sticker_items or message.attachments)


def person(user: User, member: Member | None) -> Sender:
    """Return *user* as a sender, under the name and with the roles that the server knows."""
    nick, roles = (member.nick, member.roles) if member else (None, ())
    return Sender(user.id, nick or _name(user), user.bot, roles)


def _sender(message: Message) -> Sender:
    """A webhook writes under any name it likes: it is a program, and nobody's id."""
    if message.webhook_id is not None:
        return Sender("", message.author.username, is_bot=True)
    return person(message.author, message.member)


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
    return "\n".join(filter(None, [named, *_stickers(message)]))


def _attachment(file: wire.Attachment, message: Message) -> Attachment:
    """Name *file* by where it is found again: its address is signed, and the signature runs out."""
    mime = (file.content_type or "").partition(";")[0].strip()
    kind = AttachmentKind.VOICE if file.duration_secs is not None else _KINDS.get(mime.partition("/")[0])
    ref = f"{message.channel_id}/{message.id}/{file.id}"
    return Attachment(kind or AttachmentKind.DOCUMENT, ref, _line(file.filename), mime, file.size)


def _stickers(content: Content) -> list[str]:
    return [f"[sticker: {_line(sticker.name)}]" for sticker in content.sticker_items]


def _beside(content: Content) -> list[str]:
    """Return a line for each thing beside quoted words, by its name."""
    files = [f"[attachment: {_line(file.filename)}, {_size(file.size)}]" for file in content.attachments]
    return files + _stickers(content)


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
