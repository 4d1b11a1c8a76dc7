"""Chain of models: the next one is asked when one is unavailable or refuses."""

from collections.abc import Sequence

import structlog

from gateway.agent.entries import ReplyEntry
from gateway.agent.models.draft import DraftRelay
from gateway.agent.models.port import Model, ModelRequest, OnText, reader_of
from gateway.errors import ModelRefusedError, ModelUnavailableError

log = structlog.get_logger()


class FallbackModel:
    """Answers with the first model that can; `ReplyEntry.model` names it."""

    def __init__(self, models: Sequence[Model]) -> None:
        if not models:
            raise ValueError("a chain needs at least one model")
        self._models = tuple(models)
        self.name = models[0].name
        self.reader = reader_of(models[0])
        self.window_tokens = min(model.window_tokens for model in models)

    async def reply(self, request: ModelRequest, on_text: OnText) -> ReplyEntry:
        """Answer *request*. Raises ModelOverflowError at once.

        When none can answer: ModelUnavailableError if one of them may be able to later, else ModelRefusedError.
        """
        draft = DraftRelay(on_text)
        failures: list[ModelUnavailableError | ModelRefusedError] = []
        for model in self._models:
            try:
                return await model.reply(request, draft)
            except (ModelUnavailableError, ModelRefusedError) as failure:
                log.warning("fell back to another model", model=model.name, why=str(failure))
                failures.append(failure)
                draft.attempt_failed()
        raise next((each for each in failures if isinstance(each, ModelUnavailableError)), failures[0])

    async def close(self) -> None:
        for model in self._models:
            await model.close()
