"""Probes of everything outside that a gateway uses, for its owner's question whether it works."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping

from msgspec import Struct

from adapters.abilities import Examines
from adapters.channel import Adapter, ChannelError
from gateway.agent.entries import OFFLINE
from gateway.agent.models.failures import told_failure
from gateway.app.model_probe import probe_model
from gateway.config import Config
from gateway.control.probe_wire import ProbeAnswer, ProbeOrder, ProbeRow
from gateway.errors import ModelError


class Probes(Struct, frozen=True):
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
