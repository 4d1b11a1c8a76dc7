"""This file is a chain of models: the next one is asked when one is unavailable or refuses."""

from collections.abc import Sequence

from gateway.agent.entries import ReplyEntry
from gateway.agent.models.draft import Draft
from gateway.agent.models.port import Model, ModelRequest, OnText
from gateway.errors import ModelRefusedError, ModelUnavailableError


class FallbackModel:
    """Answers with the first model that can; `ReplyEntry.model` says which one did."""

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise ValueError("a chain needs at least one model")
        self._models = tuple(models)
        self.name = models[0].name
        self.window_tokens = min(model.window_tokens for model in models)

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Answer *request*. Raises the first model's error when none can, and ModelOverflowError at once."""
        draft = Draft(on_text)
        failures: list[ModelUnavailableError | ModelRefusedError] = []
        for model in self._models:
            try:
                return await model.reply(request, draft)
            except (ModelUnavailableError, ModelRefusedError) as failure:
                failures.append(failure)
                draft.attempt_failed()
        raise failures[0]

    async def close(self) -> None:
        for model in self._models:
            await model.close()
