"""Parsing of Telegram's updates: text, sender, and whether the bot is addressed; pure."""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from zlib import crc32

from aiogram.enums import ChatMemberStatus, ChatType
from aiogram.enums import MessageEntityType as Mark
from aiogram.types import (
    CallbackQuery,
    Chat,
    ChatMemberUpdated,
    InaccessibleMessage,
    Message,
    MessageEntity,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUnion,
    MessageOriginUser,
    Update,
)
from msgspec import Struct

from adapters.abilities import JoinedGroup
from adapters.channel import Address, Attachment, AttachmentKind, ChatKind, InboundMessage, Quote, Sender, Via
from adapters.telegram.cards import card_text, moves

GENERAL_TOPIC = "1"
"""The topic of a forum's messages that carry no thread (Bot API: `message_thread_id` is absent there)."""

_KINDS = {
    ChatType.PRIVATE: ChatKind.DIRECT,
    ChatType.GROUP: ChatKind.GROUP,
    ChatType.SUPERGROUP: ChatKind.GROUP,
}
_GONE = {ChatMemberStatus.LEFT, ChatMemberStatus.KICKED}


class TelegramBot(Struct, frozen=True):
    """Our own user on Telegram."""

    account: str
    """Our name for this bot, from the configuration."""
    id: int
    username: str
    """Without the @."""
    reads_groups: bool = False
    """Privacy mode is off: the bot sees every message of its groups."""


class IgnoredUpdate(StrEnum):
    """Reason for ignoring an update; the value is the reason code that is counted."""

    NO_TEXT = "telegram_no_text"
    """A join, a pinned message, a live location's next point: nothing to read or store."""
    NO_CHAT = "telegram_no_chat"
    """A channel's post, or a button press outside any chat."""
    TOO_OLD = "telegram_too_old"
    """A button below a message that is too old for Telegram to include, in a group: its topic is unknown."""
    REMOVED = "telegram_removed"
    """The bot was removed from a group, or blocked by a person."""
    MEMBER = "telegram_member"
    """The bot was added to a group or unblocked by a person, or its rights changed."""
    OWN = "telegram_own"
    """Our own message, echoed."""
    UNKNOWN = "telegram_unknown"
    """An update type that we did not request."""
    UNREADABLE = "telegram_unreadable"
    """A shape unknown to this version of the SDK."""


class Migration(Struct, frozen=True):
    """A group became a supergroup."""

    chat: str
    """Its id until now."""
    now: str


def parse_update(
    update: Update, me: TelegramBot, now: datetime
) -> InboundMessage | JoinedGroup | Migration | IgnoredUpdate:
    """Return the message of *update*, or the reason for ignoring it; a button press has no time but *now*."""
    if update.message is not None:
        return _message(update.message, me)
    if update.edited_message is not None:
        return _edit(update.edited_message, me)
    if update.callback_query is not None:
        return _press(update.callback_query, me, now)
    if update.my_chat_member is not None:
        return _membership(update.my_chat_member, me)
    return IgnoredUpdate.NO_CHAT if update.channel_post or update.edited_channel_post else IgnoredUpdate.UNKNOWN


def _membership(change: ChatMemberUpdated, me: TelegramBot) -> JoinedGroup | IgnoredUpdate:
    if change.new_chat_member.status in _GONE:
        return IgnoredUpdate.REMOVED
    if change.old_chat_member.status not in _GONE or _kind(change.chat) is not ChatKind.GROUP:
        return IgnoredUpdate.MEMBER
    user = change.from_user
    address = Address("telegram", me.account, str(change.chat.id))
    return JoinedGroup(address, change.chat.title or "", Sender(str(user.id), user.full_name, user.is_bot))


def chat_of(update: Update) -> int | None:
    """Return the chat of *update*, if its order matters."""
    query = update.callback_query
    message = update.message or update.edited_message or (query.message if query else None)
    return message.chat.id if message else None


