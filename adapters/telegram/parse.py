"""This file reads Telegram's updates: what was said, by whom, and whether to us. It is pure."""

from dataclasses import dataclass
from enum import StrEnum

from aiogram.enums import ChatType
from aiogram.enums import MessageEntityType as Mark
from aiogram.types import (
    Message,
    MessageEntity,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUnion,
    MessageOriginUser,
    Update,
)

from adapters.channel import Address, ChatKind, InboundMessage, Quote, Sender

GENERAL_TOPIC = "1"
"""The topic of a forum's messages that carry no thread (Bot API: `message_thread_id` is absent there)."""

_KINDS = {
    ChatType.PRIVATE: ChatKind.DIRECT,
    ChatType.GROUP: ChatKind.GROUP,
    ChatType.SUPERGROUP: ChatKind.GROUP,
}


@dataclass(frozen=True, slots=True)
class BotUser:
    """Who we are on Telegram."""

    account: str
    """Our name for this bot, from the configuration."""
    id: int
    username: str
    """Without the @."""


class Ignored(StrEnum):
    """Why an update is no message for the gateway; the value is the reason code that is counted."""

    EDITED = "telegram_edited"
    """An edit of an earlier message: not followed yet."""
    NO_TEXT = "telegram_no_text"
    """A sticker, a picture without a caption, somebody joining: nothing that we can read."""
    NO_CHAT = "telegram_no_chat"
    """A channel's post, or a kind of update that we did not ask for."""
    OWN = "telegram_own"
    """Our own message, come back."""
    UNREADABLE = "telegram_unreadable"
    """Telegram sent a shape that this version of the SDK does not know."""


def parse_update(update: Update, me: BotUser) -> InboundMessage | Ignored:
    """Return the message that *update* carries, or why it is none."""
    message = update.message
    if message is None:
        return Ignored.EDITED if update.edited_message else Ignored.NO_CHAT
    kind = _KINDS.get(ChatType(message.chat.type)) if message.chat.type in set(ChatType) else None
    if kind is None:
        return Ignored.NO_CHAT
    if message.from_user is not None and message.from_user.id == me.id:
        return Ignored.OWN
    text = _text(message)
    if not text.strip():
        return Ignored.NO_TEXT
    borrowed = _author_if_borrowed(message)
    return InboundMessage(
        address=Address("telegram", me.account, str(message.chat.id), _topic(message)),
        id=str(message.message_id),
        sender=_sender(message),
        kind=kind,
        text=text if borrowed is None else "",
        is_for_us=kind is ChatKind.DIRECT or _answers_us(message, me) or (borrowed is None and _names_us(message, me)),
        sent_at=message.date,
        quote=_replied(message, me) if borrowed is None else Quote(borrowed, text),
    )


def _text(message: Message) -> str:
    return message.text or message.caption or ""


def _topic(message: Message) -> str | None:
    """A reply chain in a plain group has a thread id too, but is no topic."""
    if message.is_topic_message and message.message_thread_id is not None:
        return str(message.message_thread_id)
    return GENERAL_TOPIC if message.chat.is_forum and message.chat.type == ChatType.SUPERGROUP else None


def _sender(message: Message) -> Sender:
    """Whoever writes in the name of a chat is nobody: Telegram puts a stand-in user into `from` there."""
    if message.sender_chat is not None:
        return Sender(id="", name=message.sender_chat.title or "")
    if message.from_user is None:
        return Sender(id="", name="")
    return Sender(str(message.from_user.id), message.from_user.full_name, message.from_user.is_bot)


def _author_if_borrowed(message: Message) -> str | None:
    """Return whose words these are, if the sender only passed them on (a forward, an inline bot's result)."""
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


def _replied(message: Message, me: BotUser) -> Quote | None:
    """Return what the message replies to: the stretch that its sender chose, or else all of it."""
    chosen = message.quote.text if message.quote else ""
    if message.external_reply is not None:
        return Quote(_origin(message.external_reply.origin), chosen) if chosen else None
    target = _reply_target(message)
    if target is None:
        return None
    text = chosen or _text(target)
    return Quote(_sender(target).name, text, _is_ours(target, message, me)) if text else None


def _is_ours(target: Message, message: Message, me: BotUser) -> bool:
    """Say whether *target* holds our words, or the sender's own: not passed on, nor in the name of a chat."""
    if target.from_user is None or target.sender_chat is not None or _author_if_borrowed(target) is not None:
        return False
    sender = _sender(message).id
    return target.from_user.id == me.id or (bool(sender) and str(target.from_user.id) == sender)


def _reply_target(message: Message) -> Message | None:
    """In a topic, Telegram makes a message without a target a reply to the topic's beginning: no target for us."""
    target = message.reply_to_message
    return None if target is None or target.forum_topic_created is not None else target


def _answers_us(message: Message, me: BotUser) -> bool:
    target = _reply_target(message)
    return target is not None and target.from_user is not None and target.from_user.id == me.id


def _names_us(message: Message, me: BotUser) -> bool:
    """A mention is what Telegram marks as one, not what looks like one."""
    text = _text(message)
    marks = (message.entities if message.text else message.caption_entities) or []
    return any(_is_mention(mark, text, me) for mark in marks)


def _is_mention(mark: MessageEntity, text: str, me: BotUser) -> bool:
    name = f"@{me.username}".lower()
    match mark.type:
        case Mark.MENTION:
            return mark.extract_from(text).lower() == name
        case Mark.TEXT_MENTION:
            return mark.user is not None and mark.user.id == me.id
        case Mark.BOT_COMMAND:
            return mark.extract_from(text).lower().endswith(name)
    return False
