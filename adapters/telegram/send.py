"""Sending to Telegram, which has no idempotency key: an unclear outcome is reported as unsure, never guessed."""

from pathlib import PurePath

from aiogram.exceptions import ClientDecodeError, TelegramBadRequest, TelegramMigrateToChat
from aiogram.methods import SendDocument, SendMessage, SendPhoto
from aiogram.types import (
    BufferedInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
)

from adapters.channel import Address, Body, Button, Count, OutboundMessage, SendRefusedError, Sent, Upload
from adapters.telegram.calls import TelegramCalls
from adapters.telegram.faults import CALL_FAULTS, unread_result
from adapters.telegram.moved import CurrentChat, MovedChats, telegram_number
from adapters.telegram.parse import GENERAL_TOPIC

SEND_TIMEOUT_S = 30
"""Timeout of one send; afterwards it is unsure."""
UPLOAD_TIMEOUT_S = 180
"""The same for a file."""
PLAIN_FALLBACK = "telegram_plain_fallback"
"""Counted when Telegram refused a message's formatting and it was sent without."""
CAPTION_LIMIT = 1024
"""Longest caption of a file, in UTF-16 units (Bot API, `sendDocument`)."""
LARGEST_UPLOAD, LARGEST_PHOTO = 50_000_000, 10_000_000
"""In bytes (Bot API, `sendDocument`, `sendPhoto`)."""
_PHOTOS = frozenset({".jpg", ".jpeg", ".png"})
_BUTTONS_A_ROW = 2

Request = SendMessage | SendDocument | SendPhoto


class TelegramSender:
    """Sends messages of one bot."""

    def __init__(self, calls: TelegramCalls, moved: MovedChats, count: Count) -> None:
        self._bot = calls.bot
        self._faults = calls.faults
        self._moved = moved
        self._count = count

    async def send(self, message: OutboundMessage) -> Sent:
        """Send *message*, to the current id of its group if that moved. Raises ChannelError."""
        try:
            return await self._try_forms(message)
        except TelegramMigrateToChat as fault:
            await self._moved.learn(message.address.chat, str(fault.migrate_to_chat_id))
        try:
            return await self._try_forms(message)
        except TelegramMigrateToChat as fault:
            raise self._faults.of_send(fault) from None

    async def _try_forms(self, message: OutboundMessage) -> Sent:
        """Send the best form of *message* that Telegram accepts. Raises ChannelError and TelegramMigrateToChat.

        Only the wording shows whether a refusal is about the form, and wordings change: so the next form follows any
        refusal. A refused message was not sent, so none can arrive twice.
        """
        *better, plainest = send_requests(message, self._moved.place(message.address.chat))
        for request in better:
            try:
                return await self._try(request)
            except TelegramBadRequest:
                continue
        try:
            sent = await self._try(plainest)
        except TelegramBadRequest as fault:
            raise self._faults.of_send(fault) from None
        if message.body.entities:
            await self._count(PLAIN_FALLBACK)
        return sent

    async def _try(self, request: Request) -> Sent:
        """Raises TelegramBadRequest and TelegramMigrateToChat, so that the caller may retry, and ChannelError."""
        timeout_s = SEND_TIMEOUT_S if isinstance(request, SendMessage) else UPLOAD_TIMEOUT_S
        try:
            answer = await self._bot(request, request_timeout=timeout_s)
        except (TelegramBadRequest, TelegramMigrateToChat):
            raise
        except ClientDecodeError as fault:
            return self._receipt(fault)
        except CALL_FAULTS as fault:
            raise self._faults.of_send(fault) from None
        return Sent(str(answer.message_id))

    def _receipt(self, fault: ClientDecodeError) -> Sent:
        """Return the receipt if Telegram accepted the message, even where the SDK cannot parse the answer."""
        match unread_result(fault):
            case {"message_id": int(message_id)}:
                return Sent(str(message_id))
        raise self._faults.of_send(fault) from None


def send_requests(message: OutboundMessage, place: CurrentChat) -> list[Request]:
    """Return *message* in its possible forms, best first; pure.

    Raises SendRefusedError for an address that is not Telegram's and for a file that is too large.
    """
    upload = message.body.upload
    best = _text_request(message, place) if upload is None else _file_requests(message, upload, place)
    return [*best, _plain(best[-1])] if message.body.entities else best


def _text_request(message: OutboundMessage, place: CurrentChat) -> list[Request]:
    return [
        SendMessage(
            chat_id=place.chat,
            message_thread_id=topic_of(message.address),
            text=message.body.text,
            entities=entities_of(message.body),
            link_preview_options=LinkPreviewOptions(is_disabled=True),
            reply_parameters=_reply(message, place),
            reply_markup=_keyboard(message.buttons),
        )
    ]


def _file_requests(message: OutboundMessage, upload: Upload, place: CurrentChat) -> list[Request]:
    """Return the requests for a file: a picture is sent as a photo, and as a document if Telegram refuses its shape."""
    if len(upload.content) > LARGEST_UPLOAD:
        limit = LARGEST_UPLOAD // 1_000_000
        raise SendRefusedError(
            f"the file {upload.name!r} is larger than the {limit} MB that Telegram accepts from a bot"
        )
    file = BufferedInputFile(upload.content, upload.name)
    document = SendDocument(
        chat_id=place.chat,
        message_thread_id=topic_of(message.address),
        document=file,
        caption=message.body.text or None,
        caption_entities=entities_of(message.body),
        reply_parameters=_reply(message, place),
        reply_markup=_keyboard(message.buttons),
    )
    if PurePath(upload.name).suffix.lower() not in _PHOTOS or len(upload.content) > LARGEST_PHOTO:
        return [document]
    shared = {name: getattr(document, name) for name in document.model_fields_set - {"document"}}
    return [SendPhoto(photo=file, **shared), document]


def _plain(request: Request) -> Request:
    name = "entities" if isinstance(request, SendMessage) else "caption_entities"
    return request.model_copy(update={name: None})


def topic_of(address: Address) -> int | None:
    """Return the topic for a send, which must not name the General one (a chat action must)."""
    return None if address.thread in (None, GENERAL_TOPIC) else telegram_number(address.thread)


def entities_of(body: Body) -> list[MessageEntity] | None:
    """Return the formatting of *body* for Telegram."""
    found = [
        MessageEntity(
            type=entity.type.value, offset=entity.offset, length=entity.length, url=entity.url, language=entity.language
        )
        for entity in body.entities
    ]
    return found or None


def _reply(message: OutboundMessage, place: CurrentChat) -> ReplyParameters | None:
    """Reply so that a missing target leaves a plain message."""
    target = None if message.reply_to is None else place.message(message.reply_to)
    return None if target is None else ReplyParameters(message_id=target, allow_sending_without_reply=True)


def _keyboard(buttons: tuple[Button, ...]) -> InlineKeyboardMarkup | None:
    keys = [InlineKeyboardButton(text=button.label, callback_data=button.command) for button in buttons]
    rows = [keys[start : start + _BUTTONS_A_ROW] for start in range(0, len(keys), _BUTTONS_A_ROW)]
    return InlineKeyboardMarkup(inline_keyboard=rows) if rows else None
