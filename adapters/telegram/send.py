"""This file sends to Telegram, which has no idempotency key: an unclear outcome is told, never guessed."""

from aiogram import Bot
from aiogram.enums import ChatAction
from aiogram.exceptions import ClientDecodeError, TelegramBadRequest
from aiogram.methods import SendChatAction, SendMessage
from aiogram.types import LinkPreviewOptions, MessageEntity, ReplyParameters

from adapters.channel import Address, Count, Entity, OutboundMessage, SendRefusedError, Sent
from adapters.telegram.faults import CALL_FAULTS, Faults, unread_result
from adapters.telegram.parse import GENERAL_TOPIC

SEND_TIMEOUT_S = 30
"""Patience with one send; afterwards it is unsure."""
PLAIN_FALLBACK = "telegram_plain_fallback"
"""Counted when Telegram refused a message with its formatting and it went out without."""


class Sending:
    """Sends for one bot."""

    def __init__(self, bot: Bot, faults: Faults, count: Count) -> None:
        self._bot = bot
        self._faults = faults
        self._count = count

    async def send(self, message: OutboundMessage) -> Sent:
        """Send *message*; when Telegram refuses it with formatting, once more without. Raises ChannelError.

        Which refusals are about formatting only their wording tells, and that changes: so any refusal of a
        formatted message is tried again plain. A refused message was not sent, so nothing can come twice.
        """
        request = send_request(message)
        try:
            return await self._try(request)
        except TelegramBadRequest as fault:
            if not request.entities:
                raise self._faults.of_send(fault) from None
        try:
            sent = await self._try(request.model_copy(update={"entities": None}))
        except TelegramBadRequest as fault:
            raise self._faults.of_send(fault) from None
        await self._count(PLAIN_FALLBACK)
        return sent

    async def _try(self, request: SendMessage) -> Sent:
        """Raises TelegramBadRequest, so that the caller may try another form, and ChannelError."""
        try:
            answer = await self._bot(request, request_timeout=SEND_TIMEOUT_S)
        except TelegramBadRequest:
            raise
        except ClientDecodeError as fault:
            return self._receipt(fault)
        except CALL_FAULTS as fault:
            raise self._faults.of_send(fault) from None
        return Sent(str(answer.message_id))

    def _receipt(self, fault: ClientDecodeError) -> Sent:
        """Telegram took the message if it says so, even where the SDK cannot read how it describes it."""
        match unread_result(fault):
            case {"message_id": int(message_id)}:
                return Sent(str(message_id))
        raise self._faults.of_send(fault) from None

    async def show_typing(self, address: Address) -> None:
        """Show for about five seconds that we write. Raises ChannelError."""
        request = SendChatAction(
            chat_id=_number(address.chat),
            action=ChatAction.TYPING,
            message_thread_id=None if address.thread is None else _number(address.thread),
        )
        try:
            await self._bot(request, request_timeout=SEND_TIMEOUT_S)
        except CALL_FAULTS as fault:
            raise self._faults.of_call(fault) from None


def send_request(message: OutboundMessage) -> SendMessage:
    """Return *message* as a request; pure. Raises SendRefusedError for an address that cannot be Telegram's."""
    to = message.address
    return SendMessage(
        chat_id=_number(to.chat),
        # The General topic must not be named in a send, though it must in a chat action.
        message_thread_id=None if to.thread in (None, GENERAL_TOPIC) else _number(to.thread),
        text=message.body.text,
        entities=[_entity(entity) for entity in message.body.entities] or None,
        link_preview_options=LinkPreviewOptions(is_disabled=True),
        reply_parameters=_reply(message.reply_to),
    )


def _reply(message_id: str | None) -> ReplyParameters | None:
    """A reply whose target is gone goes out as a plain message."""
    if message_id is None:
        return None
    return ReplyParameters(message_id=_number(message_id), allow_sending_without_reply=True)


def _entity(entity: Entity) -> MessageEntity:
    return MessageEntity(
        type=entity.type.value, offset=entity.offset, length=entity.length, url=entity.url, language=entity.language
    )


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        message = f"Telegram knows chats, topics and messages by number, not by {text!r}"
        raise SendRefusedError(message) from None
