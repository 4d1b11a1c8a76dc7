"""Calls to the Bot API for one bot, as JSON, with errors translated into the contract's."""

import json
from typing import Any, TypeVar

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.methods import TelegramMethod
from aiogram.types import InputFile
from aiohttp import BytesPayload, FormData

from adapters.telegram.faults import CALL_FAULTS, TelegramFaults

T = TypeVar("T")

CALL_TIMEOUT_S = 15
"""Timeout of a call that Telegram answers immediately; for a poll, in addition to the poll's own time."""


class TelegramCalls:
    """Calls that may be repeated freely; not for sends."""

    def __init__(self, bot: Bot, faults: TelegramFaults) -> None:
        self.bot = bot
        self.faults = faults

    async def __call__(self, method: TelegramMethod[T], timeout_s: int = CALL_TIMEOUT_S) -> T:
        """Return Telegram's answer. Raises ChannelConfigError and ChannelUnavailableError."""
        try:
            return await self.bot(method, request_timeout=timeout_s)
        except CALL_FAULTS as fault:
            raise self.faults.of_call(fault) from None


class JsonSession(AiohttpSession):
    """The SDK's session with JSON bodies; a call that uploads a file stays a form, as the Bot API requires."""

    def build_form_data(self, bot: Bot, method: TelegramMethod[Any]) -> FormData:
        """Return the body of *method*: the SDK's fields without the empty ones."""
        files: dict[str, InputFile] = {}
        fields = {
            name: value
            for name, raw in method.model_dump(warnings=False).items()
            if (value := self.prepare_value(raw, bot=bot, files=files, _dumps_json=False)) not in (None, "")
        }
        if files:
            return super().build_form_data(bot, method)
        told = json.dumps(fields).encode()
        return BytesPayload(told, content_type="application/json")  # type: ignore[return-value]  # aiohttp takes both
