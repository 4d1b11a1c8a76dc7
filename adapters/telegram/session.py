"""HTTP session that sends the SDK's calls as JSON: the Bot API accepts it, and it is cheaper to write than a form."""

import json
from typing import Any

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.methods import TelegramMethod
from aiogram.types import InputFile
from aiohttp import BytesPayload, FormData


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
