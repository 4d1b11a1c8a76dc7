"""Parsing of Discord's messages: text, sender, and whether the bot is addressed; pure."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from msgspec import Struct, field

from adapters.channel import Address, Attachment, AttachmentKind, ChatKind, InboundMessage, Quote, Sender, Via
from adapters.discord import wire
from adapters.discord.places import ChatLocation
from adapters.discord.wire import MemberData, MessageContent, MessageData, User

_SAID = {0, 19}
"""Types of message written by people: a message, a reply. The others announce joins, pins, calls, commands."""
_FORWARD = 1
EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
"""Discord's timestamps count milliseconds from here."""
_MENTION = re.compile(r"<@(?P<kind>[!&]?)(?P<id>[0-9]+)>")
_EMOJI = re.compile(r"<a?(?P<name>:[A-Za-z0-9_]{1,32}:)[0-9]{1,20}>")
"""A server's own emoji, which only Discord shows as a picture."""
_KINDS = {"image": AttachmentKind.PHOTO, "audio": AttachmentKind.AUDIO, "video": AttachmentKind.VIDEO}
_UNITS = ((1_000_000, "MB"), (1_000, "kB"), (1, "bytes"))


class DiscordBot(Struct, frozen=True):
    """Our own user on Discord."""

    account: str
    """Our name for this bot, from the configuration."""
    id: str
    roles: Mapping[str, str] = field(default_factory=dict)
    """The roles created for this bot alone, by id, with their names: its own, as Discord names them."""


class IgnoredEvent(StrEnum):
    """Reason for ignoring an event; the value is the reason code that is counted."""

    NO_TEXT = "discord_no_text"
    """A join, a pin, a poll: no readable text."""
    HIDDEN = "discord_hidden"
    """An empty message in a server: Discord hides the content from a bot without permission to read it."""
    NO_COMMAND = "discord_no_command"
    """A control that is not ours: a select menu, a form, a button below somebody else's message."""
    NO_CHAT = "discord_no_chat"
    """A group of direct chats, or an unknown kind of channel."""
    UNREADABLE = "discord_unreadable"
    """Discord sent an unknown shape."""


def parse_message(
    message: MessageData, place: ChatLocation | None, me: DiscordBot
) -> InboundMessage | IgnoredEvent | None:
    """Return *message*, written in *place*, for the gateway, or the reason for ignoring it.

    `None` for our own messages, which Discord always echoes: not worth counting.
    """
    if message.author.id == me.id:
        return None
    if place is None:
        return IgnoredEvent.NO_CHAT
    forwarded = _forwarded_text(message)
    text = _text(message, me)
    if message.type not in _SAID or not (text or forwarded or message.attachments):
        return IgnoredEvent.HIDDEN if _is_hidden(message) else IgnoredEvent.NO_TEXT
    return InboundMessage(
        address=Address("discord", me.account, place.chat, place.thread),
        id=message.id,
        sender=_sender(message),
        kind=place.kind,
        text=text,
        is_for_us=place.kind is ChatKind.DIRECT or _names_us(message, me) or _answers_us(message, me),
        sent_at=message.timestamp,
        quote=Quote("somebody", forwarded) if forwarded else _quoted_reply(message, me),
        attachments=tuple(_attachment(file, message) for file in message.attachments),
        space=message.guild_id,
        chat_name=place.name,
    )


def parse_edit(
    message: MessageData, place: ChatLocation | None, me: DiscordBot
) -> InboundMessage | IgnoredEvent | None:
    """Return an edit of *message* for the gateway; `None` if its words did not change.

    Discord also sends this event when a message gets a preview or is pinned: it then has the time of its last edit, and
    so the id of that edit, which the inbox recognises.
    """
    if message.edited_timestamp is None:
        return None
    found = parse_message(message, place, me)
    if not isinstance(found, InboundMessage):
        return found
    number = (message.edited_timestamp - EPOCH) // timedelta(milliseconds=1)
    return replace(found, id=f"{message.id}.e{number}", via=Via.EDIT, target=message.id)


def _is_hidden(message: MessageData) -> bool:
    """Tell whether *message* is entirely empty, which a message written by a person never is."""
    is_plain = message.type in _SAID and message.guild_id is not None and message.webhook_id is None
    held = (message.content, message.embeds, message.components, message.poll, message.message_snapshots)
    return is_plain and not (any(held) or message.sticker_items or message.attachments)


