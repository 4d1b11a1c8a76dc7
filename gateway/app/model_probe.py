"""One small call of a model, as proof that its settings work, and the names that its server offers."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from msgspec import Struct

from gateway.agent.entries import UserEntry
from gateway.agent.models.choose import LazyModel, SharedByModels
from gateway.agent.models.port import ModelRequest, unshown
from gateway.agent.models.retry import Retry
from gateway.app.agents import hosted_settings
from gateway.config import Config

PATIENCE_S = 30.0
"""Seconds that the call may take; our choice."""
LIST_WITHIN_S = 10.0
"""Seconds that the list of models may take; our choice."""
_ASKED = "Reply with the single word: ready"


class Proof(Struct, frozen=True):
    """A model's answer."""

    text: str
    seconds: float


async def probe_model(name: str, config: Config, environ: Mapping[str, str]) -> Proof:
    """Ask the model *name* of *config* one word, once. Raises ModelError, whose text has the cause and the remedy."""
    settings = hosted_settings(name, config, environ)
    patient = replace(settings, request_timeout_s=min(PATIENCE_S, settings.request_timeout_s))
    model = LazyModel(patient, SharedByModels(), Retry(tries=1))
    began = time.monotonic()
    try:
        request = ModelRequest("", [UserEntry(_ASKED, datetime.now(UTC), "", "")], [])
        reply = await model.reply(request, unshown)
    finally:
        await model.close()
    return Proof(" ".join(reply.text.split())[:80], time.monotonic() - began)


async def offered_models(name: str, config: Config, environ: Mapping[str, str]) -> list[str]:
    """Return the names of the models at the address of model *name*, for OpenAI's protocol; none if it does not tell.

    Raises ModelError if nothing answers there, or the key is wrong.
    """
    settings = hosted_settings(name, config, environ)
    if settings.provider != "openai":
        return []
    from gateway.agent.models.openai import OpenAIProvider

    try:
        async with asyncio.timeout(LIST_WITHIN_S):
            return await OpenAIProvider(settings).models()
    except TimeoutError:
        return []