def _message(message: Message, me: TelegramBot) -> InboundMessage | Migration | IgnoredUpdate:
    kind = _kind(message.chat)
    if kind is None:
        return IgnoredUpdate.NO_CHAT
    if migration := _migration(message):
        return migration
    if message.from_user is not None and message.from_user.id == me.id:
        return IgnoredUpdate.OWN
    text, attachments = _text(message), attachments_of(message)
    if not text.strip() and not attachments:
        return IgnoredUpdate.NO_TEXT
    borrowed = _author_if_borrowed(message)
    return InboundMessage(
        address=_address(message, me),
        id=str(message.message_id),
        sender=_sender(message),
        kind=kind,
        text=text if borrowed is None else "",
        is_for_us=kind is ChatKind.DIRECT or _answers_us(message, me) or (borrowed is None and _names_us(message, me)),
        sent_at=message.date,
        quote=_quoted_reply(message, me) if borrowed is None else Quote(borrowed, text),
        attachments=attachments,
        chat_name=message.chat.title or "",
    )


def _edit(message: Message, me: TelegramBot) -> InboundMessage | Migration | IgnoredUpdate:
    """Return an edit; each version of a message has its own id, so that a repeated one is recognised."""
    found = _message(message, me)
    if not isinstance(found, InboundMessage):
        return found
    if moves(message):
        return IgnoredUpdate.NO_TEXT
    version = crc32(_text(message).encode("utf-8", "surrogatepass"))
    return replace(found, id=f"{found.id}.e{message.edit_date or 0}.{version:x}", via=Via.EDIT, target=found.id)


def _press(query: CallbackQuery, me: TelegramBot, now: datetime) -> InboundMessage | IgnoredUpdate:
    """Return a button's command in the name of the person who pressed it: it counts as their own words."""
    message = query.message
    kind = _kind(message.chat) if message is not None else None
    if message is None or kind is None or not query.data:
        return IgnoredUpdate.NO_CHAT
    if isinstance(message, InaccessibleMessage) and message.chat.is_forum:
        return IgnoredUpdate.TOO_OLD
    user = query.from_user
    return InboundMessage(
        address=_address(message, me),
        id=f"{message.message_id}.b{query.id}",
        sender=Sender(str(user.id), user.full_name, user.is_bot),
        kind=kind,
        text=query.data,
        is_for_us=True,
        sent_at=now,
        via=Via.BUTTON,
        target=str(message.message_id),
    )


def _kind(chat: Chat) -> ChatKind | None:
    return _KINDS.get(ChatType(chat.type)) if chat.type in set(ChatType) else None


def _migration(message: Message) -> Migration | None:
    """Return the migration; Telegram announces it in the old group and in the new one, in either order."""
    here = str(message.chat.id)
    if message.migrate_to_chat_id is not None:
        return Migration(here, str(message.migrate_to_chat_id))
    return Migration(str(message.migrate_from_chat_id), here) if message.migrate_from_chat_id is not None else None


def _address(message: Message | InaccessibleMessage, me: TelegramBot) -> Address:
    topic = _topic(message) if isinstance(message, Message) else None
    return Address("telegram", me.account, str(message.chat.id), topic)


def _text(message: Message) -> str:
    """Return the text; a sticker's is its emoji, a contact's or a place's the words of its card."""
    sticker = message.sticker.emoji if message.sticker else None
    return message.text or message.caption or sticker or card_text(message)


def _topic(message: Message) -> str | None:
    """Return the topic; a reply chain in a plain group has a thread id too, but is no topic."""
    if message.is_topic_message and message.message_thread_id is not None:
        return str(message.message_thread_id)
    return GENERAL_TOPIC if message.chat.is_forum and message.chat.type == ChatType.SUPERGROUP else None


def _sender(message: Message) -> Sender:
    """Return the sender, anonymous for messages in the name of a chat: there Telegram puts a stand-in into `from`."""
    if message.sender_chat is not None:
        return Sender(id="", name=message.sender_chat.title or "")
    if message.from_user is None:
        return Sender(id="", name="")
    return Sender(str(message.from_user.id), message.from_user.full_name, message.from_user.is_bot)


def _author_if_borrowed(message: Message) -> str | None:
    """Return the original author of a message passed on (a forward, an inline bot's result)."""
    if message.forward_origin is not None:
        return _origin(message.forward_origin)
    return message.via_bot.full_name if message.via_bot else None


def _origin(origin: MessageOriginUnion) -> str:
    match origin:
        case MessageOriginUser():
            return origin.sender_user.full_name
        case MessageOriginHiddenUser():
            return origin.sender_user_name
        case MessageOriginChat():
            return origin.sender_chat.title or ""
        case MessageOriginChannel():
            return origin.chat.title or ""


