"""Model wrapper that times calls and counts tokens."""

import time

from gateway.agent.entries import ReplyEntry
from gateway.agent.models.port import Model, ModelRequest, OnText, reader_of
from gateway.observability.metrics import Meter


class MeteredModel:
    """Implements `Model` with another one; the usage of a call counts for the model that replied, by its own name."""

    def __init__(self, model: Model, agent: str, meter: Meter) -> None:
        self._model = model
        self._agent = agent
        self._meter = meter
        self.name = model.name
        self.window_tokens = model.window_tokens
        self.reader = reader_of(model)

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        began, answer = time.perf_counter(), None
        try:
            answer = await self._model.reply(request, on_text)
            return answer
        finally:
            name, used = (answer.model, answer.usage) if answer is not None else (self.name, None)
            self._meter.called(self._agent, name, time.perf_counter() - began, used)

    async def close(self) -> None:
        await self._model.close()
