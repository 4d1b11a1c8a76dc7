"""Bot API and model for a gateway that runs for hours, which store only the data for the judgement."""

import asyncio

from aiohttp import web

from tests.fakes.botapi import BotApi
from tests.fakes.openai_stub import OpenAIStub
from tests.fakes.provider_stub import Script
from tests.fakes.telegram import Fault, Json


class Recorder(BotApi):
    """A Bot API that stores the messages shown to people, and of the bot's requests only the number of polls."""

    polls = 0

    def note(self, method: str, params: Json) -> Fault | None:
        self.polls += method == "getUpdates"
        fault = super().note(method, params)
        self.requests.clear()
        self.confirmed.clear()
        return fault

    async def wait_for_polls(self, number: int, timeout_s: float = 10) -> None:
        await self.until(lambda: self.polls >= number, timeout_s)


class SteadyModel(OpenAIStub):
    """A model that takes *seconds* before its answer streams, and stores none of its requests."""

    def __init__(self, script: Script, seconds: float) -> None:
        super().__init__(script)
        self._seconds = seconds
        self.calls = 0

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.calls += 1
        await asyncio.sleep(self._seconds)
        try:
            response = await super()._answer(request)
        except ConnectionError:  # the gateway was killed meanwhile
            return web.Response()
        self.bodies.clear()
        self.headers.clear()
        self.callers.clear()
        return response