def _quoted_reply(message: Message, me: TelegramBot) -> Quote | None:
    """Return the message replied to: the quoted part chosen by the sender, or else all of it."""
    chosen = message.quote.text if message.quote else ""
    if message.external_reply is not None:
        return Quote(_origin(message.external_reply.origin), chosen) if chosen else None
    target = _reply_target(message)
    if target is None:
        return None
    text, is_ours = chosen or _text(target), _is_ours(target, message, me)
    is_bots = is_ours and target.from_user is not None and target.from_user.id == me.id
    return Quote(_sender(target).name, text, is_ours, is_bots) if text else None


def _is_ours(target: Message, message: Message, me: TelegramBot) -> bool:
    """Tell whether *target* is by us or the sender: not forwarded, nor in the name of a chat."""
    if target.from_user is None or target.sender_chat is not None or _author_if_borrowed(target) is not None:
        return False
    sender = _sender(message).id
    return target.from_user.id == me.id or (bool(sender) and str(target.from_user.id) == sender)


def _reply_target(message: Message) -> Message | None:
    """Return the target; in a topic, a message without one formally replies to the topic's beginning."""
    target = message.reply_to_message
    return None if target is None or target.forum_topic_created is not None else target


def _answers_us(message: Message, me: TelegramBot) -> bool:
    target = _reply_target(message)
    return target is not None and target.from_user is not None and target.from_user.id == me.id


def _names_us(message: Message, me: TelegramBot) -> bool:
    """Tell whether the message mentions us, by Telegram's own marks, not by its look."""
    text = _text(message)
    marks = (message.entities if message.text else message.caption_entities) or []
    return any(_is_mention(mark, text, me) for mark in marks)


def _is_mention(mark: MessageEntity, text: str, me: TelegramBot) -> bool:
    name = f"@{me.username}".lower()
    match mark.type:
        case Mark.MENTION:
            return _stretch(mark, text).lower() == name
        case Mark.TEXT_MENTION:
            return mark.user is not None and mark.user.id == me.id
        case Mark.BOT_COMMAND:
            return _stretch(mark, text).lower().endswith(name)
    return False


def _stretch(mark: MessageEntity, text: str) -> str:
    """Return the stretch of *text* that *mark* is about, in UTF-16 units; the SDK fails on half a character."""
    units = text.encode("utf-16-le", "surrogatepass")
    begin = max(mark.offset, 0)
    return units[2 * begin : 2 * max(mark.offset + mark.length, begin)].decode("utf-16-le", "replace")


def attachments_of(message: Message) -> tuple[Attachment, ...]:
    """Return the file of *message*, with the id for downloading it; Telegram sends one file per message."""
    found = _attachment(message)
    return () if found is None else (found,)


def _attachment(message: Message) -> Attachment | None:
    if message.photo:
        photo = max(message.photo, key=lambda photo: photo.width * photo.height)
        return Attachment(AttachmentKind.PHOTO, photo.file_id, mime="image/jpeg", size=photo.file_size)
    if message.sticker:
        sticker = message.sticker
        mime = "video/webm" if sticker.is_video else "application/x-tgsticker" if sticker.is_animated else "image/webp"
        return Attachment(AttachmentKind.STICKER, sticker.file_id, sticker.set_name or "", mime, sticker.file_size)
    return _recording(message) or _document(message)


def _recording(message: Message) -> Attachment | None:
    if (voice := message.voice) is not None:
        return Attachment(AttachmentKind.VOICE, voice.file_id, "", voice.mime_type or "audio/ogg", voice.file_size)
    if (note := message.video_note) is not None:
        return Attachment(AttachmentKind.VIDEO, note.file_id, "", "video/mp4", note.file_size)
    if (audio := message.audio) is not None:
        name = audio.file_name or audio.title or ""
        return Attachment(AttachmentKind.AUDIO, audio.file_id, name, audio.mime_type or "", audio.file_size)
    return None


def _document(message: Message) -> Attachment | None:
    """Return the document; an animation comes as one too, for programs without animations."""
    for kind, file in (
        (AttachmentKind.VIDEO, message.video),
        (AttachmentKind.VIDEO, message.animation),
        (AttachmentKind.DOCUMENT, message.document),
    ):
        if file is not None:
            return Attachment(kind, file.file_id, file.file_name or "", file.mime_type or "", file.file_size)
    return None
