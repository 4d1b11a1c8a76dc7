"""Probes of everything outside that a gateway uses, for its owner's question whether it works."""

import asyncio
import time
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from adapters.abilities import Examines
from adapters.channel import Adapter, ChannelError
from gateway.agent.entries import OFFLINE, UserEntry
from gateway.agent.models.choose import LazyModel, SharedByModels
from gateway.agent.models.failures import told_failure
from gateway.agent.models.port import ModelRequest, unshown
from gateway.agent.models.retry import Retry
from gateway.app.agents import hosted_settings
from gateway.config import Config
from gateway.control.status_wire import ProbeAnswer, ProbeOrder, ProbeRow
from gateway.errors import ModelError


@dataclass(frozen=True, slots=True)
class Probes:
    """Asks the models and platforms of one gateway."""

    config: Config
    environ: Mapping[str, str]
    adapters: Mapping[tuple[str, str], Adapter]
    """The loaded ones, by channel and account."""

    async def probe(self, _: ProbeOrder) -> ProbeAnswer:
        """Ask all of them at once."""
        agents = self.config.agents.values()
        used = {name: None for agent in agents for name in (agent.model, *agent.fallbacks) if name != OFFLINE}
        models, channels = await asyncio.gather(
            _each(self._model(name) for name in used), _each(map(_channel, self.adapters.values()))
        )
        return ProbeAnswer(models, tuple(row for row in channels if row.detail or row.faults))

    async def _model(self, name: str) -> ProbeRow:
        try:
            proof = await probe_model(name, self.config, self.environ)
        except ModelError as exc:
            return ProbeRow(f"models.{name}", faults=(told_failure(exc) or str(exc),))
        return ProbeRow(f"models.{name}", f"{self.config.models[name].model} answered in {proof.seconds:.1f} s")


async def _channel(adapter: Adapter) -> ProbeRow:
    name = f"{adapter.channel}.{adapter.account}"
    if not isinstance(adapter, Examines):
        return ProbeRow(name)
    try:
        faults = tuple(await adapter.examine())
    except ChannelError as exc:
        faults = (str(exc),)
    return ProbeRow(name, "" if faults else "is set up correctly", faults)


async def _each(rows: Iterable[Awaitable[ProbeRow]]) -> tuple[ProbeRow, ...]:
    return tuple(await asyncio.gather(*rows))


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
        request = ModelRequest("", "", [UserEntry(_ASKED, datetime.now(UTC), "", "")], [])
        reply = await model.reply(request, unshown)
    finally:
        await model.close()
    return Proof(" ".join(reply.text.split())[:80], time.monotonic() - began)