def person(user: User, member: MemberData | None) -> Sender:
    """Return *user* as a sender, with the name and roles used in the server."""
    nick, roles = (member.nick, member.roles) if member else (None, ())
    return Sender(user.id, nick or _name(user), user.bot, roles)


def _sender(message: MessageData) -> Sender:
    """Return the sender; a webhook may use any name, so it is a program without an id."""
    if message.webhook_id is not None:
        return Sender("", message.author.username, is_bot=True)
    return person(message.author, message.member)


def _name(user: User) -> str:
    return user.global_name or user.username


def _text(message: MessageData, me: DiscordBot) -> str:
    """Return the text with people's names in it; a leading mention of us is left to `is_for_us`."""
    names = {user.id: _name(user) for user in message.mentions}
    words = message.content.strip()
    called = _MENTION.match(words)
    if called and called["id"] in (me.roles if called["kind"] == "&" else {me.id}) and words[called.end() :].strip():
        words = words[called.end() :].strip()
    named = _MENTION.sub(lambda found: _called(found, me.roles if found["kind"] == "&" else names), words)
    return "\n".join(filter(None, [_EMOJI.sub(r"\g<name>", named), *_stickers(message)]))


def _called(mention: re.Match[str], names: Mapping[str, str]) -> str:
    return f"@{names[mention['id']]}" if mention["id"] in names else mention[0]


def _attachment(file: wire.AttachmentData, message: MessageData) -> Attachment:
    """Reference *file* by its message: its address is signed, and the signature expires."""
    mime = (file.content_type or "").partition(";")[0].strip()
    kind = AttachmentKind.VOICE if file.duration_secs is not None else _KINDS.get(mime.partition("/")[0])
    ref = f"{message.channel_id}/{message.id}/{file.id}"
    return Attachment(kind or AttachmentKind.DOCUMENT, ref, _line(file.filename), mime, file.size)


def _stickers(content: MessageContent) -> list[str]:
    return [f"[sticker: {_line(sticker.name)}]" for sticker in content.sticker_items]


def _attachment_names(content: MessageContent) -> list[str]:
    """Return a line with the name of each item that accompanies quoted words."""
    files = [f"[attachment: {_line(file.filename)}, {_size(file.size)}]" for file in content.attachments]
    return files + _stickers(content)


def _line(name: str) -> str:
    return " ".join(name.split())


def _size(size: int) -> str:
    unit, sign = next(((unit, sign) for unit, sign in _UNITS if size >= unit), _UNITS[-1])
    return f"{size / unit:.1f} {sign}" if unit > 1 else f"{size} {sign}"


def _forwarded_text(message: MessageData) -> str:
    """Return forwarded text; Discord does not name its author."""
    if message.message_reference is None or message.message_reference.type != _FORWARD:
        return ""
    return "\n\n".join(_all(snapshot.message) for snapshot in message.message_snapshots)


def _all(content: MessageContent) -> str:
    return "\n".join(filter(None, [content.content.strip(), *_attachment_names(content)]))


def _quoted_reply(message: MessageData, me: DiscordBot) -> Quote | None:
    """Return the message that is replied to; nothing if it is gone or has no text."""
    target = message.referenced_message
    if target is None:
        return None
    text, is_ours = _forwarded_text(target) or _all(target), _is_ours(target, message, me)
    return Quote(_sender(target).name, text, is_ours, is_ours and target.author.id == me.id) if text else None


def _is_ours(target: MessageData, message: MessageData, me: DiscordBot) -> bool:
    """Tell whether *target* is by us or the sender, and neither a webhook's nor forwarded."""
    if target.webhook_id is not None or message.webhook_id is not None or _forwarded_text(target):
        return False
    return target.author.id in (me.id, message.author.id)


def _names_us(message: MessageData, me: DiscordBot) -> bool:
    """Tell whether the message mentions us, by Discord's own marks; a mention of everybody does not count."""
    return any(user.id == me.id for user in message.mentions) or any(role in me.roles for role in message.mention_roles)


def _answers_us(message: MessageData, me: DiscordBot) -> bool:
    target = message.referenced_message
    return target is not None and target.author.id == me.id and message.type in _SAID
