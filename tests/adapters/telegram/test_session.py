"""Calls of the Bot API go out as JSON, with the fields that the SDK's form has."""

import json
from typing import Any

import pytest
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.methods import (
    GetMe,
    GetUpdates,
    SendChatAction,
    SendDocument,
    SendMessage,
    SetMessageReaction,
    SetMyCommands,
    TelegramMethod,
)
from aiogram.types import (
    BotCommand,
    BotCommandScopeAllGroupChats,
    BufferedInputFile,
    LinkPreviewOptions,
    MessageEntity,
    ReactionTypeEmoji,
    ReplyParameters,
)
from aiohttp import BytesPayload, FormData

from adapters.telegram.session import JsonSession

TOKEN = "123456:loopback-bot-token"
METHODS: list[TelegramMethod[Any]] = [
    GetMe(),
    GetUpdates(offset=5, timeout=30, allowed_updates=["message"]),
    SendMessage(
        chat_id=-100,
        text="Blue, 蓝",
        entities=[MessageEntity(type="bold", offset=0, length=4)],
        link_preview_options=LinkPreviewOptions(is_disabled=True),
        reply_parameters=ReplyParameters(message_id=5, allow_sending_without_reply=True),
    ),
    SendChatAction(chat_id=-100, action="typing"),
    SetMessageReaction(chat_id=42, message_id=7, reaction=[ReactionTypeEmoji(emoji="👀")]),
    SetMessageReaction(chat_id=42, message_id=7, reaction=[]),
    SetMyCommands(commands=[BotCommand(command="new", description="Begin")], scope=BotCommandScopeAllGroupChats()),
]


async def formed(session: AiohttpSession, method: TelegramMethod[Any]) -> dict[str, object]:
    """Return the fields of the SDK's own form; what stands there as JSON is read."""
    form = session.build_form_data(Bot(TOKEN, session=session), method)
    return {str(options["name"]): _read(value) for options, _, value in form._fields}


def _read(value: str) -> object:
    return json.loads(value) if value[:1] in "[{" else value


def _as_text(value: object) -> object:
    return value if isinstance(value, str | list | dict) else json.dumps(value)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
async def test_a_call_has_the_fields_of_the_form(method: TelegramMethod[Any]) -> None:
    """Nothing is lost or added, marks that stand at their default least of all."""
    body: object = JsonSession().build_form_data(Bot(TOKEN, session=JsonSession()), method)
    assert isinstance(body, BytesPayload)
    assert body.content_type == "application/json"
    told = json.loads(body.decode())
    assert {name: _as_text(value) for name, value in told.items()} == await formed(AiohttpSession(), method)


async def test_a_call_with_a_file_stays_a_form() -> None:
    """The Bot API takes a file's content in no other way."""
    method = SendDocument(chat_id=42, document=BufferedInputFile(b"content", "notes.txt"))
    assert isinstance(JsonSession().build_form_data(Bot(TOKEN, session=JsonSession()), method), FormData)
