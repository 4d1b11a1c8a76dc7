"""One small call of a model, as proof that its settings work."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gateway.agent.entries import UserEntry
from gateway.agent.models.choose import LazyModel, SharedByModels
from gateway.agent.models.port import ModelRequest, unshown
from gateway.agent.models.retry import Retry
from gateway.app.agents import hosted_settings
from gateway.config import Config

PATIENCE_S = 30.0
"""Seconds that the call may take; our choice."""
_ASKED = "Reply with the single word: ready"


@dataclass(frozen=True, slots=True)
class Proof:
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
